package charge

import (
	"math"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// filled is how full a volume or a file system is in each set. Samples are integrated as they come and are not kept.
type filled struct {
	counted timeline.Intervals
	of      timeline.Numbered[timeline.Level] // bytes, by set
}

// addUse integrates a gauge within a life. Several targets may report the same thing: time counts once.
func (l *integrator) addUse(used *filled, s *observe.Incoming, life timeline.Intervals) {
	l.joiner.Keep, l.joiner.Until = true, nil
	l.cells = l.joiner.Gauge(l.ch.Sampling, l.cells[:0], s.Points)
	timeline.EachFresh(&used.counted, l.cells, func(x timeline.Cell) {
		for _, alive := range life {
			l.ch.EachPart(max(x.From, alive.From), min(x.To, alive.To), func(set int32, from, to int64) {
				l.joiner.Within(&x, from, to, used.of.At(int(set)).Add)
			})
		}
	})
}

// usedIn sums the use of several parts in a set. most is the highest use of any one part. Both are NaN if no use of any part is known.
func usedIn(set int, parts []*filled) (byteHours, most float64) {
	byteHours, most = math.NaN(), math.NaN()
	for _, x := range parts {
		use := x.of.Get(set)
		if use.Seconds == 0 {
			continue
		}
		if byteHours != byteHours {
			byteHours, most = 0, 0
		}
		byteHours += use.Sum / 3600
		most = max(most, use.Most)
	}
	return byteHours, most
}

// addNodeDiskUsed integrates how full a file system on a node's own disk is, while the node lives. Nodes that had the same name one after
// the other are kept separate.
func (l *integrator) addNodeDiskUsed(s *observe.Incoming) error {
	for _, node := range l.ch.NodesAt(s) {
		n := l.ch.nodeUse(node)
		if n.disksUsed == nil {
			n.disksUsed = map[signals.Symbol]*filled{}
		}
		used := n.disksUsed[s.Key[2]]
		if used == nil {
			used = &filled{}
			n.disksUsed[s.Key[2]] = used
		}
		l.addUse(used, s, n.Life.Without(n.OtherDisks[s.Key[2]]))
	}
	return nil
}

// diskUsed returns how much all file systems of the node's disk used in a set, and the highest use of any one of them.
func (n *nodeUse) diskUsed(set int) (byteHours, most float64) {
	var parts []*filled
	for _, device := range observe.SortedSymbols(n.disksUsed) {
		parts = append(parts, n.disksUsed[device])
	}
	return usedIn(set, parts)
}

// joinedUse is how full a volume is that is one with others.
func (ch *Charger) joinedUse(v *observe.Volume) *filled {
	x := ch.uses.joined[v]
	if x == nil {
		x = &filled{}
		ch.uses.joined[v] = x
	}
	return x
}

// addClaimUsed integrates how much of a volume is used while it exists. Kubelets of several nodes may report one claim.
func (l *integrator) addClaimUsed(s *observe.Incoming) error {
	if c := l.ch.Storage.Claims[s.Object()]; c != nil {
		if len(c.Joined) == 0 {
			l.addUse(&l.ch.claimUse(c).used, s, c.Life)
		}
		for _, v := range c.Joined {
			l.addUse(l.ch.joinedUse(v), s, timeline.Intersection(c.Life, timeline.Mask(v.Life)))
		}
	}
	return nil
}
