package build

import (
	"math"
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// joinCells are cells of a counter of bytes, in their place, where those are one that follow each other within one shift of the
// only pod, at one price: what was moved within is a sum, however it is divided. Cells of time that is counted already are
// left alone.
func (b *Builder) joinCells(pods []*pod, f *flow, t *itemRates, cells []timeline.Cell) []timeline.Cell {
	if len(pods) != 1 {
		return cells
	}
	from := b.sampling.Start
	if n := len(f.counted); n > 0 {
		from = max(from, f.counted[n-1].To)
	}
	out := cells[:0]
	for i := 0; i < len(cells); {
		x := cells[i]
		i++
		if x.From >= from && x.From < x.To {
			until := b.sameUntil(pods[0], t, &x)
			for ; i < len(cells) && cells[i].From == x.To && cells[i].To <= until; i++ {
				x.To = cells[i].To
				x.Amount += cells[i].Amount
			}
		}
		out = append(out, x)
	}
	return out
}

// sameUntil is until when what is moved counts as that of a cell does: within the same shift, at the same price. It is before
// the cell's end where the cell itself is not within one.
func (b *Builder) sameUntil(p *pod, t *itemRates, x *timeline.Cell) int64 {
	at := p.shiftOver(x.From, x.To)
	if at == nil {
		return math.MinInt64
	}
	until := min(at.to, b.sampling.End)
	if i, _ := slices.BinarySearch(t.cuts, x.From+1); i < len(t.cuts) {
		until = min(until, t.cuts[i])
	}
	return until
}
