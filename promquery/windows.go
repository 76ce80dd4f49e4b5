package promquery

import (
	"context"
	"errors"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// maxBatch is how many windows a batch computes. More windows take more memory at a time. With fewer, the data before the first
// window of each batch is read more often.
const maxBatch = 8

// computeAlone computes each set of q by itself, in batches. It reads once what the windows of a batch have in common. Each window
// gets what it would get without the others.
func (e *Engine) computeAlone(ctx context.Context, q allocation.Query, windows []allocation.Window) (sets []*allocation.Set, err error) {
	var noData error
	for len(windows) > 0 {
		n := min(maxBatch, len(windows))
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
		windows = windows[n:]
	}
	if noData != nil && !slices.ContainsFunc(sets, func(s *allocation.Set) bool { return !s.Empty() || s.Elsewhere }) {
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
