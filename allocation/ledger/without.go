package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// errHistory marks what the history failed in, for what can be computed in its place.
var errHistory = errors.New("the history fails")

// without computes q where the history fails.
func (l *Ledger) without(ctx context.Context, q allocation.Query, cause error) ([]*allocation.Set, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("answer %s: %w", describe(q), cause)
	}
	l.sawHistory(cause)
	if sets := l.lastKnown(q, cause); sets != nil {
		return sets, nil
	}
	if l.opts.ReadOnly {
		return nil, notRead(q, cause)
	}
	alike := q.Stored
	if alike { // hours are computed as they are for the history
		q.Alone = true
	}
	q.Stored, q.Only = false, nil
	sets, err := l.compute(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%w (in place of the history: %w)", err, cause)
	}
	return l.replaced(sets, alike, cause), nil
}

// notRead is the error of a query where the history fails and nothing is computed.
func notRead(q allocation.Query, cause error) error {
	return fmt.Errorf("%w: answer %s: %w", allocation.ErrUpstream, describe(q), cause)
}

// replaced are sets that were computed where the history fails, with that as a warning. Those that nothing was found of are
// holes, as they are with the history, if they are to be like those of it.
func (l *Ledger) replaced(sets []*allocation.Set, alike bool, cause error) []*allocation.Set {
	sets = allWarned(sets, fmt.Sprintf("the history fails, so this was computed without it: %v", cause))
	for i, set := range sets {
		if alike && set.Empty() && !set.Apart {
			sets[i] = warned(set, l.describeHole(&hole{set.Window, errNothing}))
			sets[i].Incomplete = true // warned has made it a copy
		}
	}
	return sets
}

// without gives the sets that were not yielded before the history failed, computed in its place some at a time. Those that
// nothing was found of are an answer together with others only. Errors name the whole window that was asked for.
func (s *stream) without(ctx context.Context, l *Ledger, q allocation.Query, windows []allocation.Window, cause error) error {
	asked := q
	windows, s.waiting = windows[s.made-len(s.waiting):], nil
	q.Window.Start = windows[0].Start
	sets := l.lastKnown(q, cause)
	s.found = s.found || sets != nil
	for _, set := range sets {
		s.give(set)
	}
	if windows = windows[len(sets):]; l.opts.ReadOnly && len(windows) > 0 && ctx.Err() == nil {
		l.sawHistory(cause)
		return notRead(asked, cause)
	}
	var noData error
	for len(windows) > 0 && !s.stopped {
		n := min(streamAtOnce, len(windows))
		q.Window = allocation.Window{Start: windows[0].Start, End: windows[n-1].End}
		account := l.opts.Memory.Open(remedy) // for these sets alone: whoever asks holds few at a time
		sets, err := l.without(memory.With(ctx, account), q, cause)
		switch {
		case errors.Is(err, allocation.ErrNoData):
			noData, sets = cmp.Or(noData, err), make([]*allocation.Set, n)
			for i, w := range windows[:n] {
				sets[i] = allocation.NewSet(w, allocation.NewDict())
			}
			sets = l.replaced(sets, true, cause)
		case err != nil:
			account.Close()
			return fmt.Errorf("answer %s: %w", describe(asked), err)
		default:
			s.found = true
		}
		for _, set := range sets {
			s.give(set)
		}
		account.Close()
		windows = windows[n:]
	}
	if s.found || noData == nil {
		return nil
	}
	return fmt.Errorf("answer %s: %w", describe(asked), noData)
}

// lastKnown is what the history, which fails, had of q when it was last asked, nil where that is not known.
func (l *Ledger) lastKnown(q allocation.Query, cause error) []*allocation.Set {
	sets := l.cached(cacheKey(&q), nil, l.opts.Now())
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

// sawHistory notes that the history failed or did not.
func (l *Ledger) sawHistory(err error) {
	l.turned(&l.store.err, err, "The history fails: answers are computed without it", "The history works again")
}

// turned notes how something ended where it is known how it did before, and logs where that changes.
func (l *Ledger) turned(last *error, err error, fails, works string) {
	l.mu.Lock()
	was := *last
	*last = err
	l.mu.Unlock()
	switch {
	case err != nil && was == nil:
		level.Error(l.logger).Log("msg", fails, "err", err)
	case err == nil && was != nil:
		level.Info(l.logger).Log("msg", works)
	}
}
