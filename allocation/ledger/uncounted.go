package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
)

// uncounted are the closed hours of a month that counters lack.
type uncounted struct {
	month time.Time // when it began
	hours int
	first time.Time // when the first of them began
	shown bool      // there are counters of the other hours
	told  time.Time // the month that was warned of
}

// noteUncounted finds the hours up to end that a, or what is shown of it, does not have: those that were counted as
// nothing, for the source had nothing of them, and those that it has not come to. Time before the first data is none.
func (l *Ledger) noteUncounted(ctx context.Context, a *allocation.Accrued, end time.Time) error {
	shown := l.Accrued()
	now := uncounted{month: a.Window.Start, shown: shown != nil && shown.Window.Start.Equal(a.Window.Start)}
	first, err := l.oldestKept(ctx, allocation.Window{Start: a.Window.Start, End: end})
	if err != nil {
		return fmt.Errorf("find the hours that counters lack: %w", err)
	}
	add := func(from, to time.Time, empty bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, h := range l.ClosedHours(allocation.Window{Start: from, End: to}) {
			if empty && h.Start.Before(first) || l.early(h, first) {
				continue
			}
			if now.hours++; now.hours == 1 {
				now.first = h.Start
			}
		}
	}
	reached := a.Window.Start
	if now.shown {
		reached = a.Window.End
		if a.Window.Start.Before(reached) {
			counted, err := l.history.List(ctx, Counted, allocation.Window{Start: a.Window.Start, End: reached})
			if err != nil {
				return fmt.Errorf("find the hours that counters lack: %w", err)
			}
			for i := range counted {
				if k := &counted[i]; k.Rows == 0 && k.Bytes == 0 { // hours that had something have files
					add(k.Window.Start, k.Window.End, true)
				}
			}
		}
	}
	add(reached, end, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	now.told = l.uncounted.told
	l.uncounted = now
	return nil
}

// tellUncounted warns of the hours that counters lack, once a month: when all is computed that can be.
func (l *Ledger) tellUncounted() {
	l.mu.Lock()
	u := l.uncounted
	started := l.hour.set != nil || l.opts.ReadOnly // before the first data there is nothing to count
	tell := u.hours > 0 && !u.told.Equal(u.month) && started
	if tell {
		l.uncounted.told = u.month
	}
	l.mu.Unlock()
	if !tell {
		return
	}
	msg := "The counters of this month lack hours that the source has nothing of: their increases are right, their values are less than the month's costs"
	switch {
	case l.opts.ReadOnly && u.shown:
		msg = "The counters of this month lack hours that the history does not have: their increases are right, their values are less than the month's costs"
	case !u.shown:
		msg = "There are no counters of this month, for the history lacks hours of it: have a promcost serve that has a source keep this history"
	}
	level.Warn(l.logger).Log("msg", msg, "month", u.month.Format("2006-01"), "hours", u.hours, "first", u.first.UTC().Format(time.RFC3339))
}
