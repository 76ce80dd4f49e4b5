package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation/timeline"
)

// Lanes take the series of a Select in several goroutines: each lane is called from one at a time.
type Lanes struct {
	// N is the number of lanes, at least 1, and of goroutines that the source may read with.
	N int
	// Of is the lane, 0 to N−1, of a series; it is called from one goroutine. N is for a series that several lanes have to
	// do with: it is given when nothing else is any more. Nil gives all to lane 0.
	Of func(i int, key []Symbol) int
	// Yield takes a series or a stretch of one, as Source says. The series of a lane come in the same order each time.
	Yield func(lane, i int, key []Symbol, p *timeline.Points) error
}

// OneLane gives every series to yield.
func OneLane(yield Yield) Lanes {
	return Lanes{N: 1, Yield: func(_, i int, key []Symbol, p *timeline.Points) error { return yield(i, key, p) }}
}

// Lane is the lane of a series.
func (l *Lanes) Lane(i int, key []Symbol) int {
	if l.Of == nil {
		return 0
	}
	return l.Of(i, key)
}

// Into is what gives series to one lane.
func (l *Lanes) Into(lane int) Yield {
	return func(i int, key []Symbol, p *timeline.Points) error { return l.Yield(lane, i, key, p) }
}

// Parallel is what a Source may implement that can read several series at a time.
type Parallel interface {
	// SelectLanes is Select with lanes in the place of yield.
	SelectLanes(ctx context.Context, sels []Selector, lanes Lanes) (Stats, error)
}

// SelectLanes asks src with as many lanes as it can serve.
func SelectLanes(ctx context.Context, src Source, sels []Selector, lanes Lanes) (Stats, error) {
	if p, ok := src.(Parallel); ok {
		return p.SelectLanes(ctx, sels, lanes)
	}
	return src.Select(ctx, sels, func(i int, key []Symbol, p *timeline.Points) error {
		return lanes.Yield(lanes.Lane(i, key), i, key, p)
	})
}

// renumbered are lanes for a Select of some of the selectors only; of are their places among all.
func (l *Lanes) renumbered(of []int) Lanes {
	return Lanes{
		N:     l.N,
		Of:    func(i int, key []Symbol) int { return l.Lane(of[i], key) },
		Yield: func(lane, i int, key []Symbol, p *timeline.Points) error { return l.Yield(lane, of[i], key, p) },
	}
}
