// Package hugepages has the kernel back a part of the Go heap with huge pages while the process computes.
//
// A process that has just started touches most of its memory for the first time in its first large answer. Each page of 4 kB is a
// fault, which takes up to 10 µs in a virtual machine: a tenth of the processor time of that answer. A huge page of 2 MB is one.
// Kernels whose transparent_hugepage is "madvise" give huge pages to those that ask.
//
// Nothing asks while the process is at rest: the kernel would join pages into huge ones again after the Go runtime gave them back.
package hugepages

import (
	"sync"
	"time"
)

// Rest is how long the heap goes on asking for huge pages after its last use: until then answers mostly use the same memory.
const Rest = time.Minute

// Heap is a part of the heap. It is safe for concurrent use.
type Heap struct {
	from, size uintptr // no pointer: the memory belongs to the runtime

	mu    sync.Mutex
	users int
	asks  bool
	ends  *time.Timer // ends asking; nil before the first use has ended
}

// Use has the heap ask for huge pages until Rest after done was called, by all users.
func (h *Heap) Use() (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users++; h.ends != nil {
		h.ends.Stop()
	}
	h.ask(true)
	return sync.OnceFunc(h.leave)
}

// leave ends a use.
func (h *Heap) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users--; h.users == 0 {
		h.ends = time.AfterFunc(Rest, h.rest)
	}
}

// rest ends asking unless there are users again.
func (h *Heap) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == 0 {
		h.ask(false)
	}
}

// ask tells the kernel, if it was told otherwise before. h.mu is held.
func (h *Heap) ask(asks bool) {
	if h.asks != asks {
		h.asks = asks
		h.advise(asks)
	}
}
