package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// beginTimeout bounds the question when the data of the source begin: the loop does without the answer.
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
	ask, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	begin, err := l.opts.Begin(ask, l.horizon())
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
