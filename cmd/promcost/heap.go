package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is the size of the heap in bytes below which garbage stays: a server that rests has a quarter of it in use, and
// would collect three or four times on the way there while it reads what the first question is about.
const heapFloor = 40 << 20

// keepFloor has the process collect garbage no earlier than at heapFloor, and above it as GOGC says, until ctx ends. What the
// runtime is told is how much the heap may grow before the next collection, so it is told anew after each.
func keepFloor(ctx context.Context) {
	told := debug.SetGCPercent(100)
	defer debug.SetGCPercent(told)
	if told < 0 { // GOGC=off
		return
	}
	live, collected := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, make(chan struct{}, 1)
	for {
		metrics.Read(live)
		debug.SetGCPercent(growth(live[0].Value.Uint64(), told))
		runtime.AddCleanup(&struct{ marker *byte }{}, func(collected chan<- struct{}) { collected <- struct{}{} }, collected)
		select {
		case <-collected:
		case <-ctx.Done():
			return
		}
	}
}

// growth is by how many per cent of what lives the heap may grow, at least as many as told. Before the first collection, when
// nothing is known to live, the runtime lets the heap grow to 4 MB times that: so it is no more than for a quarter of the floor.
func growth(live uint64, told int) int {
	return max(told, int(100*heapFloor/max(live, heapFloor/4))-100)
}
