// Package anyselect selects series by several selectors in one call, which storage.Querier has no method for. Parameters
// such as match[] may be given many times, and one reading for all of them costs less than one for each.
package anyselect

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// LabelsOnly is what storage.SelectHints.Func says where the labels of series are wanted, but no samples. Prometheus' own API
// uses the same word.
const LabelsOnly = "series"

// Querier is a storage.Querier that takes several selectors at once.
type Querier interface {
	// SelectAny selects the series that any of the selectors matches, each once and sorted. The series of an upstream may come
	// without samples, so hints.Func should be LabelsOnly where there may be an upstream.
	SelectAny(ctx context.Context, hints *storage.SelectHints, selectors [][]*labels.Matcher) storage.SeriesSet
}

// Select selects the series that any of the selectors matches, each once and sorted: in one call where q is a Querier, and by
// merging one selection per selector otherwise.
func Select(ctx context.Context, q storage.Querier, hints *storage.SelectHints, selectors [][]*labels.Matcher) storage.SeriesSet {
	if q, ok := q.(Querier); ok && len(selectors) > 1 {
		return q.SelectAny(ctx, hints, selectors)
	}
	var sets []storage.SeriesSet
	for _, matchers := range selectors {
		sets = append(sets, q.Select(ctx, true, hints, matchers...))
	}
	return storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
}
