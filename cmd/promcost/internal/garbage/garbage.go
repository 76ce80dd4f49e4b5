// Package garbage has the Go runtime collect garbage less often while a process computes with a small heap, and more often in a large one.
//
// The runtime collects garbage whenever as much of it was allocated as there is live memory. An answer that keeps 20 to 35 MB is
// interrupted often then, though the process has memory to spare, and one that keeps 200 MB takes twice that. The small heap of a process
// at rest is collected as ever.
package garbage

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Values of GOGC: the runtime's own, and the least one, of heaps with much live memory.
const (
	usual   = 100
	ofLarge = 50
)

// atLeast is how much garbage there is at least when it is collected, while something is computed: an answer about 3,000 pods is hardly
// interrupted by that. A heap with as much live memory is large.
const atLeast = 96 << 20

// leastLive is the least that counts as live memory. The runtime does not collect a heap of less than 4 MB times GOGC/100, and says that
// nothing is live before its first collection.
const leastLive = 4 << 20

// Collector sets GOGC, of which a process has one. It is safe for concurrent use.
type Collector struct {
	least int64 // bytes of garbage; 0 leaves GOGC alone

	mu    sync.Mutex
	users int
}

// New returns a Collector that allows 96 MB of garbage before it is collected in use, or limit if that is less, and more if goroutines have large
// stacks. It does nothing if limit is 0, or if GOGC is another value than the usual one now, as the environment may say.
func New(limit int64) *Collector {
	least := min(atLeast, limit)
	if read("/gc/gogc:percent") != usual {
		least = 0
	}
	c := &Collector{least: least}
	if c.least > 0 {
		c.watch()
	}
	return c
}

// Use has garbage of small heaps collected less often until done was called, by all users.
func (c *Collector) Use() (done func()) {
	if c.least <= 0 {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	c.adjust()
	return sync.OnceFunc(c.leave)
}

// leave ends a use.
func (c *Collector) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users--
	c.adjust()
}

// cycle is unreachable at once, so that its finalizer tells of the next collection.
type cycle struct{ of *Collector }

// watch has collected called after the next collection, if that has not begun yet. So New and collected call it, not Use.
func (c *Collector) watch() {
	runtime.SetFinalizer(&cycle{c}, func(x *cycle) { x.of.collected() })
}

// collected adjusts GOGC to what the last collection has left.
func (c *Collector) collected() {
	c.watch()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adjust()
}

// adjust sets GOGC to what allows the least garbage beside the live memory, but to no less than the usual one, or half of that if there is much
// live memory; at rest to no more than the usual one. c.mu is held.
func (c *Collector) adjust() {
	live, floor := max(leastLive, read("/gc/heap/live:bytes")), usual
	if live >= atLeast {
		floor = ofLarge
	}
	percent := max(floor, int(uint64(c.least)*usual/live))
	if c.users == 0 {
		percent = min(percent, usual)
	}
	if read("/gc/gogc:percent") != uint64(percent) {
		debug.SetGCPercent(percent)
	}
}

// read reads a metric of the runtime.
func read(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
