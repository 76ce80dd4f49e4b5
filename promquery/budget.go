package promquery

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

const (
	// processMemory is what a process takes that holds nothing, in bytes.
	processMemory = 10 << 20
	// foundMemory is what a series of the selector being read takes that was looked up in blocks.
	foundMemory = 200
	// checkEvery is how many series are gathered between two looks at the memory, at least; a look takes as long as there
	// are containers, so there is one each time there are a quarter more series.
	checkEvery = 1000
)

// gathering watches what a computation holds while it gathers.
type gathering struct {
	on       bool
	series   int64
	next     int64 // when to look again
	most     int64 // series of one selector
	reserved int64 // of Config.Held
}

// watched are lanes that fail once what the builder holds is too much; they give to one lane.
func (c *computation) watched(b *allocation.Builder, lanes Lanes, selectors int) Lanes {
	g := &c.gathering
	if !g.on || c.cfg.MaxMemory <= 0 {
		return lanes
	}
	of := make([]int64, selectors)
	give := lanes.Yield
	lanes.Yield = func(lane, i int, key []Symbol, p *timeline.Points) error {
		if err := give(lane, i, key, p); err != nil {
			return err
		}
		of[i]++
		g.series, g.most = g.series+1, max(g.most, of[i])
		if g.series < g.next {
			return nil
		}
		g.next = g.series + max(checkEvery, g.series/4)
		return c.checkMemory(b)
	}
	return lanes
}

// checkMemory refuses a computation that would take too much, by itself or with those that run beside it.
func (c *computation) checkMemory(b *allocation.Builder) error {
	most := c.cfg.MaxMemory
	if most <= 0 {
		return nil
	}
	need := b.Memory() + foundMemory*c.gathering.most
	others := c.cfg.Held.Add(need-c.gathering.reserved) - need
	c.gathering.reserved = need
	switch {
	case processMemory+need > most:
		return fmt.Errorf("%w: the computation would take about %s of memory, %s are allowed: ask for a longer step, accumulate or a shorter window, or raise --query.max-memory",
			allocation.ErrTooMuch, bytesText(processMemory+need), bytesText(most))
	case processMemory+need+others > c.share(most):
		return fmt.Errorf("%w: the computation would take about %s of memory, those that run beside it take %s, and %s are allowed in all: try again later, or raise --query.max-memory",
			allocation.ErrBusy, bytesText(need), bytesText(others), bytesText(most))
	}
	return nil
}

// backgroundShare is the part of the memory that several hours are computed in at once which nobody waits for: there are fewer
// of them at once rather than no room for those who do wait.
const backgroundShare = 2

// share is what of so much memory computations may take together for this one to go on.
func (c *computation) share(most int64) int64 {
	if c.member != nil && IsBackground(c.member.ctx) {
		return most / backgroundShare
	}
	return most
}

// release gives back what the computation holds.
func (c *computation) release() {
	if c.gathering.reserved != 0 {
		c.cfg.Held.Add(-c.gathering.reserved)
		c.gathering.reserved = 0
	}
}

// bytesText writes a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
