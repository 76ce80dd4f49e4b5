package costseries

import (
	"context"
	"errors"
	"time"

	"github.com/promcost/promcost/allocation"
)

// counter adds hours up, one after the other, in the order that the ledger adds them: so the sums are the same to the last
// bit.
type counter struct {
	*loader
	since  int64 // samples are from then on
	month  time.Time
	months int       // that were begun
	sums   []float64 // by series
	in     []int     // the month that a sum is of, by series
	order  []int32   // the series of the month
}

// hour adds an hour. Where the source has nothing of it, counters stay what they are; where it cannot be had, they end until
// the next month, for they would be too low.
func (c *counter) hour(ctx context.Context, set *allocation.Set, err error) error {
	if month := c.loader.month(set.Window.End.Add(-time.Millisecond)); !month.Equal(c.month) {
		c.month, c.order = month, c.order[:0]
		c.months++
	}
	if err != nil && !errors.Is(err, allocation.ErrNoData) {
		c.again = allocation.Month.Round(allocation.Window{Start: c.month, End: c.month.Add(time.Millisecond)}, c.opts.Zone).End
		return nil
	}
	if err := c.emit(ctx, set, c.add); err != nil {
		return err
	}
	at := c.shown(set)
	if at < c.since || len(c.order) == 0 && len(c.live) == 0 {
		return c.bound(ctx)
	}
	c.clock = append(c.clock, at)
	for _, i := range c.order {
		c.put(i, c.sums[i])
	}
	c.end()
	return c.bound(ctx)
}

// add adds what a series has in an hour.
func (c *counter) add(i int32, v float64) {
	for int(i) >= len(c.sums) {
		c.sums, c.in = append(c.sums, 0), append(c.in, 0)
	}
	if c.in[i] != c.months {
		c.in[i], c.sums[i] = c.months, 0
		c.order = append(c.order, i)
	}
	c.sums[i] += v
}
