package promquery

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// A time without samples that is shorter than leastHole is no hole: each instant of it, or all but the last, still sees a sample. An
// input that pods of any cluster have may be without samples for steadyHole, and one that only some clusters have for shortHole,
// unless a series that has samples before and after the hole shows that they are missing.
const (
	leastHole  = int64(6 * time.Minute / time.Millisecond)
	steadyHole = int64(15 * time.Minute / time.Millisecond)
	shortHole  = int64(time.Hour / time.Millisecond)
	// missedScrapes is how many scrapes a hole has to last.
	missedScrapes = 5
)

// frame is the window in which holes are looked for. The nil frame has none.
type frame struct {
	start, end int64
	hole       int64 // the shortest hole
}

// newFrame is the frame of a window with that scrape interval. On a grid, the shortest hole that can be seen is one point without a
// sample.
func newFrame(w allocation.Window, step int64, scrape time.Duration) *frame {
	return &frame{start: w.Start.UnixMilli(), end: w.End.UnixMilli(), hole: max(leastHole, 2*step, missedScrapes*scrape.Milliseconds())}
}

// add adds an interval to s, both ends inclusive. The intervals of s are disjoint and ascending. Those with no hole between them
// become one, so there are few, in whatever order they come.
func (f *frame) add(s timeline.Intervals, from, to int64) timeline.Intervals {
	if from, to = max(from, f.start), min(to, f.end); from > to {
		return s
	}
	i := sort.Search(len(s), func(i int) bool { return s[i].To+f.hole > from })
	k := i
	for ; k < len(s) && s[k].From < to+f.hole; k++ {
		from, to = min(from, s[k].From), max(to, s[k].To)
	}
	if k == i+1 {
		s[i] = timeline.Interval{From: from, To: to}
		return s
	}
	return slices.Replace(s, i, k, timeline.Interval{From: from, To: to})
}

// join adds the intervals of o to s.
func (f *frame) join(s, o timeline.Intervals) timeline.Intervals {
	for _, x := range o {
		s = f.add(s, x.From, x.To)
	}
	return s
}

// without returns the holes of o within s.
func (f *frame) without(s, o timeline.Intervals) timeline.Intervals {
	var out timeline.Intervals
	for _, x := range s {
		for _, hole := range timeline.Complement(o, x.From, x.To) {
			if hole.To-hole.From >= f.hole {
				out = append(out, hole)
			}
		}
	}
	return out
}

// record records when a series of an input had samples, and what it proves. A series that is scraped less often needs longer holes.
func (f *frame) record(c *clusterTally, input int, key []Symbol, p *timeline.Points) {
	var buf [4]timeline.Interval
	holes := p.Holes(buf[:0], f.hole)
	shortest := int64(math.MaxInt64)
	for _, x := range holes {
		shortest = min(shortest, x.To-x.From)
	}
	if len(holes) > 0 && !p.IntervalWithin(0, shortest/missedScrapes) {
		least := missedScrapes * p.Interval()
		holes = slices.DeleteFunc(holes, func(x timeline.Interval) bool { return x.To-x.From < least })
	}
	c.sampled = f.addAround(c.sampled, p, holes)
	for _, hole := range holes {
		c.resumed = f.add(c.resumed, hole.From, hole.To)
	}
	c.prove(f, input, key, p, holes)
}

// addAround adds the time of a series without its holes to s.
func (f *frame) addAround(s timeline.Intervals, p *timeline.Points, holes timeline.Intervals) timeline.Intervals {
	from := p.First()
	for _, hole := range holes {
		s = f.add(s, from, hole.From)
		from = hole.To
	}
	return f.add(s, from, p.Last())
}

// samplesOf is when a cluster has samples of any of the inputs that take chooses, and the holes after which a series went on.
func (f *findings) samplesOf(cluster Symbol, take func(in *Input, rank int) bool) (sampled, resumed timeline.Intervals) {
	for i, tallies := range f.inputs {
		for rank := range tallies {
			if !take(&Inputs[i], rank) {
				continue
			}
			for k := range tallies[rank].clusters {
				if c := &tallies[rank].clusters[k]; c.cluster == cluster {
					sampled = f.frame.join(sampled, c.sampled)
					resumed = f.frame.join(resumed, c.resumed)
				}
			}
		}
	}
	return sampled, resumed
}

// pods is when pods of a cluster are known to have run, by the best signal that there is.
func (f *findings) pods(cluster Symbol) timeline.Intervals {
	for _, take := range []func(in *Input, rank int) bool{
		func(in *Input, rank int) bool {
			return in.Signal == signals.ContainerRunning && !in.Init && in.isBest(rank)
		},
		func(in *Input, _ int) bool { return in.Signal == signals.ContainerRunning && !in.Init },
		func(in *Input, _ int) bool { return in.Signal == signals.PodInfo },
	} {
		if sampled, _ := f.samplesOf(cluster, take); sampled != nil {
			return sampled
		}
	}
	return nil
}

