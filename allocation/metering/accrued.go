package metering

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// Accrued has the costs of closed hours since a month began: the values of counters. It also decides who has series of its own if
// there are too many. It is immutable. Hours are added oldest first, as they are read from the history. So everyone who makes it gets
// the same values to the last bit, and it need not be stored.
type Accrued struct {
	// Window is from the beginning of the month to the end of the last hour added.
	Window   allocation.Window
	metering *Metering
	tallies  []*tally // of the metering's subjects
}

// NewAccrued returns the empty Accrued at the beginning of a month. A nil Metering stands for the default one.
func NewAccrued(month time.Time, m *Metering) *Accrued {
	if m == nil {
		m = Default()
	}
	a := &Accrued{Window: allocation.Window{Start: month, End: month}, metering: m, tallies: make([]*tally, len(m.subjects))}
	for i := range a.tallies {
		a.tallies[i] = &tally{}
	}
	return a
}

// Add returns a with further hours. It needs only its Metering's Projection of them. An hour must not begin before the last one
// added ends.
func (a *Accrued) Add(hours ...*allocation.Set) *Accrued {
	sum := &Accrued{Window: a.Window, metering: a.metering, tallies: make([]*tally, len(a.tallies))}
	for i, was := range a.tallies {
		sum.tallies[i] = was.clone()
	}
	for _, hour := range hours {
		sum.Window.End = hour.Window.End
		for i := range sum.tallies {
			s := &a.metering.subjects[i]
			sum.tallies[i].add(s, s.Totals(hour).rows, hour.Window, a.metering.max)
		}
	}
	return sum
}

// Until returns a with its window extended to t, for hours without data.
func (a *Accrued) Until(t time.Time) *Accrued {
	return &Accrued{Window: allocation.Window{Start: a.Window.Start, End: t}, metering: a.metering, tallies: a.tallies}
}

// Metering returns the Metering that decides what is counted.
func (a *Accrued) Metering() *Metering { return a.metering }

// Totals returns what a subject has accrued since its counters began. They are empty for a subject without counters. If the subject has
// had too many series, those without a place are summed into __other__.
func (a *Accrued) Totals(s *Subject) *Totals {
	i := a.metering.index(s.Name)
	if i < 0 || !s.counts() {
		return &Totals{hours: 1, noResource: s.noResource}
	}
	return &Totals{hours: 1, noResource: s.noResource, rows: a.tallies[i].counters()}
}

// Fold sums everyone without a place in the counters into __other__. t are the Totals of the last hour added, or of a later one. No
// sum is lost; the ratios of __other__ are made from its sums. dropped is the number of series that are missing for it.
func (a *Accrued) Fold(s *Subject, t *Totals) (folded *Totals, dropped int) {
	i := a.metering.index(s.Name)
	if i < 0 {
		return t, 0
	}
	rows, dropped := a.tallies[i].fold(s, t.rows)
	return &Totals{hours: t.hours, noResource: t.noResource, rows: rows}, dropped
}

// Capped reports whether the subject has had more series than it may have, so that some are in __other__.
func (a *Accrued) Capped(s *Subject) bool {
	i := a.metering.index(s.Name)
	return i >= 0 && a.tallies[i].capped
}
