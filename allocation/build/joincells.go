package build

import (
	"math"

	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/timeline"
)

// moved are the cells of a counter of bytes. They are joined where joinCells would join them.
func (l *Worker) moved(pods []*pod, key flowKey, s *seen, t *prices.Item) []timeline.Cell {
	if len(pods) != 1 {
		return l.b.samplingOf(s).Counter(l.cells[:0], s.p)
	}
	from := l.b.sampling.Start
	for i := range pods[0].flows {
		if f := &pods[0].flows[i]; f.key == key {
			from = max(from, f.countedUntil())
		}
	}
	l.joiner.Keep, l.joiner.Limit = false, 0
	l.joiner.Until = func(start, end int64) int64 {
		if start < from {
			return math.MinInt64
		}
		return l.b.sameUntil(pods[0], t, start, end)
	}
	return l.joiner.Counter(l.b.samplingOf(s), l.cells[:0], s.p)
}

// countedUntil is the end of the time that is counted already.
func (f *flow) countedUntil() int64 {
	if n := len(f.counted); n > 0 {
		return f.counted[n-1].To
	}
	return math.MinInt64
}

// joinCells joins, in place, consecutive cells of a counter of bytes that lie within one shift of the only pod and have one price: their
// sum does not depend on how they are cut. It does not touch cells of time that is counted already.
func (b *Builder) joinCells(pods []*pod, f *flow, t *prices.Item, cells []timeline.Cell) []timeline.Cell {
	if len(pods) != 1 {
		return cells
	}
	from := max(b.sampling.Start, f.countedUntil())
	return timeline.JoinCells(cells, from, func(x *timeline.Cell) int64 { return b.sameUntil(pods[0], t, x.From, x.To) })
}

// sameUntil is until when bytes count for the same shift at the same price as those of (from, to]. It is before to if that is
// not within one shift.
func (b *Builder) sameUntil(p *pod, t *prices.Item, from, to int64) int64 {
	at := p.shiftOver(from, to)
	if at == nil {
		return math.MinInt64
	}
	return min(at.to, b.sampling.End, t.Until(from))
}
