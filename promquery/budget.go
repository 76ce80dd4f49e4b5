package promquery

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/timeline"
)

// checkEvery is the least number of series between two checks of memory. A check takes time in proportion to the containers, so
// there is one each time the series have grown by half, and fewer as long as little is held.
const checkEvery = 1000

// gathering watches the memory of a computation while it reads.
type gathering struct {
	on     bool
	series int64
	next   int64 // the count of series at the next check
}

// watched wraps workers: they fail once the builder holds too much. They are for one worker.
func (c *computation) watched(b *build.Builder, workers Workers) Workers {
	g := &c.gathering
	if !g.on {
		return workers
	}
	give := workers.Yield
	workers.Yield = func(worker, i int, key []Symbol, p *timeline.Points) error {
		if err := give(worker, i, key, p); err != nil {
			return err
		}
		g.series++
		if g.series < g.next {
			return nil
		}
		more := g.series / 2
		if most := c.account.Most(); c.held < most/16 || most == 0 {
			more = 7 * g.series
		}
		g.next = g.series + max(checkEvery, more)
		return c.checkMemory(b)
	}
	return workers
}

// remedy says how a computation becomes smaller.
const remedy = "ask for a longer step, accumulate or a shorter window"

// checkMemory draws the memory that the computation needs by now.
func (c *computation) checkMemory(b *build.Builder) error {
	return c.hold(b.Memory())
}

// hold changes the memory that the computation has drawn to so many bytes. To draw less never fails.
func (c *computation) hold(bytes int64) error {
	more := bytes - c.held
	if more > 0 && c.window != nil && IsBackground(c.window.ctx) {
		if most := c.account.Most() / backgroundShare; most > 0 && c.account.Held()+more > most {
			return fmt.Errorf("%w: hours that nobody waits for may take %s of memory together", allocation.ErrBusy, memory.Text(most))
		}
	}
	if more < 0 {
		c.account.Return(-more)
	} else if err := c.account.Draw(more); err != nil {
		return err
	}
	c.held = bytes
	return nil
}

// backgroundShare is the divisor of the memory for a batch of hours that nobody waits for. A batch shrinks so that requests that
// somebody waits for have room.
const backgroundShare = 2

// release returns the computation's memory.
func (c *computation) release() { _ = c.hold(0) }
