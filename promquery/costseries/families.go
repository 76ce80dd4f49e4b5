package costseries

import (
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// family is a metric: one of the table of families, or one about a set as a whole.
type family struct {
	name, help string
	counter    bool
	labels     []string
	subject    *allocation.Subject // nil where the metric is about a set as a whole
	row        *allocation.Family  // of the table
	summable   bool                // series may be summed before the engine sums them
	budget     bool                // it is about budgets, which need more than one set
	// set emits a metric about a set as a whole.
	set func(q *Queryable, set *allocation.Set, emit emitter)
}

// emitter takes the values of the labels of a series, which are valid only during the call, and its value.
type emitter func(labels []string, value float64)

// setFamilies are the metrics about a set as a whole, as /metrics has them.
var setFamilies = []family{
	{
		name: "promcost_currency_info", help: "The currency of every cost, as a label of the value 1.", labels: []string{"currency"},
		set: func(q *Queryable, _ *allocation.Set, emit emitter) {
			if q.opts.Currency != nil {
				emit([]string{q.opts.Currency()}, 1)
			}
		},
	},
	{
		name: "promcost_last_complete_set_timestamp_seconds",
		help: "End of the last closed hour whose costs are exported, in Unix seconds.",
		set: func(_ *Queryable, set *allocation.Set, emit emitter) {
			emit(nil, float64(set.Window.End.UnixMilli())/1e3)
		},
	},
	{
		name: "promcost_resolution_seconds",
		help: "Distance of the grid that the exported costs were sampled on; 0 if every sample was used.",
		set:  func(_ *Queryable, set *allocation.Set, emit emitter) { emit(nil, set.Resolution.Seconds()) },
	},
	{
		name: "promcost_error_bound_ratio", labels: []string{"running", "bound"},
		help: "Bounds of the running time counted in the exported costs, on their grid or with every sample, as a ratio of the true one, for what ran so long and nothing reports the start and end of; a lower bound of -1 says that it may be missed.",
		set:  emitBounds,
	},
}

// boundDurations are the running times whose error bounds are served.
var boundDurations = [...]struct {
	label    string
	duration time.Duration
}{{"5m", 5 * time.Minute}, {"1h", time.Hour}, {"1d", 24 * time.Hour}}

// emitBounds emits the error bounds of a set, which follow from how it was sampled.
func emitBounds(q *Queryable, set *allocation.Set, emit emitter) {
	if q.opts.Bounds == nil || set.Resolution <= 0 && set.ScrapeInterval <= 0 {
		return
	}
	for _, running := range boundDurations {
		lower, upper := q.opts.Bounds(running.duration, set.Resolution, set.ScrapeInterval)
		emit([]string{running.label, "lower"}, lower)
		emit([]string{running.label, "upper"}, upper)
	}
}

// budgetSubject is the subject of budgets.
const budgetSubject = "budget"

// makeFamilies lists what is served, by name.
func (q *Queryable) makeFamilies() []family {
	all := slices.Clone(setFamilies)
	for i := range q.opts.Subjects {
		s := &q.opts.Subjects[i]
		for _, f := range s.Families() {
			all = append(all, family{
				name: f.Name, help: f.Help, counter: f.Type == allocation.CounterFamily, labels: f.Labels, subject: s, row: &f,
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
