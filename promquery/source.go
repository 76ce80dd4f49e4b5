package promquery

import (
	"context"

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

// Selector asks for the samples of one metric.
type Selector struct {
	Metric   string    // the metric's name
	Matchers []Matcher // all must match
	// Keep names the labels that make up the key of a series, in this order. Nil keeps all labels except __name__, as alternating
	// names and values sorted by name.
	Keep []string
	// Series names a label that only distinguishes series of the same key. A source may leave it out of their keys, as if no
	// series had it, and call Points.SetSeries instead: such a label has many long values.
	Series string
	// Cgroup names a label of cgroup paths. Keys have the UID of the pod in place of a path: see PodUID, "" where it finds none.
	// It may be the same label as Series.
	Cgroup string
	// Start and End bound the samples' times, both inclusive, Unix milliseconds.
	Start, End int64
	// Step is the grid, in milliseconds, on which a source answers that cannot give raw samples: values at End, End-Step, … down
	// to Start. Such a source marks the points as sampled. 0 asks every source for raw samples.
	Step int64
	// Lookback is how long a source that samples sees the last sample of a series, in milliseconds; 0 is five minutes. It is
	// shorter for series that get no staleness markers.
	Lookback int64
	// AtOnce is how many metrics a source may ask for in one request if that is cheaper. It is larger for metrics with few series.
	// 0 and 1 ask for each metric by itself. The answers are the same.
	AtOnce int
	// Input names what the samples are for in the account of the reading. It changes nothing about the answer.
	Input string
	// Last says that only the value at End of the grid is needed.
	Last bool
}

// Stats is what answering a Select took, and what is known to be missing from the answer.
type Stats struct {
	Requests int64 // requests sent, or blocks opened
	Series   int64 // series handed to yield
	Samples  int64 // samples handed to yield
	Bytes    int64 // bytes received, or chunk bytes read
	// Sent are the requests, Requests of them. All Bytes belong to them.
	Sent []Request
	// Warnings name missing data (a block that cannot be opened, a partial answer), each with its place and the remedy.
	Warnings []string
	// Losses are the parts that could not be read, each once.
	Losses []Loss
	// Damaged says that the source has data that it could not read.
	Damaged bool
}

// Count counts a series of so many samples. A series without samples does not count.
func (s *Stats) Count(samples int64) {
	if samples > 0 {
		s.Series++
		s.Samples += samples
	}
}

// Add adds o to s.
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

// Yield receives a series, or a stretch of one: see Source.
type Yield = func(i int, key []Symbol, p *timeline.Points) error

// Source gives the samples of series: a running Prometheus, blocks on disk, the demo cluster.
//
// Select calls yield once a series, or several times where later calls bring later stretches of it (raw points are then
// marked as continued), from one goroutine at a time and in no order of series. i is the selector's index in sels. key and p are valid during the call only. A
// series without samples in the range is not yielded. An error of yield ends Select and is returned as it is. Partial data
// is an answer with a warning, not an error. Keys are made of the symbols that SymbolsOf returns for ctx.
type Source interface {
	Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error)
}
