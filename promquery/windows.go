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

// noteRows records how many rows a window has, from sets that were computed each by itself. The shards of a computation read what
// the rows of all of them are made from.
func (e *Engine) noteRows(sets []*allocation.Set, shard allocation.Shard) {
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
				x.set = allocation.NewSet(windows[i], allocation.NewDict())
				if noData == nil || !allocation.HasNothing(x.err) {
					noData = x.err
				}
				if !allocation.HasNothing(x.err) {
					x.set.Incomplete, x.set.Warnings = true, []string{x.err.Error()}
				}
			}
			sets = append(sets, x.set)
		}
		e.noteRows(sets[len(sets)-n:], q.Shard)
		windows = windows[n:]
	}
	if noData != nil && !slices.ContainsFunc(sets, func(s *allocation.Set) bool { return !s.Empty() || s.OtherShards }) {
		return nil, noData
	}
	return sets, nil
}

// windowResult is the set of a window, or the error that there is no data for it.
type windowResult struct {
	set *allocation.Set
	err error
}

// computeWindows computes the sets of windows in one batch. If that takes too much, or if the source says that data is missing,
// which may concern only some windows, it computes one half after the other.
func (e *Engine) computeWindows(ctx context.Context, q allocation.Query, windows []allocation.Window) ([]windowResult, error) {
	n := len(windows)
	q.Step = 0
	if n == 1 {
		q.After = min(allocation.Evidence, q.After+q.Window.End.Sub(windows[0].End))
		q.Window = windows[0]
		sets, err := e.Compute(ctx, q)
		switch {
		case errors.Is(err, allocation.ErrNoData):
			return []windowResult{{err: err}}, nil
		case err != nil:
			return nil, err
		}
		return []windowResult{{set: sets[0]}}, nil
	}
	out, err := e.computeBatch(ctx, q, windows)
	switch {
	case errors.Is(err, allocation.ErrTooMuch), errors.Is(err, allocation.ErrBusy), err == nil && out == nil:
	default:
		return out, err
	}
	first, err := e.computeWindows(ctx, q, windows[:n/2])
	if err != nil {
		return nil, err
	}
	second, err := e.computeWindows(ctx, q, windows[n/2:])
	return append(first, second...), err
}

// computeBatch computes the sets of windows from one reading of the source. It returns none if data is missing in it.
func (e *Engine) computeBatch(ctx context.Context, q allocation.Query, windows []allocation.Window) (out []windowResult, err error) {
	whole := q
	whole.Window = allocation.Window{Start: windows[0].Start, End: windows[len(windows)-1].End}
	_, err = e.observed(ctx, whole, func(lead *computation) (sets []*allocation.Set, err error) {
		if j, ok := lead.src.(*joined); ok {
			j.allowOldOnly(ctx, whole.Window)
		}
		b := newBatch(ctx, lead, len(windows))
		defer b.cancel()
		for i, w := range windows {
			own := q
			own.Window, own.After = w, min(allocation.Evidence, q.After+q.Window.End.Sub(w.End))
			go b.run(i, own)
		}
		out, err = b.answer()
		for _, x := range out {
			if x.set != nil {
				sets = append(sets, x.set)
			}
		}
		return sets, err
	})
	return out, err
}
