package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// beginTimeout bounds the question when the data of the source begin: all do without the answer.
const beginTimeout = 30 * time.Second

// learnFirst finds out, where that is not known yet, what the first data are that the history and the source have.
func (l *Ledger) learnFirst(ctx context.Context) error {
	l.mu.Lock()
	measured, known := l.store.measured, !l.begin.IsZero()
	l.mu.Unlock()
	if !measured {
		if err := l.measure(ctx); err != nil {
			return err
		}
	}
	if known || l.opts.ReadOnly {
		return nil
	}
	begin, err := l.askBegin(ctx, l.horizon())
	if err != nil {
		return nil //nolint:nilerr // what the source fails in is told of by those who cannot do without; it is asked again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin = begin
	return nil
}

// oldestKept is when the first set begins that is kept, the end of w where there is none within w or before.
func (l *Ledger) oldestKept(ctx context.Context, w allocation.Window) (time.Time, error) {
	l.mu.Lock()
	first := l.store.oldest
	l.mu.Unlock()
	if !first.IsZero() && first.Before(w.Start) {
		return first, nil
	}
	kept, err := l.usable(ctx, Hours, w, &allocation.Query{Stored: true})
	if err != nil {
		return time.Time{}, fmt.Errorf("find the first hour: %w", err)
	}
	if len(kept.sets) > 0 {
		return kept.sets[0].Window.Start, nil
	}
	return w.End, nil
}

// early reports whether an hour is before the first data: before what is kept, and the source has nothing of it, by what it says of
// its beginning or for it was asked. mu is held.
func (l *Ledger) early(h allocation.Window, firstKept time.Time) bool {
	_, asked := l.barren[h.Start.Unix()]
	return h.Start.Before(firstKept) && (asked || !h.End.After(l.begin))
}

// longLack is how many pieces of a query are to be computed at least for the source to be asked when its data begin: it takes as
// long as some of them.
const longLack = 31 * 24

// early reports whether w is before the data of the source, which are asked for once, where much is to be computed: decades without
// data need not be computed hour by hour.
func (a *assembly) early(ctx context.Context, w allocation.Window) bool {
	if a.begin == nil {
		a.begin = &time.Time{}
		lacking := 0
		for _, pieces := range a.plan.pieces {
			for _, x := range pieces {
				if x.kept == nil {
					lacking++
				}
			}
		}
		if lacking >= longLack && !a.ledger.opts.ReadOnly {
			if begin, err := a.ledger.askBegin(ctx, a.query.Window); err == nil {
				a.begin = &begin
			}
		}
	}
	return !w.End.After(*a.begin)
}

// askBegin asks the source when its data begin within w.
func (l *Ledger) askBegin(ctx context.Context, w allocation.Window) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return l.opts.Begin(ctx, w)
}
