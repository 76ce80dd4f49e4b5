package promquery

import (
	"context"
	"errors"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// mostAlone is how many sets are computed side by side, each by itself: as many take memory at a time, and what is before the
// first of them is read twice.
const mostAlone = 8

// computeAlone computes the sets of q each by itself, some side by side: what they ask for is asked of the source once, and
// each gets of it what it would have been given alone.
func (e *Engine) computeAlone(ctx context.Context, q allocation.Query, windows []allocation.Window) (sets []*allocation.Set, err error) {
	var noData error
	for len(windows) > 0 {
		n := min(mostAlone, len(windows))
		got, err := e.sideBySide(ctx, q, windows[:n])
		if err != nil {
			return nil, err
		}
		for i, x := range got {
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
	if noData != nil && !slices.ContainsFunc(sets, func(s *allocation.Set) bool { return !s.Empty() || s.Apart }) {
		return nil, noData
	}
	return sets, nil
}

// alone is the set of a window, or that there are no data for it.
type alone struct {
	set *allocation.Set
	err error
}

// sideBySide computes the sets of windows. Where that takes too much, or the source says that something is missing, which may
// be of some of them only, it is one half after the other.
func (e *Engine) sideBySide(ctx context.Context, q allocation.Query, windows []allocation.Window) ([]alone, error) {
	n := len(windows)
	q.Step = 0
	if n == 1 {
		q.After = min(allocation.Evidence, q.After+q.Window.End.Sub(windows[0].End))
		q.Window = windows[0]
		sets, err := e.Compute(ctx, q)
		switch {
		case errors.Is(err, allocation.ErrNoData):
			return []alone{{err: err}}, nil
		case err != nil:
			return nil, err
		}
		return []alone{{set: sets[0]}}, nil
	}
	out, err := e.together(ctx, q, windows)
	switch {
	case errors.Is(err, allocation.ErrTooMuch), errors.Is(err, allocation.ErrBusy), err == nil && out == nil:
	default:
		return out, err
	}
	first, err := e.sideBySide(ctx, q, windows[:n/2])
	if err != nil {
		return nil, err
	}
	second, err := e.sideBySide(ctx, q, windows[n/2:])
	return append(first, second...), err
}

// together computes the sets of windows with one reading of the source, none where something is missing of that.
func (e *Engine) together(ctx context.Context, q allocation.Query, windows []allocation.Window) (out []alone, err error) {
	whole := q
	whole.Window = allocation.Window{Start: windows[0].Start, End: windows[len(windows)-1].End}
	_, err = e.observed(ctx, whole, func(lead *computation) (sets []*allocation.Set, err error) {
		if j, ok := lead.src.(*joined); ok {
			j.without(ctx, whole.Window)
		}
		c := newChorus(ctx, lead, len(windows))
		defer c.cancel()
		for i, w := range windows {
			own := q
			own.Window, own.After = w, min(allocation.Evidence, q.After+q.Window.End.Sub(w.End))
			go c.sing(i, own)
		}
		out, err = c.conduct()
		for _, x := range out {
			if x.set != nil {
				sets = append(sets, x.set)
			}
		}
		return sets, err
	})
	return out, err
}