// samplesOfInput is when an input of a cluster had samples. Samples of its metric for another input count too: if no container has a CPU
// limit, the metric of limits is not missing.
func (f *findings) samplesOfInput(in *Input, cluster Symbol) (sampled, resumed timeline.Intervals) {
	return f.samplesOf(cluster, func(other *Input, rank int) bool {
		return other.Name == in.Name || rank == 0 && other.Alternatives[0].Metric == in.Alternatives[0].Metric
	})
}

// missing says for each cluster which inputs had no samples while pods ran, in the whole window or for hours of it, and what is
// lost. An occasional input may rightly have none: it is missing only if the same series has samples before and after, or if
// another input shows that it should be there. If a part of the source could not be read, that is the reason given.
func (f *findings) missing(lost []Loss) []string {
	if f.frame == nil {
		return nil
	}
	var out []string
	for _, cluster := range f.clusters() {
		pods := f.pods(cluster)
		if pods == nil {
			continue
		}
		var never, holes gaps
		var lacking []*Input
		for i := range Inputs {
			if in := &Inputs[i]; f.wasRequested(i) && (!f.someLabels || !in.Signal.IsMetadata()) {
				if text := f.lacksAll(i, cluster); text != "" && f.otel.tells(cluster) {
					lacking = append(lacking, in)
				} else if text != "" {
					window := []timeline.Interval{{From: f.frame.start, To: f.frame.end}}
					why := f.blame(in, lost, window, f.remedy(in, cluster))
					if proven := f.lackingProven(in, cluster, text, window[0], why); proven != "" {
						out = append(out, in.About.Warning(proven))
					} else {
						never.add(gap{"in the window", why, in.About}, text)
					}
				}
				if when := f.lacksFor(in, cluster, pods); len(when) > 0 {
					holes.add(gap{worded(when) + ", while pods ran,", f.blame(in, lost, when, "was what exports it down?"), ""}, f.withoutIt(in, cluster))
				} else if when, by := f.lacksWhileProven(in, cluster); len(when) > 0 {
					holes.add(gap{worded(when) + ", while " + by + " had some,", f.blame(in, lost, when, "was what exports it down, or is it no longer kept?"), in.About}, f.withoutIt(in, cluster))
				}
			}
		}
		if f.otel.tells(cluster) {
			out = append(out, otelWarning(cluster, lacking))
		}
		for _, x := range append(never, holes...) {
			out = append(out, x.about.Warning(fmt.Sprintf("cluster %s: no sample %s of %s: %s", cluster.Value(), x.when, strings.Join(x.texts, ", "), x.why)))
		}
	}
	return out
}

// gap is when inputs had no samples, and why.
type gap struct {
	when, why string
	about     notices.Topic
}

// gaps are inputs by their gap, in the order in which the gaps were found.
type gaps []struct {
	gap
	texts []string
}

func (s *gaps) add(x gap, text string) {
	for i := range *s {
		if (*s)[i].gap == x {
			(*s)[i].texts = append((*s)[i].texts, text)
			return
		}
	}
	*s = append(*s, struct {
		gap
		texts []string
	}{x, []string{text}})
}

// blame says why an input had no samples at some times: a part of the source that could not be read, if that explains all of them,
// or else the given text.
func (f *findings) blame(in *Input, lost []Loss, when []timeline.Interval, otherwise string) string {
	var of []string
	for _, hole := range when {
		i := slices.IndexFunc(lost, func(l Loss) bool {
			return l.has(in.Alternatives[0].Metric, hole.From, hole.To, f.frame.hole)
		})
		if i < 0 {
			return otherwise
		}
		if !slices.Contains(of, lost[i].Of) {
			of = append(of, lost[i].Of)
		}
	}
	return strings.Join(of, " and ") + " cannot be read"
}

// withoutIt names an input that a cluster had and is missing, and what is lost.
func (f *findings) withoutIt(in *Input, cluster Symbol) string {
	metric := in.Alternatives[0].Metric
	if own := slices.IndexFunc(in.Alternatives, func(a Alternative) bool { return a.OTel != nil }); own >= 0 && f.otel.tells(cluster) {
		metric = in.Alternatives[own].Metric
	}
	return fmt.Sprintf("%s (%s: %s)", metric, in.Name, in.Missing)
}

// withoutIt names an input that is missing, and what is lost.
func (in *Input) withoutIt(cost string) string {
	return fmt.Sprintf("%s (%s: %s)", in.Alternatives[0].Metric, in.Name, cost)
}

// wasRequested reports whether an input was asked for.
func (f *findings) wasRequested(i int) bool {
	return slices.ContainsFunc(f.inputs[i], func(t tally) bool { return t.requested })
}

