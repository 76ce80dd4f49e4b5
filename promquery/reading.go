package promquery

import (
	"cmp"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// intervalSeries is how many series of a metric and cluster are measured to find its scrape interval.
const intervalSeries = 100

// tally counts the series and samples of a metric, by cluster.
type tally struct {
	requested bool
	input     int // its number in the table
	// spelled is how its series were called, where that may differ from the table.
	spelled string
	// skipped says that some of its series were left out, which other shards use.
	skipped  bool
	clusters []clusterTally
}

// clusterTally counts the series and samples of a metric in one cluster.
type clusterTally struct {
	cluster         Symbol
	series, samples int64
	oldest, newest  int64   // times of the earliest sample and the latest
	intervals       []int64 // scrape intervals of the first series that show one
	// sampled is when there were samples. resumed is when a series had none between two of its samples.
	sampled, resumed timeline.Intervals
	// evidence is what its series prove, by proof of the input; nil before there are any.
	evidence []evidence
}

// clusterTally is the count of a cluster. There are few clusters, and usually the first one is the right one.
func (t *tally) clusterTally(cluster Symbol) *clusterTally {
	for i := range t.clusters {
		if t.clusters[i].cluster == cluster {
			return &t.clusters[i]
		}
	}
	t.clusters = append(t.clusters, clusterTally{cluster: cluster})
	return &t.clusters[len(t.clusters)-1]
}

// add counts a stretch of a series. The series itself counts with its last stretch.
func (t *tally) add(cluster Symbol, p *timeline.Points) *clusterTally {
	c := t.clusterTally(cluster)
	c.samples += int64(p.Len())
	if !p.Continued() {
		c.series++
	}
	return c
}

// look counts like add. It also records how old and how far apart the samples are, and when in the window they were. A stretch of
// only staleness markers is no data.
func (t *tally) look(key []Symbol, p *timeline.Points, in *frame) {
	if _, ok := p.LastUsable(); !ok {
		return
	}
	c := t.add(key[0], p)
	if c.oldest = min(c.oldest, p.First()); c.newest == 0 {
		c.oldest = p.First()
	}
	c.newest = max(c.newest, p.Last())
	if len(c.intervals) < intervalSeries {
		if d := p.Interval(); d > 0 {
			c.intervals = append(c.intervals, d)
		}
	}
	in.record(c, t.input, key, p)
}

// median is the median of distances in milliseconds, rounded to a tenth of a second because timestamps jitter; 0 of none.
func median(d []int64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return (time.Duration(d[len(d)/2]) * time.Millisecond).Round(100 * time.Millisecond)
}

// findings are the tallies of all alternatives of all inputs, and the frame of the times at which they had samples.
type findings struct {
	inputs [][]tally
	frame  *frame // nil if times are not recorded
	// someLabels says that labels and annotations were read of some pods only: where these have none says nothing.
	someLabels bool
	otel       *otel // what is known of OpenTelemetry's receivers; nil is none
}

func newFindings(times *frame) *findings {
	f := &findings{inputs: make([][]tally, len(Inputs)), frame: times}
	for i := range Inputs {
		f.inputs[i] = make([]tally, len(Inputs[i].Alternatives))
		for rank := range f.inputs[i] {
			f.inputs[i][rank].input = i
		}
	}
	return f
}

// tally is the tally of an alternative that is being asked for.
func (f *findings) tally(input, rank int) *tally {
	t := &f.inputs[input][rank]
	t.requested = true
	return t
}

// metric is what an alternative is called.
func (f *findings) metric(input, rank int) string {
	return cmp.Or(f.inputs[input][rank].spelled, Inputs[input].Alternatives[rank].Metric)
}

// reading is what was found, for answers that explain themselves.
func (f *findings) reading() []allocation.InputReading {
	var out []allocation.InputReading
	for i, tallies := range f.inputs {
		in := allocation.InputReading{Name: Inputs[i].Name}
		for rank := range tallies {
			if !tallies[rank].requested {
				continue
			}
			alt := allocation.AlternativeReading{Metric: f.metric(i, rank)}
			for _, c := range tallies[rank].sorted() {
				alt.Clusters = append(alt.Clusters, allocation.ClusterReading{Cluster: c.cluster.Value(), Series: c.series, Samples: c.samples})
			}
			in.Alternatives = append(in.Alternatives, alt)
		}
		if len(in.Alternatives) > 0 {
			out = append(out, in)
		}
	}
	return out
}

// sorted are the clusters by name.
func (t *tally) sorted() []clusterTally {
	return slices.SortedFunc(slices.Values(t.clusters), func(a, b clusterTally) int { return cmp.Compare(a.cluster.Value(), b.cluster.Value()) })
}
