package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// withoutHistory gives the sets that were not yielded before the history failed: from the cache if it has them, else computed, those of
// a stream some at a time. A stream whose sets all have no data is an error. Errors name the whole window that was asked for.
func (a *answer) withoutHistory(ctx context.Context, cause error) error {
	l, windows := a.ledger, a.windows
	q := a.query
	if a.yield != nil {
		windows, a.waiting = windows[a.made-len(a.waiting):], nil
		q.Window.Start = windows[0].Start
	} else {
		a.sets, a.made = nil, 0
	}
	if ctx.Err() != nil {
		return fmt.Errorf("answer %s: %w", describe(a.query), cause)
	}
	l.archive.RecordRead(cause)
	known := l.lastKnown(q, cause)
	a.found = a.found || known != nil
	for _, set := range known {
		a.give(set)
	}
	windows = windows[len(known):]
	if l.opts.ReadOnly && len(windows) > 0 {
		return fmt.Errorf("%w: answer %s: %w", allocation.ErrUpstream, describe(a.query), cause)
	}
	var noData error
	for len(windows) > 0 && !a.stopped {
		n := len(windows)
		if a.yield != nil {
			n = min(streamAtOnce, n)
			q.Window = allocation.Window{Start: windows[0].Start, End: windows[n-1].End}
		}
		sets, done, err := a.computeInstead(ctx, q, cause)
		if a.yield != nil && errors.Is(err, allocation.ErrNoData) {
			noData, sets, err = cmp.Or(noData, err), make([]*allocation.Set, n), nil
			for i, w := range windows[:n] {
				sets[i] = allocation.NewSet(w, allocation.NewDict())
			}
			sets = l.replaced(sets, true, cause)
		} else {
			a.found = a.found || err == nil
		}
		for _, set := range sets {
			a.give(set)
		}
		done()
		if err != nil {
			return fmt.Errorf("answer %s: %w", describe(a.query), err)
		}
		windows = windows[n:]
	}
	if a.found || noData == nil {
		return nil
	}
	return fmt.Errorf("answer %s: %w", describe(a.query), noData)
}

// computeInstead computes q in place of the history. done gives back the memory of sets that are yielded.
func (a *answer) computeInstead(ctx context.Context, q allocation.Query, cause error) (sets []*allocation.Set, done func(), err error) {
	l, done := a.ledger, func() {}
	if a.yield != nil {
		account := l.opts.Memory.Open(remedy) // only for these sets: the caller holds few at a time
		ctx, done = memory.With(ctx, account), account.Close
	}
	stored := q.Stored // hours are computed as they are for the history
	q.Alone, q.Stored, q.Only = q.Alone || stored, false, q.Only.Union(nil)
	if sets, err = l.compute(ctx, q); err != nil {
		return nil, done, fmt.Errorf("%w (in place of the history: %w)", err, cause)
	}
	return l.replaced(sets, stored, cause), done, nil
}

// replaced adds the failure of the history as a warning to sets that were computed instead. Empty sets of stored queries become holes,
// as they are with the history.
func (l *Ledger) replaced(sets []*allocation.Set, stored bool, cause error) []*allocation.Set {
	sets = allWarned(sets, fmt.Sprintf("the history fails, so this was computed without it: %v", cause))
	for i, set := range sets {
		if stored && set.Empty() && !set.OtherShards {
			sets[i] = warned(set, l.describeHole(&hole{set.Window, errNothing}))
			sets[i].Incomplete = true // warned has made it a copy
		}
	}
	return sets
}

// lastKnown is what the failing history had of q when it was last asked, nil if that is not cached.
func (l *Ledger) lastKnown(q allocation.Query, cause error) []*allocation.Set {
	sets := l.cache.get(cacheKey(&q), nil)
	if windows, err := q.Windows(); err != nil || len(sets) != len(windows) {
		return nil
	}
	return allWarned(sets, fmt.Sprintf("the history fails, so this is what it had when it was last asked: %v", cause))
}

// allWarned are sets with a further warning.
func allWarned(sets []*allocation.Set, text string) []*allocation.Set {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i] = warned(sets[i], text)
	}
	return sets
}

// warned is a set with a further warning.
func warned(s *allocation.Set, text string) *allocation.Set {
	own := *s
	own.Warnings = append(slices.Clone(s.Warnings), text)
	slices.Sort(own.Warnings)
	own.Warnings = slices.Compact(own.Warnings)
	return &own
}
