package allocation

import "github.com/promcost/promcost/allocation/timeline"

// Lane takes usage and traffic of some of a Builder's nodes: a node's containers are one lane's, so that lanes share nothing they write
// to, and sums come out the same however the goroutines run. A Lane is used by one goroutine at a time.
type Lane struct {
	b         *Builder
	at        seen            // the series at hand
	cells     []timeline.Cell // of it
	charged   []charge        // scratch of integrate
	unmatched int             // usage series of containers that never ran
}

// Lanes are n lanes for usage and traffic, the same ones each time.
func (b *Builder) Lanes(n int) []*Lane {
	for len(b.lanes) < n {
		b.lanes = append(b.lanes, &Lane{b: b})
	}
	return b.lanes[:n]
}

// lane is the one that the builder itself uses.
func (b *Builder) lane() *Lane { return b.Lanes(1)[0] }

// LaneOf is the index, among n lanes, of the one that a series of usage or traffic belongs to. It is n for a series that several lanes
// have to do with, or of a container that is yet to be made: it may go to any lane, but while no other is used.
func (b *Builder) LaneOf(series Series, key []Symbol, n int) int {
	s := seen{key: key}
	switch {
	case len(key) < len(series.Signal.Key()):
		return 0 // Add will refuse it
	case series.Signal.isTraffic():
		return b.laneOfPod(&s, n)
	}
	if c := b.pods[s.pod()].container(key[4]); c != nil {
		return c.lane(n)
	}
	at := -1
	for c := range b.named(s.object(), key[4]) {
		if lane := c.lane(n); at < 0 || at == lane {
			at = lane
			continue
		}
		return n
	}
	if at < 0 {
		return n
	}
	return at
}

// laneOfPod is the lane of a series that is of a pod as a whole.
func (b *Builder) laneOfPod(s *seen, n int) int {
	if p, ok := b.pods[s.pod()]; ok {
		return p.lane(n)
	}
	pods := b.podNames[s.object()]
	if len(pods) == 0 {
		return 0
	}
	at := pods[0].lane(n)
	for _, p := range pods[1:] {
		if p.lane(n) != at {
			return n
		}
	}
	return at
}

// lane is the lane of the pod's containers.
func (p *pod) lane(n int) int {
	if len(p.containers) == 0 {
		return 0
	}
	return p.containers[0].lane(n)
}

// lane is the index, among n lanes, of the one that the container's usage belongs to.
func (c *container) lane(n int) int {
	if c.node == nil {
		return 0 // what is summed without a node is summed by one lane
	}
	return c.node.index % n
}

// Add takes the points of a series of usage or traffic, as Builder.Add does.
func (l *Lane) Add(series Series, key []Symbol, p *timeline.Points) (err error) {
	if l.at, err = l.b.look(series, key, p); err != nil {
		return err
	}
	switch series.Signal {
	case PodTransmitted:
		return l.addTransmitted(&l.at)
	case PodReceived:
		return l.addReceived(&l.at)
	case PodEgress:
		return l.addEgress(&l.at)
	default:
		return l.addUsage(&l.at)
	}
}
