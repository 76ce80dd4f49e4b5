package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
)

// maxCountedAtOnce is how many hours are read at once to be counted: those of a day.
const maxCountedAtOnce = 25

// maxDamaged bounds how many damaged sets one count may meet.
const maxDamaged = 100

// counters are the costs of the month.
type counters struct {
	*records

	mu         sync.Mutex
	counting   *metering.Accrued // as far as hours are there
	shown      *metering.Accrued // what is shown of it, nil until it is complete
	notCounted notCounted
}

// Accrued are the costs of the month up to the last closed hour that could be counted: what counters show. It is nil until
// all closed hours of the month are kept, except hours for which the source has no data. It never falls within a month:
// hours are counted in order and once. If an hour is computed again, the history also keeps it as it was counted.
func (c *counters) Accrued() *metering.Accrued {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown
}

// AccruedAt are the costs of a month, as counters showed them at t. The month is that of the last hour that was closed at t, its grace
// period included. So in the first hour of a month, counters still show the month before. Counting ends at the first hour that is not kept.
func (c *counters) AccruedAt(ctx context.Context, t time.Time) (*metering.Accrued, error) {
	if c.archive == nil {
		return nil, fmt.Errorf("%w: there is no history to count costs in", allocation.ErrNoData)
	}
	end := c.clock.ClosedAt(t)
	a, err := c.countReadable(ctx, metering.NewAccrued(c.monthOf(end), c.opts.Metering()), end, false)
	if err != nil {
		return nil, fmt.Errorf("count the costs of the month: %w", err)
	}
	return a, nil
}

// update counts the hours that have closed since it last did, and reports whether what is shown changed. latestEnd is the end of the
// latest hour.
func (c *counters) update(ctx context.Context, latestEnd time.Time) (changed bool, err error) {
	end := c.clock.ClosedAt(c.clock.Now())
	month := c.monthOf(end)
	c.mu.Lock()
	a := c.counting
	c.mu.Unlock()
	meter := c.opts.Metering()
	if a != nil && a.Metering() != meter {
		a = nil
	}
	if a != nil && month.Before(a.Window.Start) {
		return false, nil // the clock was set back
	}
	if a == nil || !a.Window.Start.Equal(month) {
		a = metering.NewAccrued(month, meter)
	}
	a, err = c.countReadable(ctx, a, end, c.stores)
	if err != nil {
		return false, fmt.Errorf("count the costs of the month: %w", err)
	}
	return c.show(a, end, latestEnd), c.findNotCounted(ctx, a, end)
}

// show records the counted costs, and shows them once they reach the last closed hour. It reports whether what is shown changed.
func (c *counters) show(a *metering.Accrued, end, latestEnd time.Time) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counting = a
	if c.shown != nil && c.shown.Metering() == a.Metering() || a.Window.End.Equal(end) || !latestEnd.IsZero() && !a.Window.End.Before(latestEnd) {
		changed = c.shown != a
		c.shown = a
	}
	return changed
}

// countReadable is count, but takes damaged hours for hours that are not computed yet. An error would keep the loop from computing
// them again.
func (c *counters) countReadable(ctx context.Context, a *metering.Accrued, end time.Time, keepEmpty bool) (*metering.Accrued, error) {
	for try := 0; ; try++ {
		sum, err := c.count(ctx, a, end, keepEmpty)
		if _, damaged := errors.AsType[*ledger.DamagedError](err); !damaged || try >= maxDamaged {
			return sum, err
		}
	}
}

// count adds hours to a up to end, or up to the first hour that is neither stored nor known to be without data. With
// keepEmpty, time without data is stored as such, so that it stays out of the counters if data come later.
func (c *counters) count(ctx context.Context, a *metering.Accrued, end time.Time, keepEmpty bool) (*metering.Accrued, error) {
	if !end.After(a.Window.End) {
		return a, nil
	}
	hours, err := c.archive.List(ctx, ledger.Hours, allocation.Window{Start: a.Window.End, End: end})
	if err != nil {
		return nil, err
	}
	counted, err := c.archive.List(ctx, ledger.Counted, allocation.Window{Start: a.Window.Start, End: end})
	if err != nil {
		return nil, err
	}
	for from := a.Window.End; from.Before(end); from = a.Window.End {
		rest := allocation.Window{Start: from, End: end}
		kept := countable(rest, hours, counted)
		switch h := c.clock.HourFrom(from); {
		case len(kept) > 0:
			sets, release, err := c.archive.Read(ctx, kept, a.Metering().Projection())
			if err != nil {
				return nil, c.archive.RecordDamage(err)
			}
			a = a.Add(sets...)
			release()
		case h.Duration() != time.Hour || !h.Start.Equal(from): // clocks were set by less than an hour: it is in no set
			a = a.Until(h.End)
		default:
			empty := c.emptyTime(rest, hours, counted)
			if empty.Duration() <= 0 || !keepEmpty {
				return a, nil
			}
			if err := c.archive.Write(ctx, allocation.NewSet(empty, allocation.NewDict()), ledger.Keep{Kind: ledger.Counted, Complete: true}); err != nil {
				return nil, err
			}
			a = a.Until(empty.End)
		}
	}
	return a, nil
}

// countable are the sets that are to be counted next, at most a day of them: as they were counted, else as they are.
func countable(w allocation.Window, hours, counted *ledger.Listing) (kept []ledger.Kept) {
	for at := w.Start; at.Before(w.End) && len(kept) < maxCountedAtOnce; {
		k := counted.Longest(at, w)
		if k == nil {
			if k = hours.Longest(at, w); k == nil || k.Window.Duration() != time.Hour {
				break
			}
		}
		kept = append(kept, *k)
		at = k.Window.End
	}
	return kept
}

// emptyTime is the time from w's start on that the source has nothing of, if something follows that is kept.
func (c *counters) emptyTime(w allocation.Window, hours, counted *ledger.Listing) allocation.Window {
	end := hours.After(w.Start, w)
	if t := counted.After(w.Start, w); t.Before(end) {
		end = t
	}
	if end.Equal(w.End) {
		return allocation.Window{}
	}
	for h := c.clock.HourFrom(w.Start); h.Start.Before(end); h = c.clock.HourFrom(h.End) {
		if h.Duration() == time.Hour && !c.isEmpty(h) {
			return allocation.Window{}
		}
	}
	return allocation.Window{Start: w.Start, End: end}
}
