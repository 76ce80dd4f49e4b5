package build

import (
	"math"

	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/timeline"
)

// joinCells joins, in place, consecutive cells of a counter of bytes that lie within one shift of the only pod and have one price: their
// sum does not depend on how they are cut. It does not touch cells of time that is counted already.
func (b *Builder) joinCells(pods []*pod, f *flow, t *prices.Item, cells []timeline.Cell) []timeline.Cell {
	if len(pods) != 1 {
		return cells
	}
	from := b.sampling.Start
	if n := len(f.counted); n > 0 {
		from = max(from, f.counted[n-1].To)
	}
	return timeline.JoinCells(cells, from, func(x *timeline.Cell) int64 { return b.sameUntil(pods[0], t, x) })
}

// sameUntil is until when bytes count for the same shift at the same price as those of a cell. It is before the cell's end if the cell
// is not within one shift.
func (b *Builder) sameUntil(p *pod, t *prices.Item, x *timeline.Cell) int64 {
	at := p.shiftOver(x.From, x.To)
	if at == nil {
		return math.MinInt64
	}
	return min(at.to, b.sampling.End, t.Until(x.From))
}
