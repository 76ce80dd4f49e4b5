package promquery

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/timeline"
)

const (
	// foundMemory is what a series of the selector being read takes that was looked up in blocks.
	foundMemory = 200
	// checkEvery is how many series are gathered between two looks at the memory, at least; a look takes as long as there
	// are containers, so there is one each time there are a quarter more series.
	checkEvery = 1000
)

// gathering watches what a computation holds while it gathers.
type gathering struct {
	on     bool
	series int64
	next   int64 // when to look again
	most   int64 // series of one selector
}

// watched are lanes that fail once what the builder holds is too much; they give to one lane.
func (c *computation) watched(b *allocation.Builder, lanes Lanes, selectors int) Lanes {
	g := &c.gathering
	if !g.on {
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

// remedy says how a computation becomes smaller.
const remedy = "ask for a longer step, accumulate or a shorter window"

// checkMemory draws what the computation needs by now.
func (c *computation) checkMemory(b *allocation.Builder) error {
	return c.hold(b.Memory() + foundMemory*c.gathering.most)
}

// hold changes what the computation has drawn to so many bytes. Less is always granted.
func (c *computation) hold(bytes int64) error {
	more := bytes - c.held
	if more > 0 && c.member != nil && IsBackground(c.member.ctx) {
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
