package costseries

import (
	"context"
	"errors"
	"time"

	"github.com/promcost/promcost/allocation"
)

// counter adds hours up, oldest first, as the ledger does. So its sums are those of the ledger to the last bit.
type counter struct {
	*loader
	since  int64 // samples before are not wanted
	month  time.Time
	months int       // that have begun
	sums   []float64 // by series
	in     []int     // by series: the month that the sum is of
	active []int32   // the series that have a sum in this month, in the order in which they came
}

// hour adds an hour. Where there is no data, counters keep their value. Where the hour cannot be read, they end until the next
// month, because they would be too low.
func (c *counter) hour(ctx context.Context, set *allocation.Set, err error) error {
	if month := c.loader.month(set.Window.End.Add(-time.Millisecond)); !month.Equal(c.month) {
		c.month, c.active = month, c.active[:0]
		c.months++
	}
	if err != nil && !errors.Is(err, allocation.ErrNoData) {
		c.resume = allocation.Month.Round(allocation.Window{Start: c.month, End: c.month.Add(time.Millisecond)}, c.opts.Zone).End
		return nil
	}
	if err := c.emit(ctx, set, c.add); err != nil {
		return err
	}
	at := c.shown(set)
	if at < c.since || len(c.active) == 0 && len(c.live) == 0 {
		return c.drawAhead(ctx)
	}
	c.clock = append(c.clock, at)
	for _, i := range c.active {
		c.put(i, c.sums[i])
	}
	c.markEnds()
	return c.drawAhead(ctx)
}

// add adds a value of an hour to the sum of a series.
func (c *counter) add(i int32, v float64) {
	for int(i) >= len(c.sums) {
		c.sums, c.in = append(c.sums, 0), append(c.in, 0)
	}
	if c.in[i] != c.months {
		c.in[i], c.sums[i] = c.months, 0
		c.active = append(c.active, i)
	}
	c.sums[i] += v
}
