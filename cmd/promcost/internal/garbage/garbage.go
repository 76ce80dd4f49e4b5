// Package garbage has the Go runtime collect garbage less often while a process computes with a small heap.
//
// The runtime collects garbage whenever as much of it has come up as there is live memory. An answer that keeps 20 to 35 MB is
// interrupted often then, though the process has memory to spare. Large heaps are collected as ever.
package garbage

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// usual is the runtime's own GOGC.
const usual = 100

// Collector sets GOGC, of which a process has one. It is safe for concurrent use.
type Collector struct {
	least int64 // bytes of garbage

	mu       sync.Mutex
	users    int
	watching bool // collected is called after the next collection
	percent  int  // GOGC
}

// New returns a Collector that lets at least so many bytes of garbage come up before they are collected. It does nothing if the environment
// has another GOGC than the usual one.
func New(least int64) *Collector {
	if read("/gc/gogc:percent") != usual {
		least = 0
	}
	return &Collector{least: least, percent: usual}
}

// Use has garbage collected less often until done was called, by all users.
func (c *Collector) Use() (done func()) {
	if c.least <= 0 {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	c.adjust()
	if !c.watching {
		c.watching = true
		c.watch()
	}
	return sync.OnceFunc(c.leave)
}

// leave ends a use.
func (c *Collector) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 {
		c.set(usual)
	}
}

// cycle is unreachable at once, so that its finalizer tells of the next collection.
type cycle struct{ of *Collector }

func (c *Collector) watch() {
	runtime.SetFinalizer(&cycle{c}, func(x *cycle) { x.of.collected() })
}

// collected adjusts GOGC to what the last collection has left.
func (c *Collector) collected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watching = c.users > 0; c.watching {
		c.adjust()
		c.watch()
	}
}

// adjust sets GOGC so that the least garbage may come up beside the memory that is live. c.mu is held.
func (c *Collector) adjust() {
	live := max(1, read("/gc/heap/live:bytes"))
	c.set(max(usual, int(uint64(c.least)*usual/live)))
}

// set sets GOGC if it is another now: it stops all goroutines for a moment. c.mu is held.
func (c *Collector) set(percent int) {
	if c.percent != percent {
		c.percent = percent
		debug.SetGCPercent(percent)
	}
}

// read reads a metric of the runtime.
func read(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
