package promquery

import (
	"fmt"
	"sync"
	"sync/atomic"

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
	adding sync.RWMutex // held for writing while the builder is looked at
	series atomic.Int64
	next   atomic.Int64 // the count of series at the next check
}

// watched wraps workers: they fail once the builder holds too much.
func (c *computation) watched(b *build.Builder, workers Workers) Workers {
	g := &c.gathering
	if !g.on {
		return workers
	}
	give := workers.Yield
	workers.Yield = func(worker, i int, key []Symbol, p *timeline.Points) error {
		g.adding.RLock()
		err := give(worker, i, key, p)
		g.adding.RUnlock()
		if n := g.series.Add(1); err != nil || n < g.next.Load() {
			return err
		}
		g.adding.Lock()
		defer g.adding.Unlock()
		n := g.series.Load()
		if n < g.next.Load() {
			return nil // another worker has just checked
		}
		more := n / 2
		if most := c.account.Most(); c.held < most/16 || most == 0 {
			more = 7 * n
		}
		g.next.Store(n + max(checkEvery, more))
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
