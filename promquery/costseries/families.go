package costseries

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// family is a metric: one of the table of families, or one about a set as a whole.
type family struct {
	name, help string
	counter    bool
	labels     []string
	subject    *metering.Subject // nil where the metric is about a set as a whole
	row        *metering.Family  // of the table
	summable   bool              // series may be summed before the engine sums them
	budget     bool              // it is about budgets, which need more than one set
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
	all := []family{q.currencyInfo()}
	for _, f := range metering.SetFamilies() {
		emit := func(set *allocation.Set, emit emitter) { f.Emit(set, q.opts.Bounds, emit) }
		all = append(all, family{name: f.Name, help: f.Help, labels: f.Labels, set: emit})
	}
	for i := range q.opts.Subjects {
		s := &q.opts.Subjects[i]
		for _, f := range s.Families() {
			all = append(all, family{
				name: f.Name, help: f.Help, counter: f.Type == metering.Counter, labels: f.Labels, subject: s, row: &f,
				summable: f.Adds() && s.Name != budgetSubject, budget: s.Name == budgetSubject,
			})
		}
	}
	slices.SortFunc(all, func(a, b family) int { return strings.Compare(a.name, b.name) })
	return all
}

// projection is what selections need to have read.
func projection(selected []*selection) *allocation.Projection {
	all := &allocation.Projection{WithoutAssets: true}
	for _, s := range selected {
		if s.reader != nil {
			all = all.Union(s.reader.Projection())
		}
	}
	return all
}
