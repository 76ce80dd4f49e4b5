package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Symbol is an interned label value: two are equal exactly if their strings are. The zero Symbol is not a value; a label
// that a series lacks is the symbol of "".
type Symbol = signals.Symbol

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

// Selector asks for the samples of one metric.
type Selector struct {
	Metric   string    // the metric's name
	Matchers []Matcher // all must hold
	// Keep names the labels that make up the key of a series, in this order. Nil keeps all but __name__, as alternating
	// names and values sorted by name.
	Keep []string
	// Series names a label that does nothing but tell series of one key apart. A source may leave it out of their keys, as if
	// no series had it, and say Points.SetSeries instead: there are many values, long ones.
	Series string
	// Cgroup names a label of cgroup paths, of which only the pod's UID is wanted: in its place a source may put PodUID of it.
	// It may be that of Series.
	Cgroup string
	// Start and End bound the samples' times, both inclusive, Unix milliseconds.
	Start, End int64
	// Step is the grid, in milliseconds, that a source which cannot give raw samples answers on: values at End, End-Step,
	// … down to Start. Such a source marks the points as sampled. 0 asks for raw samples of every source.
	Step int64
	// Lookback is how long a source that samples sees the last sample of a series, in milliseconds; 0 is five minutes. It is
	// shorter for series that get no staleness markers.
	Lookback int64
	// AtOnce is how many metrics that say so a source may ask for at once where that is cheaper: the more, the fewer series
	// they mostly have. 0 and 1 are none but this one. The answers are the same.
	AtOnce int
	// Input names what the samples are for, in what is told of the reading; it changes nothing about the answer.
	Input string
	// Last says that of the values on the grid, the one at End is enough.
	Last bool
}

// Stats is what answering a Select took, and what is known to be missing from the answer.
type Stats struct {
	Requests int64 // requests sent, or blocks opened
	Series   int64 // series handed to yield
	Samples  int64 // samples handed to yield
	Bytes    int64 // bytes received, or chunk bytes read
	// Sent are the requests, as many as Requests says, and all Bytes are of theirs.
	Sent []Request
	// Warnings name data that is missing (a block that cannot be opened, a partial answer), each with its place and the remedy.
	Warnings []string
	// Losses are parts that could not be read, one of each.
	Losses []Loss
	// Damaged says that of what the source has, something could not be read.
	Damaged bool
}

// Count adds a series of so many samples; one without any is none.
func (s *Stats) Count(samples int64) {
	if samples > 0 {
		s.Series++
		s.Samples += samples
	}
}

// Add sums o into s.
func (s *Stats) Add(o Stats) {
	s.Requests += o.Requests
	s.Series += o.Series
	s.Samples += o.Samples
	s.Bytes += o.Bytes
	s.Sent = append(s.Sent, o.Sent...)
	s.Warnings = append(s.Warnings, o.Warnings...)
	for i := range o.Losses {
		s.Lose(o.Losses[i])
	}
	s.Damaged = s.Damaged || o.Damaged
}

// Yield takes a series, or a stretch of one, as Source says.
type Yield = func(i int, key []Symbol, p *timeline.Points) error

// Source gives the samples of series: a running Prometheus, blocks on disk, the demo cluster.
//
// Select calls yield once a series, or several times where later calls bring later stretches of it (raw points are then
// marked as continued), from one goroutine at a time and in no order of series. i is the selector's index in sels. key and p are valid during the call only. A
// series without samples in the range is not yielded. An error of yield ends Select and is returned as it is. Partial data
// is an answer with a warning, not an error.
type Source interface {
	Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error)
}
