package main

import (
	"context"
	"errors"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// wholeDays computes hours with the whole of their day, whichever of them are asked for: what is known at the borders of a
// computation differs a little from what is known within. So a day that was interrupted, or is split otherwise among
// processes, comes out the same to the last bit once it is over.
type wholeDays struct {
	computer ledger.Computer
	zone     *time.Location
	closed   func() time.Time // until when hours are closed
}

// Compute implements ledger.Computer.
func (c *wholeDays) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	day := allocation.Day.Round(allocation.Window{Start: q.Window.Start, End: q.Window.Start.Add(1)}, c.zone)
	for t := c.closed(); day.End.After(t) && day.End.After(q.Window.End); {
		day.End = day.End.Add(-time.Hour)
	}
	if q.Step != time.Hour || day.Start.After(q.Window.Start) || day.End.Before(q.Window.End) {
		return c.computer.Compute(ctx, q)
	}
	whole := q
	whole.Window = day
	sets, err := c.computer.Compute(ctx, whole)
	if errors.Is(err, allocation.ErrTooMuch) {
		return c.computer.Compute(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	for i, s := range sets {
		n := int(q.Window.Duration() / q.Step)
		if s.Window.Start.Equal(q.Window.Start) && i+n <= len(sets) && sets[i+n-1].Window.End.Equal(q.Window.End) {
			return sets[i : i+n], nil
		}
	}
	return c.computer.Compute(ctx, q) // clocks were set by less than an hour on that day
}
