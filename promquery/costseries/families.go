package costseries

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// family is a metric: one of allocation's table, or of a set itself.
type family struct {
	name, help string
	counter    bool
	labels     []string
	subject    *allocation.Subject // nil for those of a set itself
	of         *allocation.Family
	// sums says that series may be summed before the engine does.
	sums bool
	set  func(ctx context.Context, l *loader, set *allocation.Set, emit emitter) error // of those of a set itself
}

// emitter takes a series of a family by the values of its labels, which are valid during the call only.
type emitter func(labels []string, value float64)

// setFamilies are the metrics of a set itself, as /metrics has them.
var setFamilies = []family{
	{
		name: "promcost_currency_info", help: "The currency of every cost, as a label of the value 1.", labels: []string{"currency"},
		set: func(_ context.Context, l *loader, _ *allocation.Set, emit emitter) error {
			if l.opts.Currency != nil {
				emit([]string{l.opts.Currency()}, 1)
			}
			return nil
		},
	},
	{
		name: "promcost_last_complete_set_timestamp_seconds",
		help: "End of the last closed hour whose costs are exported, in Unix seconds.",
		set: func(_ context.Context, _ *loader, set *allocation.Set, emit emitter) error {
			emit(nil, float64(set.Window.End.UnixMilli())/1e3)
			return nil
		},
	},
	{
		name: "promcost_resolution_seconds",
		help: "Distance of the grid that the exported costs were sampled on; 0 if every sample was used.",
		set: func(_ context.Context, _ *loader, set *allocation.Set, emit emitter) error {
			emit(nil, set.Resolution.Seconds())
			return nil
		},
	},
	{
		name: "promcost_error_bound_ratio", labels: []string{"running", "bound"},
		help: "Bounds of the running time counted at the resolution of the exported costs, as a ratio of the true one, for what ran so long; a lower bound of -1 says that it may be missed.",
		set:  emitBounds,
	},
}

// boundDurations are the running times whose error bounds are told.
var boundDurations = [...]struct {
	label    string
	duration time.Duration
}{{"5m", 5 * time.Minute}, {"1h", time.Hour}, {"1d", 24 * time.Hour}}

// emitBounds emits the bounds of the set's grid; in exact mode those of the scrape interval, as long as it is known.
func emitBounds(_ context.Context, l *loader, set *allocation.Set, emit emitter) error {
	resolution := set.Resolution
	if resolution == 0 && set.Reading != nil {
		resolution = set.Reading.ScrapeInterval
	}
	if l.opts.Bounds == nil || resolution <= 0 {
		return nil
	}
	for _, running := range boundDurations {
		lower, upper := l.opts.Bounds(running.duration, resolution)
		emit([]string{running.label, "lower"}, lower)
		emit([]string{running.label, "upper"}, upper)
	}
	return nil
}

// families is the table of what is served, by name.
func (q *Queryable) families() []family {
	all := slices.Clone(setFamilies)
	subjects := q.opts.Subjects()
	for i := range subjects {
		s := &subjects[i]
		for _, f := range s.Families() {
			made := family{name: f.Name, help: f.Help, counter: f.Type == allocation.CounterFamily, labels: f.Labels}
			if s.Name == "budget" { // which takes more than one set
				made.set = emitSpending(&f)
			} else {
				made.subject, made.of, made.sums = s, &f, f.Adds()
			}
			all = append(all, made)
		}
	}
	slices.SortFunc(all, func(a, b family) int { return strings.Compare(a.name, b.name) })
	return all
}

// emitSpending emits a figure of the budgets as they stood when a set was shown first.
func emitSpending(f *allocation.Family) func(context.Context, *loader, *allocation.Set, emitter) error {
	return func(ctx context.Context, l *loader, set *allocation.Set, emit emitter) error {
		spending, err := l.spending(ctx, set.Window.End.Add(l.opts.Grace))
		if err != nil {
			return err
		}
		f.Emit(spending.Totals(), func(_ int, labels []string, v float64) { emit(labels, v) })
		return nil
	}
}

// spending is how the budgets stood at an instant, nil where nobody knows.
func (l *loader) spending(ctx context.Context, at time.Time) (s *allocation.Spending, err error) {
	if l.opts.Spending == nil {
		return nil, nil
	}
	if l.spendings == nil {
		w := l.window(l.mint, l.maxt)
		if l.spendings, err = l.opts.Spending(ctx, allocation.Window{Start: w.Start, End: w.End.Add(l.opts.Grace)}); err != nil {
			return nil, err
		}
	}
	return l.spendings(ctx, at)
}

// projection is what selections need of sets, all where that is not known.
func projection(selected []*selection) *allocation.Projection {
	all := &allocation.Projection{}
	for _, s := range selected {
		if s.reader == nil {
			continue
		}
		p := s.reader.Projection()
		if p == nil {
			return nil
		}
		all.Properties, all.Columns = append(all.Properties, p.Properties...), append(all.Columns, p.Columns...)
		all.Volumes, all.Balancers = all.Volumes || p.Volumes, all.Balancers || p.Balancers
	}
	slices.Sort(all.Properties)
	slices.Sort(all.Columns)
	all.Properties, all.Columns = slices.Compact(all.Properties), slices.Compact(all.Columns)
	return all
}
