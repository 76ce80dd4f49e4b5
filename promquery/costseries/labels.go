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

// Look-ups of labels read the latest hours of a range, a day at a time. They read at most maxLabelDays days, and stop once they
// have found maxLabelSeries series.
const (
	maxLabelDays   = 7
	maxLabelSeries = 1_000_000
)

// recent are the series of the latest hours of a range, without samples. A counter has a series from the first hour of the month
// that had something to count.
func (q *querier) recent(ctx context.Context, mint, maxt int64, selected []*selection) (list []*series, notes annotations.Annotations, err error) {
	w := q.window(mint, maxt)
	for _, pass := range q.passes(selected) {
		l := q.loader(pass.selected)
		l.warn.window, l.warn.kind = l.asked(mint, maxt), pass.kind
		needed := w
		if pass.kind == counters && w.Start.Before(w.End) {
			needed.Start = l.firstOfMonth(w)
		}
		if err := l.recent(ctx, needed, pass.kind); err != nil {
			return nil, nil, err
		}
		list, notes = append(list, l.series...), notes.Merge(l.warn.annotations())
	}
	return list, notes, nil
}

// recent finds the series of the latest hours of a window.
func (l *loader) recent(ctx context.Context, w allocation.Window, of kind) error {
	for day := 0; day < maxLabelDays && l.found < maxLabelSeries && w.Start.Before(w.End); day++ {
		part := allocation.Window{Start: w.End.Add(-24 * time.Hour), End: w.End}
		if part.Start.Before(w.Start) {
			part.Start = w.Start
		}
		l.window, l.hour = part, l.find
		if err := (&reading{window: part, only: l.only, loaders: []*loader{l}, hours: l.hoursOf(of)}).run(ctx); err != nil {
			return err
		}
		if part.Start.Equal(w.Start) {
			return nil
		}
		w.End = part.Start.Add(time.Hour - time.Millisecond) // an hour that begins before the part is not read yet
	}
	return nil
}

// find finds the series of an hour.
func (l *loader) find(ctx context.Context, set *allocation.Set, err error) error {
	if err != nil {
		return nil //nolint:nilerr // the warnings have it
	}
	if err := l.emit(ctx, set, func(int32, float64) { l.found++ }); err != nil {
		return err
	}
	return l.drawAhead(ctx)
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
	notes, err := q.visitRecent(ctx, selected, func(l labels.Labels) {
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
	notes, err := q.visitRecent(ctx, q.selections(ctx, nil, matchers), func(l labels.Labels) {
		l.Range(func(l labels.Label) { found[l.Name] = true })
	})
	return limited(slices.Sorted(maps.Keys(found)), hints), notes, err
}

// visitRecent visits the labels of the recent series of selections.
func (q *querier) visitRecent(ctx context.Context, selected []*selection, visit func(labels.Labels)) (annotations.Annotations, error) {
	if len(selected) == 0 {
		return nil, nil
	}
	list, notes, err := q.recent(ctx, q.mint, q.maxt, selected)
	for _, s := range list {
		visit(s.labels)
	}
	return notes, err
}

// limited returns no more values than the hints ask for.
func limited(list []string, hints *storage.LabelHints) []string {
	if hints != nil && hints.Limit > 0 && len(list) > hints.Limit {
		return list[:hints.Limit]
	}
	return list
}
