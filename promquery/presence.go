package promquery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

const (
	cellLength = int64(10 * time.Minute / time.Millisecond)
	leastHole  = int64(time.Hour / time.Millisecond)
)

// frame divides a window into cells, in which metrics have samples or not. The nil frame has none.
type frame struct {
	start, end int64
	hole       int64 // what is shorter between two samples is none
}

// newFrame is the frame of a window whose samples are expected so far apart.
func newFrame(s timeline.Sampling, scrape time.Duration) *frame {
	return &frame{start: s.Start, end: s.End, hole: max(leastHole, 5*s.Step, 5*scrape.Milliseconds())}
}

func (f *frame) len() int { return int((f.end - f.start + cellLength - 1) / cellLength) }

// cells is a set of cells of a frame.
type cells []bool

// mark adds the cells from one time to another, both inclusive.
func (f *frame) mark(c *cells, from, to int64) {
	if from, to = max(from, f.start), min(to, f.end-1); from > to {
		return
	}
	if *c == nil {
		*c = make(cells, f.len())
	}
	marked := (*c)[(from-f.start)/cellLength : (to-f.start)/cellLength+1]
	if marked[0] && marked[len(marked)-1] && !slices.Contains(marked, false) {
		return
	}
	for i := range marked {
		marked[i] = true
	}
}

// join adds o's cells.
func (c *cells) join(o cells) {
	if *c == nil {
		*c = slices.Clone(o)
		return
	}
	for i, in := range o {
		(*c)[i] = (*c)[i] || in
	}
}

// at reports whether a cell is in the set.
func (c cells) at(i int) bool { return i < len(c) && c[i] }

// sight notes when a series had samples.
func (f *frame) sight(c *clusterTally, p *timeline.Points) {
	var buf [4]timeline.Interval
	from := p.First()
	for _, hole := range p.Holes(buf[:0], f.hole) {
		f.mark(&c.seen, from, hole.From)
		f.mark(&c.resumed, hole.From, hole.To)
		from = hole.To
	}
	f.mark(&c.seen, from, p.Last())
}

// seen is when any of the tallies that take has samples of a cluster, and within which holes series of theirs resumed.
func (f *findings) seen(cluster Symbol, take func(in *Input, rank int) bool) (seen, resumed cells) {
	for i, tallies := range f.inputs {
		for rank := range tallies {
			if !take(&Inputs[i], rank) {
				continue
			}
			for k := range tallies[rank].clusters {
				if c := &tallies[rank].clusters[k]; c.cluster == cluster {
					seen.join(c.seen)
					resumed.join(c.resumed)
				}
			}
		}
	}
	return seen, resumed
}

// pods is when pods of a cluster are known to have run: as their best signal says, else as any says.
func (f *findings) pods(cluster Symbol) cells {
	for _, take := range []func(in *Input, rank int) bool{
		func(in *Input, rank int) bool {
			return in.Signal == allocation.ContainerRunning && !in.Init && rank == 0
		},
		func(in *Input, _ int) bool { return in.Signal == allocation.ContainerRunning && !in.Init },
		func(in *Input, _ int) bool { return in.Signal == allocation.PodInfo },
	} {
		if seen, _ := f.seen(cluster, take); seen != nil {
			return seen
		}
	}
	return nil
}

// ofInput is when an input of a cluster had samples. One whose metric is there for another input is there as well: that no
// container has a limit of CPU is no lack of limits.
func (f *findings) ofInput(in *Input, cluster Symbol) (seen, resumed cells) {
	return f.seen(cluster, func(other *Input, rank int) bool {
		return other.Name == in.Name || rank == 0 && other.Alternatives[0].Metric == in.Alternatives[0].Metric
	})
}

