package build

import (
	"math"

	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/timeline"
)

// increases are the cells of a counter of bytes. Those within one shift of the only pod that have one price are joined: their sum does
// not depend on how they are cut. Cells of time that is counted already are left alone.
func (l *Worker) increases(pods []*pod, key flowKey, s *seen, t *prices.Item) []timeline.Cell {
	if len(pods) != 1 {
		return l.b.samplingOf(s).Counter(l.cells[:0], s.p)
	}
	counted := l.b.sampling.Start
	for i := range pods[0].flows {
		if f := &pods[0].flows[i]; f.key == key && len(f.counted) > 0 {
			counted = max(counted, f.counted[len(f.counted)-1].To)
		}
	}
	l.joiner.Keep, l.joiner.Limit = false, 0
	l.joiner.Until = func(from, to int64) int64 {
		if from < counted {
			return math.MinInt64
		}
		return l.b.sameUntil(pods[0], t, from, to)
	}
	return l.joiner.Counter(l.b.samplingOf(s), l.cells[:0], s.p)
}

// sameUntil is until when bytes count for the same shift at the same price as those of (from, to]. It is before to if that is not
// within one shift.
func (b *Builder) sameUntil(p *pod, t *prices.Item, from, to int64) int64 {
	at := p.shiftOver(from, to)
	if at == nil {
		return math.MinInt64
	}
	return min(at.to, b.sampling.End, t.Until(from))
}
