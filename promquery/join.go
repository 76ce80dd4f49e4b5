package promquery

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// Beginner is what a Source may implement that has to decide something once a computation: all of the computation's
// Selects go to the source that Begin returns.
type Beginner interface {
	Begin(ctx context.Context) (Source, error)
}

// Join is a source of old's samples before an instant and recent's from it on: TSDB blocks and the server that writes them,
// whose newest hours are in no block yet. cut names the instant, Unix milliseconds; it is asked once a computation, and old
// must have all samples before it. Both sources must give their series the same labels.
func Join(old, recent Source, cut func() (int64, error)) Source {
	return &join{old, recent, cut}
}

type join struct {
	old, recent Source
	cut         func() (int64, error)
}

// Select implements Source.
func (j *join) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	src, err := j.Begin(ctx)
	if err != nil {
		return Stats{}, err
	}
	return src.Select(ctx, sels, yield)
}

// Begin implements Beginner: it fixes the instant.
func (j *join) Begin(context.Context) (Source, error) {
	cut, err := j.cut()
	if err != nil {
		return nil, fmt.Errorf("find where to join two sources: %w", err)
	}
	at := time.UnixMilli(cut).UTC()
	return &joined{
		cut:    cut,
		old:    part{src: j.old, reading: allocation.SourceReading{Until: at}},
		recent: part{src: j.recent, reading: allocation.SourceReading{From: at}},
	}, nil
}

// joined is the source of one computation: two sources and where the second takes over.
type joined struct {
	cut         int64
	old, recent part
}

// overlap is for how long before the cut the recent source is read too, on a grid of step: so long that it sees the last
// point of the grid at which the old one saw a series that goes on. What both give is counted once by who integrates it,
// and nothing is lost between the last sample of the one and the first of the other.
func overlap(step int64) int64 { return 2*timeline.Lookback + step }

// Select implements Source.
func (j *joined) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	return j.SelectLanes(ctx, sels, OneLane(yield))
}

// SelectLanes implements Parallel. A series of both comes in two stretches; those of old that can go on are marked as
// continued.
func (j *joined) SelectLanes(ctx context.Context, sels []Selector, lanes Lanes) (Stats, error) {
	var past, present []Selector
	var pastOf, presentOf []int // their places in sels
	for i, sel := range sels {
		if sel.Start < j.cut {
			s := sel
			s.End = min(s.End, j.cut-1)
			past, pastOf = append(past, s), append(pastOf, i)
		}
		if sel.End >= j.cut {
			s := sel
			s.Start = max(s.Start, j.cut-overlap(sel.Step))
			present, presentOf = append(present, s), append(presentOf, i)
		}
	}
	var stats Stats
	if len(past) > 0 {
		old := lanes.renumbered(pastOf)
		give := old.Yield
		old.Yield = func(lane, i int, key []Symbol, p *timeline.Points) error {
			// An instant from the cut on sees a sample of after that: what follows it is the recent source's to say.
			if sels[pastOf[i]].End >= j.cut && p.Last() >= j.cut-timeline.Lookback {
				p.MarkContinued()
			}
			return give(lane, i, key, p)
		}
		got, err := j.old.SelectLanes(ctx, past, old)
		got.renumber(pastOf)
		stats.Add(got)
		if err != nil {
			return stats, err
		}
	}
	if len(present) > 0 {
		var gave atomic.Int64
		recent := lanes.renumbered(presentOf)
		give := recent.Yield
		recent.Yield = func(lane, i int, key []Symbol, p *timeline.Points) error {
			gave.Add(1)
			return give(lane, i, key, p)
		}
		got, err := j.recent.SelectLanes(ctx, present, recent)
		got.renumber(presentOf)
		stats.Add(got)
		if err != nil && gave.Load() == 0 && ctx.Err() == nil && withinReach(present, j.cut) {
			stats.Warnings = append(stats.Warnings, fmt.Sprintf("the newest samples are missing, from %s on: %v; what is in blocks is all of the answer", instant(j.cut), err))
			return stats, nil
		}
		if err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// withinReach reports whether all that selectors ask for from the cut on is what an instant before it sees.
func withinReach(sels []Selector, cut int64) bool {
	return !slices.ContainsFunc(sels, func(s Selector) bool { return s.End > cut+timeline.Lookback })
}