// lacks says, cluster by cluster, which inputs that were asked for had no samples while pods ran, in all the window or for
// hours of it, and what that costs. Occasional inputs may rightly have none: they lack where the same series had samples
// before and after, or where others tell that they should be there.
func (f *findings) lacks() []string {
	if f.frame == nil {
		return nil
	}
	var out []string
	for _, cluster := range f.clusters() {
		pods := f.pods(cluster)
		if pods == nil {
			continue
		}
		never := map[allocation.Topic][]string{}
		var topics []allocation.Topic
		holes := map[string][]string{}
		var order []string
		for i := range Inputs {
			if in := &Inputs[i]; f.asked(i) {
				if text := f.lacksAll(in, cluster); text != "" {
					if never[in.About] == nil {
						topics = append(topics, in.About)
					}
					never[in.About] = append(never[in.About], text)
				}
				if when := f.lacksFor(in, cluster, pods); when != "" {
					if holes[when] == nil {
						order = append(order, when)
					}
					holes[when] = append(holes[when], in.lack(in.Missing))
				}
			}
		}
		for _, about := range topics {
			text := fmt.Sprintf("cluster %s: no sample in the window of %s: \"promcost check\" says what mends it", cluster.Value(), strings.Join(never[about], ", "))
			if about != "" {
				text = about.Warning(text)
			}
			out = append(out, text)
		}
		for _, when := range order {
			out = append(out, fmt.Sprintf("cluster %s: no sample %s, while pods ran, of %s: was what exports it down?", cluster.Value(), when, strings.Join(holes[when], ", ")))
		}
	}
	return out
}

// lack names what is lacking and what that costs.
func (in *Input) lack(cost string) string {
	return fmt.Sprintf("%s (%s: %s)", in.Alternatives[0].Metric, in.Name, cost)
}

// asked reports whether an input was asked for.
func (f *findings) asked(i int) bool {
	return slices.ContainsFunc(f.inputs[i], func(t tally) bool { return t.asked })
}

// clusters are all that anything was found of, by name.
func (f *findings) clusters() []Symbol {
	var out []Symbol
	for _, tallies := range f.inputs {
		for rank := range tallies {
			for _, c := range tallies[rank].clusters {
				if !slices.Contains(out, c.cluster) {
					out = append(out, c.cluster)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Symbol) int { return strings.Compare(a.Value(), b.Value()) })
	return out
}

// lacksAll says what it costs that an input had no sample in all of the window. Prices are not meant: a sheet may be what
// is wanted, and what it does not price is told where it is priced.
func (f *findings) lacksAll(in *Input, cluster Symbol) string {
	seen, _ := f.ofInput(in, cluster)
	if seen != nil {
		best, _ := f.seen(cluster, func(other *Input, rank int) bool { return other.Name == in.Name && rank == 0 })
		if best == nil && in.Lazy > 0 {
			return in.lack("what stands in for it is less exact")
		}
		return ""
	}
	if in.Need == Occasional && !f.told(in, cluster) || in.Signal == allocation.NodePrice {
		return ""
	}
	return in.lack(in.Missing)
}

// told reports whether another input of the cluster tells that an occasional one should be there.
func (f *findings) told(in *Input, cluster Symbol) bool {
	seen, _ := f.seen(cluster, func(other *Input, _ int) bool { return slices.Contains(in.With, other.Name) })
	return seen != nil
}

// lacksFor says for which hours, while pods ran, an input had no sample. One that never had any lacks for none.
func (f *findings) lacksFor(in *Input, cluster Symbol, pods cells) string {
	seen, resumed := f.ofInput(in, cluster)
	if seen == nil {
		return ""
	}
	var when []string
	for i := 0; i < len(pods); i++ {
		from := i
		for i < len(pods) && pods.at(i) && !seen.at(i) && (in.Need != Occasional || resumed.at(i)) {
			i++
		}
		if start, end := f.frame.start+int64(from)*cellLength, min(f.frame.start+int64(i)*cellLength, f.frame.end); end-start >= f.frame.hole {
			when = append(when, fmt.Sprintf("from %s to %s", instant(start), instant(end)))
		}
	}
	return strings.Join(when, " and ")
}

// instant writes a time for people, in UTC.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
