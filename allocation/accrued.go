package allocation

import (
	"slices"
	"time"
)

// Accrued are the costs of closed hours since a month began, by subject: what counters show. It is not changed once made.
// Hours are added one after the other, oldest first, and each as it is read from the history: so the sums are the same to
// the last bit, whoever makes them.
type Accrued struct {
	// Window is from the beginning of the month to the end of the last hour that was added.
	Window Window
	totals []*Totals // in the order of Subjects
}

// NewAccrued is what has accrued when a month begins: nothing.
func NewAccrued(month time.Time) *Accrued {
	a := &Accrued{Window: Window{Start: month, End: month}, totals: make([]*Totals, len(subjects))}
	for i := range a.totals {
		a.totals[i] = &Totals{hours: 1}
	}
	return a
}

// Add is a with a further hour, of which it needs no more than AccruedProjection. The hour must not begin before those that
// were added end.
func (a *Accrued) Add(hour *Set) *Accrued {
	sum := &Accrued{Window: Window{Start: a.Window.Start, End: hour.Window.End}, totals: make([]*Totals, len(a.totals))}
	for i, was := range a.totals {
		sum.totals[i] = was
		if s := &subjects[i]; s.counts() {
			sum.totals[i] = was.plus(s.Totals(hour))
		}
	}
	return sum
}

// Until is a with nothing more up to t: for hours in which nothing was.
func (a *Accrued) Until(t time.Time) *Accrued {
	return &Accrued{Window: Window{Start: a.Window.Start, End: t}, totals: a.totals}
}

// Totals are what has accrued of a subject that has counters.
func (a *Accrued) Totals(s *Subject) *Totals {
	return a.totals[slices.IndexFunc(subjects, func(o Subject) bool { return o.Name == s.Name })]
}

// AccruedProjection is what Accrued.Add needs of an hour.
func AccruedProjection() *Projection {
	p := &Projection{Properties: []Property{Cluster, Namespace, ControllerKind, Controller}, Columns: []Column{Hours.Of(GPU)}}
	for r := range familyResources {
		p.Columns = append(p.Columns, familyResources[r].cost...)
	}
	return p
}

// counts reports whether the subject has counters.
func (s *Subject) counts() bool {
	return slices.ContainsFunc(families, func(f Family) bool { return f.Subject == s.Name && f.Type == CounterFamily })
}

// plus is t with o's sums added, those of t first.
func (t *Totals) plus(o *Totals) *Totals {
	rows := make([]*subjectTotal, 0, len(t.rows)+len(o.rows))
	for _, row := range t.rows {
		own := *row
		rows = append(rows, &own)
	}
	return &Totals{hours: t.hours, rows: mergeTotals(append(rows, o.rows...))}
}
