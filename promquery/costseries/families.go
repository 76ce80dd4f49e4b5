package costseries

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// kind is the kind of hours that a metric is made from.
type kind uint8

const (
	gauges   kind = iota // as they are known by now
	counters             // as they were first counted
	billed               // with the adjustments of bills
	numKinds
)

// family is a metric: one of the table of families, or one about a set as a whole.
type family struct {
	name, help string
	kind       kind
	labels     []string
	subject    *metering.Subject // nil where the metric is about a set as a whole
	row        *metering.Family  // of the table
	summable   bool              // series may be summed before the engine sums them
	budget     bool              // it is about budgets, which need more than one set
	expects    bool              // so does what subjects should cost
	histograms *histograms       // of usage, nil for a metric of numbers
	// set emits a metric about a set as a whole.
	set func(set *allocation.Set, emit emitter)
}

// emitter takes the values of the labels of a series, which are valid only during the call, and its value.
type emitter = func(labels []string, value float64)

// currencyInfo is the metric of the currency.
func (q *Queryable) currencyInfo() family {
	return family{
		name: "promcost_currency_info", help: "The currency of every cost, as a label of the value 1.", labels: []string{"currency"},
		set: func(_ *allocation.Set, emit emitter) {
			if q.opts.Currency != nil {
				emit([]string{q.opts.Currency()}, 1)
			}
		},
	}
}

// budgetSubject is the subject of budgets.
const budgetSubject = "budget"

// makeFamilies lists what is served, by name.
func (q *Queryable) makeFamilies() []family {
	all := append(usageFamilies(), q.currencyInfo())
	for _, f := range metering.SetFamilies() {
		emit := func(set *allocation.Set, emit emitter) { f.Emit(set, q.opts.Bounds, emit) }
		all = append(all, family{name: f.Name, help: f.Help, labels: f.Labels, set: emit})
	}
	for i := range q.opts.Subjects {
		s := &q.opts.Subjects[i]
		if s.Billed && q.opts.Billed == nil || s.Expects() && q.opts.Outlooks == nil || s.Name == metering.RecommendedName { // recommendations take two weeks of hours for each instant
			continue
		}
		for _, f := range s.Families() {
			all = append(all, family{
				name: f.Name, help: f.Help, kind: kindOf(s, &f), labels: f.Labels, subject: s, row: &f,
				summable: f.Adds() && s.Name != budgetSubject && !s.Expects(), budget: s.Name == budgetSubject, expects: s.Expects(),
			})
		}
	}
	slices.SortFunc(all, func(a, b family) int { return strings.Compare(a.name, b.name) })
	return all
}

// kindOf is the kind of a metric of the table.
func kindOf(s *metering.Subject, f *metering.Family) kind {
	switch {
	case s.Billed:
		return billed
	case f.Type == metering.Counter:
		return counters
	}
	return gauges
}

// projection is what selections need to have read.
func projection(selected []*selection) *allocation.Projection {
	all := &allocation.Projection{WithoutAssets: true}
	for _, s := range selected {
		if s.reader != nil {
			all = all.Union(s.reader.Projection())
		}
		if s.histograms != nil {
			all = all.Union(s.histograms.needs)
		}
	}
	return all
}
