// Package prices follows the prices of nodes and items over a window: by metrics, else by a price sheet. It knows which are suspicious.
package prices

import (
	"iter"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// Sheet has the prices of a price sheet over a window, in Unix milliseconds.
type Sheet struct {
	Rates      rates.Rates
	Start, End int64
}

// changes are the instants in the window at which the sheet's prices change.
func (s Sheet) changes() (out []int64) {
	for _, change := range s.Rates.Changes(time.UnixMilli(s.Start).UTC(), time.UnixMilli(s.End).UTC()) {
		out = append(out, change.UnixMilli())
	}
	return out
}

// stretches are those of the window between changes, which may be in any order.
func (s Sheet) stretches(changes []int64) iter.Seq[timeline.Interval] {
	changes = slices.DeleteFunc(timeline.SortedEdges(changes), func(t int64) bool { return t <= s.Start || t >= s.End })
	return func(yield func(timeline.Interval) bool) {
		from := s.Start
		for _, to := range append(changes, s.End) {
			if !yield(timeline.Interval{From: from, To: to}) {
				return
			}
			from = to
		}
	}
}

// Currency is the currency of the answers.
func (s Sheet) Currency() string {
	if d, ok := s.Rates.(rates.Denominated); ok && d.Currency() != "" {
		return d.Currency()
	}
	return rates.Dollar
}

// InDollars is the end of warnings about built-in prices: it says that these are in another currency than the answers, if so.
func (s Sheet) InDollars() string {
	if c := s.Currency(); c != rates.Dollar {
		return ", which are in " + rates.Dollar + ", not converted to " + c
	}
	return ""
}

// IsSpot reports whether labels of a node say that it is a spot node: those of providers and tools, and those that the sheet names.
func (s Sheet) IsSpot(labels map[string]string) bool {
	ruled, ok := s.Rates.(rates.Ruled)
	return labelnames.IsSpot(labels) || ok && ruled.IsSpot(labels)
}

// ByMetric are the prices of something by metrics.
type ByMetric struct {
	Original timeline.Steps // by series of others
	Repeated timeline.Steps // by series of promcost, which repeat what others reported before
}

// Add takes the prices in a series, and returns those that are usable. The highest price of several series counts. It notes prices that
// it leaves out in s, and if series differ for longer than an old price can still be seen.
func (p *ByMetric) Add(steps timeline.Steps, notFinite, repeats bool, t Thing, s *Suspicious) timeline.Steps {
	kept, to := steps.NotNegative(), &p.Original
	if len(kept) < len(steps) {
		s.NoteBad(notices.Negative, t)
	}
	if notFinite {
		s.NoteBad(notices.NotFinite, t)
	}
	if repeats {
		to = &p.Repeated
	}
	if timeline.Disputed(*to, kept) > 2*timeline.Lookback {
		s.NoteBad(notices.Disputed, t)
	}
	*to = timeline.Max(*to, kept)
	return kept
}

// Best returns the original prices, or if there are none, the repeated ones.
func (p *ByMetric) Best() timeline.Steps {
	if len(p.Original) > 0 {
		return p.Original
	}
	return p.Repeated
}
