package promquery

import (
	"context"
	"errors"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// A batch computes up to maxBatch windows. More windows take more memory at a time. With fewer, the data before the first window
// of each batch is read more often. So only the windows of a large cluster are fewer: together they have up to batchRows rows,
// if each has as many as the largest one that was computed last.
const (
	maxBatch  = 8
	batchRows = 16_000
)

// batchSize is how many windows the next batch has.
func (e *Engine) batchSize() int {
	return int(min(max(batchRows/max(e.windowRows.Load(), 1), 1), maxBatch))
}

// recordRows records how many rows a window has, from sets that were computed each by itself. The shards of a computation read what
// the rows of all of them are made from.
func (e *Engine) recordRows(sets []*allocation.Set, shard allocation.Shard) {
	most := int64(0)
	for _, s := range sets {
		most = max(most, int64(s.Len()*max(shard.Of, 1)))
	}
	e.windowRows.Store(most)
}

// computeAlone computes each set of q by itself, in batches. It reads once what the windows of a batch have in common. Each window
// gets what it would get without the others.
func (e *Engine) computeAlone(ctx context.Context, q allocation.Query, windows []allocation.Window) (sets []*allocation.Set, err error) {
	var noData error
	for len(windows) > 0 {
		n := min(e.batchSize(), len(windows))
		results, err := e.computeWindows(ctx, q, windows[:n])
		if err != nil {
			return nil, err
		}
		for i, x := range results {
			if x.err != nil {
				none := allocation.NewSet(windows[i], allocation.NewDict())
				if noData == nil || !allocation.HasNothing(x.err) {
					noData = x.err
				}
				if !allocation.HasNothing(x.err) {
					none.Incomplete, none.Warnings = true, []string{x.err.Error()}
				}
				x.sets = []*allocation.Set{none}
			}
			sets = append(sets, x.sets...)
		}
		e.recordRows(sets[len(sets)-n:], q.Shard)
		windows = windows[n:]
	}
	if noData != nil && !slices.ContainsFunc(sets, func(s *allocation.Set) bool { return !s.Empty() || s.OtherShards }) {
		return nil, noData
	}
	return sets, nil
}

// computeWindows computes the sets of windows in one batch. If that takes too much, or if the source says that data is missing,
// which may concern only some windows, it computes one half after the other.
func (e *Engine) computeWindows(ctx context.Context, q allocation.Query, windows []allocation.Window) ([]result, error) {
	n := len(windows)
	q.Step = 0
	queries := make([]allocation.Query, n)
	for i, w := range windows {
		queries[i] = q
		queries[i].Window, queries[i].After = w, min(allocation.Evidence, q.After+q.Window.End.Sub(w.End))
	}
	if n == 1 {
		sets, err := e.Compute(ctx, queries[0])
		if err != nil && !errors.Is(err, allocation.ErrNoData) {
			return nil, err
		}
		return []result{{sets, err}}, nil
	}
	whole := q
	whole.Window = allocation.Window{Start: windows[0].Start, End: windows[n-1].End}
	out, err := e.compute(ctx, whole, queries)
	if !errors.Is(err, allocation.ErrTooMuch) && !errors.Is(err, allocation.ErrBusy) && !errors.Is(err, errMissing) {
		return out, err
	}
	first, err := e.computeWindows(ctx, q, windows[:n/2])
	if err != nil {
		return nil, err
	}
	second, err := e.computeWindows(ctx, q, windows[n/2:])
	return append(first, second...), err
}
