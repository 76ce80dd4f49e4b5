package promquery

import (
	"context"
	"errors"
	"iter"

	"github.com/promcost/promcost/allocation/timeline"
)

// MatchType is how a Matcher compares.
type MatchType uint8

// The four comparisons of PromQL; regular expressions are RE2 and anchored at both ends.
const (
	MatchEqual MatchType = iota
	MatchNotEqual
	MatchRegexp
	MatchNotRegexp
)

// Matcher selects series by one label; a label that is absent counts as "".
type Matcher struct {
	Name  string
	Type  MatchType
	Value string
}

// Label is a label that the keys of series have.
type Label struct {
	Name string
	// PodUID says that the label is a cgroup path. A key has the UID of the pod in its place: see PodUID, "" if there is none.
	PodUID bool
	// Series says that the label only distinguishes series of one key. It has many long values, so a source calls Points.SetSeries,
	// and the key has "" in its place unless PodUID is set, too.
	Series bool
}

// Labels returns labels that keys have as they are.
func Labels(names ...string) []Label {
	out := make([]Label, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// Grid says how a source answers that cannot give raw samples. Such a source marks the points as sampled.
type Grid struct {
	// Step is the distance of the values in milliseconds: there are values at End, End-Step, … down to Start of the request. 0 asks
	// every source for raw samples.
	Step int64
	// Lookback is how long an instant sees the last sample of a series, in milliseconds; 0 is five minutes. It is shorter for series
	// that get no staleness markers.
	Lookback int64
	// Interval is the scrape interval in milliseconds, 0 if it is not known. Where the points are no further apart, raw samples are no more.
	Interval int64
	// Last says that only the value at End is needed.
	Last bool
	// Times asks for when the newest of the samples was taken that an instant sees, in Unix seconds, in place of values: one series for each
	// combination of the labels that are kept. A source that gives raw samples gives them as they are.
	Times bool
}

// Request asks for the samples of one metric.
type Request struct {
	Metric   string    // the metric's name
	Matchers []Matcher // all must match
	// Keep are the labels that make up the key of a series, in this order. Nil keeps all labels except __name__, as alternating
	// names and values sorted by name.
	Keep []Label
	// Start and End bound the samples' times, both inclusive, Unix milliseconds.
	Start, End int64
	Grid       Grid
	// AtOnce is how many metrics a source may ask its server for in one question if that is cheaper. It is larger for metrics with few
	// series. 0 and 1 ask for each metric by itself. The answers are the same.
	AtOnce int
	// Input names what the samples are for in the account of the reading. It changes nothing about the answer.
	Input string
}

// Series is one series that answers a request, or a stretch of one.
type Series struct {
	Request int // the index of the request
	Key     []Symbol
	Points  *timeline.Points
}

// Source gives the samples of series: a running Prometheus, blocks on disk, the demo cluster.
//
// Select returns the series that answer the requests, in no order of series. A long series comes in several stretches, each later than
// the one before; points of all but the last are then marked as continued. A series without samples in the range does not come. Key and
// Points of a series are valid until the next one comes. Keys are made of the symbols that SymbolsOf returns for ctx.
//
// The iteration ends with an error, or when the caller stops. If data is missing, the answer is what there is, with a warning in stats,
// and no error. What the reading took is added to stats when the iteration ends.
type Source interface {
	Select(ctx context.Context, rs []Request, stats *Stats) iter.Seq2[Series, error]
}

// Named is implemented by a Source that says in readings how it is read: remote-read, query, blocks.
type Named interface {
	Name(ctx context.Context) string
}

// Yield receives a series, or a stretch of one, inside a source. An error of it ends the reading.
type Yield = func(i int, key []Symbol, p *timeline.Points) error

// errStopped ends a reading whose caller wants no more series.
var errStopped = errors.New("stopped by the caller")

// Pushed returns the answer to a Select of a source that calls yield with each series. read must call yield only from its own goroutine.
func Pushed(stats *Stats, read func(yield Yield) (Stats, error)) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		stopped := false
		got, err := read(func(i int, key []Symbol, p *timeline.Points) error {
			if stopped = stopped || !yield(Series{i, key, p}, nil); stopped {
				return errStopped
			}
			return nil
		})
		stats.Add(got)
		if err != nil && !stopped {
			yield(Series{}, err)
		}
	}
}
