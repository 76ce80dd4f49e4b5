package metering

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// Accrued are the costs of closed hours since a month began, by subject: what counters show; and which subjects have series
// of their own where there are more than may have. It is not changed once made. Hours are added one after the other,
// oldest first, and each as it is read from the history: so all of it is the same to the last bit, whoever makes it, and
// nothing else has to be kept.
type Accrued struct {
	// Window is from the beginning of the month to the end of the last hour that was added.
	Window   allocation.Window
	metering *Metering
	tallies  []*tally // of the metering's subjects
}

// NewAccrued is what has accrued when a month begins: nothing. A nil Metering is the default one.
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

// Add is a with further hours, of which it needs no more than its Metering's Projection. An hour must not begin before
// those that were added end.
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

// Until is a with nothing more up to t: for hours in which nothing was.
func (a *Accrued) Until(t time.Time) *Accrued {
	return &Accrued{Window: allocation.Window{Start: a.Window.Start, End: t}, metering: a.metering, tallies: a.tallies}
}

// Metering is what it is by.
func (a *Accrued) Metering() *Metering { return a.metering }

// Totals are what has accrued of a subject since its counters began, empty for one that has none. Where the subject has had
// more series than it may have, those without a place of their own are __other__.
func (a *Accrued) Totals(s *Subject) *Totals {
	i := a.metering.index(s.Name)
	if i < 0 || !s.counts() {
		return &Totals{hours: 1, plain: s.plain}
	}
	return &Totals{hours: 1, plain: s.plain, rows: a.tallies[i].counters()}
}

// Fold sums what has no place of its own into __other__, as it is in the counters: t are Totals of the last hour that was
// added, or a later one. No sum is lost; ratios of what was folded are made from its sums. Dropped are the series of the
// subject that there are not for it.
func (a *Accrued) Fold(s *Subject, t *Totals) (folded *Totals, dropped int) {
	i := a.metering.index(s.Name)
	if i < 0 {
		return t, 0
	}
	rows, dropped := a.tallies[i].fold(s, t.rows)
	return &Totals{hours: t.hours, plain: t.plain, rows: rows}, dropped
}

// Capped reports whether the subject has had more series than it may have, so that some are in __other__.
func (a *Accrued) Capped(s *Subject) bool {
	i := a.metering.index(s.Name)
	return i >= 0 && a.tallies[i].capped
}
