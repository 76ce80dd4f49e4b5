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

// mostGrowth is the growth in per cent that makes the runtime's least heap, 4 MB times that, the floor.
const mostGrowth = 100 * heapFloor / (4 << 20)

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

// growth is by how many per cent of what lives the heap may grow, at least as many as told. The runtime lets it grow to 4 MB
// times that whatever lives: so where little does, it is no more than makes the floor of these.
func growth(live uint64, told int) int {
	grow := uint64(mostGrowth)
	if live > 0 {
		grow = min(grow, max(100*heapFloor/live, 100)-100)
	}
	return max(told, int(grow))
}