// clusters are the clusters with any data, by name. Exporters of machines alone are none.
func (f *findings) clusters() []Symbol {
	var out []Symbol
	for i, tallies := range f.inputs {
		for rank := range tallies {
			if Inputs[i].signal(rank).OfAnyMachine() {
				continue
			}
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

// ofSome are the signals that are asked for only of some pods or containers, and that these may rightly lack.
var ofSome = []signals.Signal{signals.RunningByInfo, signals.InitStarted, signals.PodPhaseRunning, signals.PodFinal, signals.ContainerRestarts}

// ofMoments are the signals that are asked for only at some times, or of some pods only.
var ofMoments = append([]signals.Signal{signals.PodOwner, signals.NodeTime}, ofSome...)

// soldByOthers are the signals of prices that other warnings tell of where things have none: a price sheet may take their place.
var soldByOthers = []signals.Signal{signals.NodePrice, signals.VolumePrice, signals.BalancerPrice, signals.ManagementPrice}

// lacksAll says what is lost if an input had no sample in the whole window, "" if it had some or may have none.
func (f *findings) lacksAll(i int, cluster Symbol) string {
	in := &Inputs[i]
	sampled, _ := f.samplesOfInput(in, cluster)
	if sampled != nil && in.Need == Occasional && f.proof(in, cluster) != nil { // samples for other inputs do not stand in for what is proven
		sampled, _ = f.samplesOf(cluster, func(other *Input, _ int) bool { return other.Name == in.Name })
	}
	if sampled == nil && slices.ContainsFunc(f.inputs[i], func(t tally) bool { return t.skipped }) {
		return ""
	}
	if sampled != nil {
		best, _ := f.samplesOf(cluster, func(other *Input, i int) bool { return other.Name == in.Name && in.isBest(i) })
		fallback := slices.ContainsFunc(in.Alternatives, func(a Alternative) bool { return a.Signal != signals.Nothing && a.OTel == nil })
		if best == nil && fallback {
			return in.withoutIt("what stands in for it is less exact")
		}
		return ""
	}
	some := slices.Contains(ofSome, in.Signal)
	rare := in.Need == Occasional && (some || f.proof(in, cluster) == nil)
	if rare || slices.Contains(soldByOthers, in.Signal) {
		return ""
	}
	return in.withoutIt(in.Missing)
}

// lackingProven is the warning that an input, which text names, had no sample in a window, with the objects that this concerns; "" if none are known.
func (f *findings) lackingProven(in *Input, cluster Symbol, text string, window timeline.Interval, why string) string {
	proof := f.proof(in, cluster)
	if proof == nil {
		return ""
	}
	names, many := proof.objects()
	if len(names) == 0 {
		return ""
	}
	return notices.LackingInput.Text(len(names), names, cluster.Name(), text, notices.Clock(window), proof.metric(), many, why)
}

// mostHoles is how many holes of an input a warning names.
const mostHoles = 10

// lacksFor are the times at which pods ran and an input had no sample; none if it never had any.
func (f *findings) lacksFor(in *Input, cluster Symbol, pods timeline.Intervals) (when []timeline.Interval) {
	sampled, resumed := f.samplesOfInput(in, cluster)
	if sampled == nil {
		return nil
	}
	for _, hole := range f.frame.without(pods, sampled) {
		long := hole.To-hole.From >= in.longest()
		if long || slices.ContainsFunc(resumed, func(x timeline.Interval) bool { return x.From < hole.To && hole.From < x.To }) {
			when = append(when, hole)
		}
	}
	return when
}

// lacksWhileProven are the times at which an occasional input had no sample, though a metric shows that it should have had some; none if it
// never had any.
func (f *findings) lacksWhileProven(in *Input, cluster Symbol) (when []timeline.Interval, by string) {
	if in.Need != Occasional || slices.Contains(ofMoments, in.Signal) {
		return nil, ""
	}
	sampled, _ := f.samplesOf(cluster, func(other *Input, _ int) bool { return other.Name == in.Name })
	if sampled == nil {
		return nil, ""
	}
	for _, proof := range f.proofs(in, cluster) {
		for _, hole := range f.frame.without(proof.series.sampled, sampled) {
			if hole.To-hole.From >= shortHole {
				when = append(when, hole)
			}
		}
		if len(when) > 0 {
			return when, proof.metric()
		}
	}
	return nil, ""
}

// worded writes times for people.
func worded(holes []timeline.Interval) string {
	var when []string
	for _, hole := range holes[:min(mostHoles, len(holes))] {
		when = append(when, fmt.Sprintf("from %s to %s", instant(hole.From), instant(hole.To)))
	}
	if n := len(holes) - mostHoles; n > 0 {
		when = append(when, fmt.Sprintf("%d times more", n))
	}
	return strings.Join(when, " and ")
}

// longest is how long an input may be without samples while pods run, in milliseconds.
func (in *Input) longest() int64 {
	ofPods := []signals.Signal{signals.ContainerRequest, signals.ContainerUse, signals.ContainerLevel}
	switch {
	case in.Need == Required, in.Need == Optional && slices.Contains(ofPods, in.Signal):
		return steadyHole
	case in.Need == Optional:
		return shortHole
	}
	return math.MaxInt64
}

// instant writes a time for people, in UTC.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
