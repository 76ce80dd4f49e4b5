package ledgertest

import (
	"context"
	"sync"
	"time"
)

// Clock is the clock of a ledger whose loop runs. Time passes only as far as a test lets it.
type Clock struct {
	mu         sync.Mutex
	moved      *sync.Cond
	now, until time.Time
	asleep     bool // the loop sleeps beyond until
}

// NewClock is a clock that stands at an instant.
func NewClock(now time.Time) *Clock {
	c := &Clock{now: now, until: now}
	c.moved = sync.NewCond(&c.mu)
	return c
}

// Now is ledger.Options.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep is ledger.Options.Sleep.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) bool {
	defer context.AfterFunc(ctx, c.moved.Broadcast)()
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := c.now.Add(d)
	for wake.After(c.until) && ctx.Err() == nil {
		c.now, c.asleep = c.until, true
		c.moved.Broadcast()
		c.moved.Wait()
	}
	c.asleep = false
	if wake.After(c.now) && ctx.Err() == nil {
		c.now = wake
	}
	return ctx.Err() == nil
}

// Pass lets time pass until t, and waits until the loop has nothing to do before it.
func (c *Clock) Pass(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until, c.asleep = t, false
	c.moved.Broadcast()
	for !c.asleep {
		c.moved.Wait()
	}
}
