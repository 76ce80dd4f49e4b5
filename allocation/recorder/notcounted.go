package recorder

import (
	"context"
	"fmt"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
)

// notCounted are the closed hours of a month that counters do not include.
type notCounted struct {
	month  time.Time // when it began
	hours  int
	first  time.Time // when the first of them began
	shown  bool      // counters of the other hours exist
	warned time.Time // the month that was warned of
}

// hoursNotCounted returns how many hours of the month the counters do not include.
func (c *counters) hoursNotCounted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notCounted.hours
}

// findNotCounted finds the hours up to end that the counters do not include: hours counted as empty because the source had
// nothing, and hours that are not counted yet. Time before the first data does not matter.
func (c *counters) findNotCounted(ctx context.Context, a *metering.Accrued, end time.Time) error {
	shown := c.Accrued()
	now := notCounted{month: a.Window.Start, shown: shown != nil && shown.Window.Start.Equal(a.Window.Start)}
	first, err := c.oldestKept(ctx, allocation.Window{Start: a.Window.Start, End: end})
	if err != nil {
		return fmt.Errorf("find the hours that counters lack: %w", err)
	}
	add := func(from, to time.Time, empty bool) {
		for _, h := range c.clock.ClosedHours(allocation.Window{Start: from, End: to}) {
			if empty && h.Start.Before(first) || c.early(h, first) {
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
			counted, err := c.archive.All(ctx, ledger.Counted, allocation.Window{Start: a.Window.Start, End: reached})
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
	c.mu.Lock()
	defer c.mu.Unlock()
	now.warned = c.notCounted.warned
	c.notCounted = now
	return nil
}

// warnNotCounted warns of hours that counters do not include, once a month, after everything possible is computed and data
// have begun.
func (c *counters) warnNotCounted(begun bool) {
	c.mu.Lock()
	u := c.notCounted
	warn := u.hours > 0 && !u.warned.Equal(u.month) && begun
	if warn {
		c.notCounted.warned = u.month
	}
	c.mu.Unlock()
	if !warn {
		return
	}
	msg := "The counters of this month lack hours that the source has nothing of: their increases are right, their values are less than the month's costs"
	switch {
	case !c.stores && u.shown:
		msg = "The counters of this month lack hours that the history does not have: their increases are right, their values are less than the month's costs"
	case !u.shown:
		msg = "There are no counters of this month, for the history lacks hours of it: have a promcost serve that has a source keep this history"
	}
	level.Warn(c.logger).Log("msg", msg, "month", u.month.Format("2006-01"), "hours", u.hours, "first", u.first.UTC().Format(time.RFC3339))
}
