package build

import (
	"cmp"

	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Worker takes usage and traffic of some of a Builder's nodes. One worker has all containers and disks of a node. So workers do not share
// what they write to, and sums do not depend on how goroutines run. Only one goroutine at a time may use a Worker.
type Worker struct {
	b         *Builder
	at        seen               // the series at hand
	cells     []timeline.Cell    // of it
	joiner    timeline.Joiner    // of them
	since     int64              // when its container started, if its first cell begins near that but not then; else 0
	charged   []timeline.Part    // scratch of integrate
	free      timeline.Intervals // scratch of cover
	moving    moving
	flows     []flow // the flows made last
	prices    map[pricedTraffic]*prices.Item
	unmatched int    // usage series of containers that never ran
	leaps     []leap // impossible increases of counters
}

// Workers returns n workers for usage and traffic, the same ones each time.
func (b *Builder) Workers(n int) []*Worker {
	for len(b.workers) < n {
		l := &Worker{b: b, prices: map[pricedTraffic]*prices.Item{}}
		l.moving.until = l.sameUntil
		b.workers = append(b.workers, l)
	}
	return b.workers[:n]
}

// worker is the worker that the builder itself uses.
func (b *Builder) worker() *Worker { return b.Workers(1)[0] }

// WorkerOf returns the index, among n workers, of the worker for a series of usage or traffic. It is n for a series of containers on
// several nodes, or of a container that does not exist yet. Add such series after all others and while no other worker is used: any worker
// may take them. Which series these are does not depend on n, because sums depend on the order.
func (b *Builder) WorkerOf(series signals.Series, key []signals.Symbol, n int) int {
	s := seen{key: key}
	switch {
	case len(key) < len(series.Signal.Key()):
		return 0 // Add will refuse it
	case series.Signal.IsTraffic():
		return b.workerOfPod(&s, n)
	case series.Signal == signals.NodeDiskUsed:
		return workerOfNode(b.nodesAt(&s), n)
	case series.Signal == signals.ClaimUsed:
		return 0 // there are few
	}
	of := s.pod()
	if c := b.pods.find(&of).container(key[4]); c != nil {
		return workerOn(c.node, n) // mostly
	}
	return b.workerOfInstances(key, n)
}

// workerOfInstances is the worker for a series of every container that its names may mean.
func (b *Builder) workerOfInstances(key []signals.Symbol, n int) int {
	s := seen{key: key}
	var first *container
	for c := range b.instances(&s) {
		if first = cmp.Or(first, c); c.node != first.node {
			return n
		}
	}
	if first == nil {
		return n
	}
	return workerOn(first.node, n)
}

// workerOfNode is the worker for a series of all nodes with a name.
func workerOfNode(named []*node, n int) int {
	if len(named) == 0 {
		return 0
	}
	return workerOn(named[0], n)
}

// workerOfPod is the worker for a series of a whole pod.
func (b *Builder) workerOfPod(s *seen, n int) int {
	of := s.pod()
	if p := b.pods.find(&of); p != nil {
		return workerOn(p.on, n)
	}
	pods := b.pods.byName[s.object()]
	if len(pods) == 0 {
		return 0
	}
	for _, p := range pods[1:] {
		if p.on != pods[0].on {
			return n
		}
	}
	return workerOn(pods[0].on, n)
}

// workerOn is the index, among n workers, of the worker for usage on a node.
func workerOn(on *node, n int) int {
	if on == nil {
		return 0 // one worker sums everything without a node
	}
	return on.index % n
}

// Add takes the points of a series of usage or traffic, as Builder.Add does.
func (l *Worker) Add(series signals.Series, key []signals.Symbol, p *timeline.Points) (err error) {
	if l.at, err = l.b.look(series, key, p); err != nil {
		return err
	}
	return workerAdders[series.Signal](l, &l.at)
}
