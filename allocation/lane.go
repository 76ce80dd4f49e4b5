package allocation

import "github.com/promcost/promcost/allocation/timeline"

// Lane takes usage of some of a Builder's nodes: a node's containers are one lane's, so that lanes share nothing they write
// to, and sums come out the same however the goroutines run. A Lane is used by one goroutine at a time.
type Lane struct {
	b         *Builder
	at        seen            // the series at hand
	cells     []timeline.Cell // of it
	charged   []charge        // scratch of integrate
	unmatched int             // usage series of containers that never ran
}

// Lanes are n lanes for usage, the same ones each time.
func (b *Builder) Lanes(n int) []*Lane {
	for len(b.lanes) < n {
		b.lanes = append(b.lanes, &Lane{b: b})
	}
	return b.lanes[:n]
}

// lane is the one that the builder itself uses.
func (b *Builder) lane() *Lane { return b.Lanes(1)[0] }

// LaneOf is the index, among n lanes, of the one that a usage series belongs to. It is n for a series that several lanes
// have to do with, or of a container that is yet to be made: it may go to any lane, but while no other is used.
func (b *Builder) LaneOf(key []Symbol, n int) int {
	if len(key) < len(containerLabels) {
		return 0 // Add will refuse it
	}
	s := seen{key: key}
	if c, ok := b.containers[containerKey{s.pod(), key[4]}]; ok {
		return c.lane(n)
	}
	candidates := b.names[containerName{s.object(), key[4]}]
	if len(candidates) == 0 {
		return n
	}
	at := candidates[0].lane(n)
	for _, c := range candidates[1:] {
		if c.lane(n) != at {
			return n
		}
	}
	return at
}

// lane is the index, among n lanes, of the one that the container's usage belongs to.
func (c *container) lane(n int) int {
	if c.node == nil {
		return 0 // what is summed without a node is summed by one lane
	}
	return c.node.index % n
}

// Add takes the points of a usage series, as Builder.Add does.
func (l *Lane) Add(series Series, key []Symbol, p *timeline.Points) (err error) {
	if l.at, err = l.b.look(series, key, p); err != nil {
		return err
	}
	return l.addUsage(&l.at)
}

func (b *Builder) addUsage(s *seen) error { return b.lane().addUsage(s) }
