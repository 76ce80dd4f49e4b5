package costseries

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation"
)

// Which series there are is found out from the latest hours of a range: so many, a day at a time, until so many series were
// looked at.
const (
	maxLabelDays   = 7
	maxLabelSeries = 1_000_000
)

// recent are the series that there were in the latest hours of a range, without samples. Counters are there since what they
// count was in a month first.
func (q *querier) recent(ctx context.Context, mint, maxt int64, selected []*selection) (list []*series, notes annotations.Annotations, err error) {
	w := q.window(mint, maxt)
	for _, pass := range q.passes(selected) {
		l := q.loader(pass.selected)
		l.told.window = l.asked(mint, maxt)
		from := w
		if pass.counting && w.Start.Before(w.End) {
			from.Start = l.firstOfMonth(w)
		}
		if err := l.recent(ctx, from, pass.counting); err != nil {
			return nil, nil, err
		}
		list, notes = append(list, l.series...), notes.Merge(l.told.annotations())
	}
	return list, notes, nil
}

// recent finds the series of the latest hours of a window.
func (l *loader) recent(ctx context.Context, w allocation.Window, counting bool) error {
	hours := l.sets.Hours
	if counting {
		hours = l.sets.Counted
	}
	for day := 0; day < maxLabelDays && l.looked < maxLabelSeries && w.Start.Before(w.End); day++ {
		part := allocation.Window{Start: w.End.Add(-24 * time.Hour), End: w.End}
		if part.Start.Before(w.Start) {
			part.Start = w.Start
		}
		l.window, l.hour = part, l.look
		if err := (&reading{window: part, only: l.only, loaders: []*loader{l}, hours: hours}).run(ctx); err != nil {
			return err
		}
		if part.Start.Equal(w.Start) {
			return nil
		}
		w.End = part.Start.Add(time.Hour - time.Millisecond) // of the last hour that begins before the part
	}
	return nil
}

// look finds the series of an hour.
func (l *loader) look(ctx context.Context, set *allocation.Set, err error) error {
	if err != nil {
		return nil //nolint:nilerr // it is told of
	}
	if err := l.emit(ctx, set, func(int32, float64) { l.looked++ }); err != nil {
		return err
	}
	return l.bound(ctx)
}

// LabelValues implements storage.LabelQuerier.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	if name == model.MetricNameLabel && len(matchers) == 0 {
		var names []string
		for i := range q.families {
			names = append(names, q.families[i].name)
		}
		return limited(names, hints), nil, nil
	}
	selected := slices.DeleteFunc(q.selections(ctx, nil, matchers), func(s *selection) bool {
		return name != model.MetricNameLabel && !slices.Contains(s.labels, name)
	})
	found := map[string]bool{}
	notes, err := q.labelSets(ctx, selected, func(l labels.Labels) {
		if v := l.Get(name); v != "" {
			found[v] = true
		}
	})
	return limited(slices.Sorted(maps.Keys(found)), hints), notes, err
}

// LabelNames implements storage.LabelQuerier.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	found := map[string]bool{}
	if len(matchers) == 0 {
		for i := range q.families {
			found[model.MetricNameLabel] = true
			for _, l := range q.families[i].labels {
				found[l] = true
			}
		}
		return limited(slices.Sorted(maps.Keys(found)), hints), nil, nil
	}
	notes, err := q.labelSets(ctx, q.selections(ctx, nil, matchers), func(l labels.Labels) {
		l.Range(func(l labels.Label) { found[l.Name] = true })
	})
	return limited(slices.Sorted(maps.Keys(found)), hints), notes, err
}

// labelSets visits the labels of the recent series of selections.
func (q *querier) labelSets(ctx context.Context, selected []*selection, visit func(labels.Labels)) (annotations.Annotations, error) {
	if len(selected) == 0 {
		return nil, nil
	}
	list, notes, err := q.recent(ctx, q.mint, q.maxt, selected)
	for _, s := range list {
		visit(s.labels)
	}
	return notes, err
}

// limited are so many values as hints ask for.
func limited(list []string, hints *storage.LabelHints) []string {
	if hints != nil && hints.Limit > 0 && len(list) > hints.Limit {
		return list[:hints.Limit]
	}
	return list
}
