package costseries

import (
	"errors"
	"time"

	"github.com/promcost/promcost/allocation"
)

// counter adds hours up, one after the other, in the order that the ledger adds them: so the sums are the same to the last
// bit. Series are found in the loader by key; where they are summed, several have one.
type counter struct {
	*loader
	month  time.Time
	counts map[string]int // into sums
	sums   []float64
	series []int32 // of sums
	broken bool    // an hour of the month cannot be had
}

// hour adds an hour. Where the source has nothing of it, counters stay what they are; where it cannot be had, they end until
// the next month, for they would be too low.
func (c *counter) hour(set *allocation.Set, err error) error {
	if month := c.loader.month(set.Window.End.Add(-time.Millisecond)); !month.Equal(c.month) {
		c.month, c.broken = month, false
		c.counts, c.sums, c.series = map[string]int{}, nil, nil
	}
	c.broken = c.broken || err != nil && !errors.Is(err, allocation.ErrNoData)
	if c.broken {
		return nil
	}
	c.emit(set, c.add)
	at := c.shown(set)
	if at < c.since || len(c.sums) == 0 && len(c.live) == 0 {
		return c.bound(0)
	}
	now := len(c.clock)
	c.clock = append(c.clock, at)
	for i, sum := range c.sums {
		c.put(c.series[i], now, sum)
	}
	c.end(now)
	return c.bound(now)
}

// add adds what a series has in an hour.
func (c *counter) add(s *selection, values []string, v float64) {
	i := c.find(s, values)
	if i < 0 {
		return
	}
	c.keyOf(s, values)
	if n, ok := c.counts[string(c.key)]; ok {
		c.sums[n] += v
		return
	}
	c.counts[string(c.key)] = len(c.sums)
	c.sums, c.series = append(c.sums, v), append(c.series, i)
}
