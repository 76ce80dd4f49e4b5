package promquery

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/timeline"
)

// checkEvery is how many series are gathered between two looks at the memory, at least; a look takes as long as there
// are containers, so there is one each time there are a quarter more series.
const checkEvery = 1000

// gathering watches what a computation holds while it gathers.
type gathering struct {
	on     bool
	series int64
	next   int64 // when to look again
}

// watched are workers that fail once what the builder holds is too much; they give to one worker.
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
		g.next = g.series + max(checkEvery, g.series/4)
		return c.checkMemory(b)
	}
	return workers
}

// remedy says how a computation becomes smaller.
const remedy = "ask for a longer step, accumulate or a shorter window"

// checkMemory draws what the computation needs by now.
func (c *computation) checkMemory(b *build.Builder) error {
	return c.hold(b.Memory())
}

// hold changes what the computation has drawn to so many bytes. Less is always granted.
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

// backgroundShare is the part of the memory that several hours are computed in at once which nobody waits for: there are fewer
// of them at once rather than no room for those who do wait.
const backgroundShare = 2

// release gives back what the computation holds.
func (c *computation) release() { _ = c.hold(0) }
