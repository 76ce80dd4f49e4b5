package promquery

import (
	"cmp"
	"context"
	"fmt"
	"math"
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

// Join is a source of old's samples and, where old has none, of recent's: TSDB blocks and the server that writes them, whose
// newest hours are in no block yet, and which may have what a block that is gone or damaged held. cover says what old has;
// it is asked once a computation, and again where something turns out to be damaged. Both sources must give their series
// the same labels. What neither has is told by old's warnings.
func Join(old, recent Source, cover func() (Cover, error)) Source {
	return &join{old, recent, cover}
}

type join struct {
	old, recent Source
	cover       func() (Cover, error)
}

// Select implements Source.
func (j *join) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	src, err := j.Begin(ctx)
	if err != nil {
		return Stats{}, err
	}
	return src.Select(ctx, sels, yield)
}

// Begin implements Beginner: it fixes which source is asked for what.
func (j *join) Begin(context.Context) (Source, error) {
	cover, err := j.cover()
	if err != nil {
		return nil, fmt.Errorf("find where to join two sources: %w", err)
	}
	at := time.UnixMilli(cover.Until).UTC()
	out := &joined{
		join: j, cut: cover.Until,
		old:    part{src: j.old, reading: allocation.SourceReading{Until: at}},
		recent: part{src: j.recent, reading: allocation.SourceReading{From: at}},
	}
	out.divide(cover)
	return out, nil
}

// joined is the source of one computation: two sources and which is asked for what.
type joined struct {
	join        *join
	cut         int64 // from here on recent is asked
	old, recent part
	rest        Source  // old outside of the lacks
	lacks       []*lack // before cut, ascending

	end  int64 // of the window that may be answered without recent, if need be; 0 where none may
	read bool  // recent answered
	down error // why it is not asked any more

	damaged bool // old met damage outside of the lacks
	anew    bool // a lack was given up: what was read is of no use
}

// divide takes over what the old source has. What was given up stays so.
func (j *joined) divide(cover Cover) {
	before := j.lacks
	j.lacks = nil
	for _, l := range apart(cover.Lacks, j.cut) {
		k := &lack{Lack: l}
		for _, b := range before {
			if b.givenUp && b.From < l.To && l.From < b.To {
				k.givenUp, k.failure = true, b.failure
			}
		}
		j.lacks = append(j.lacks, k)
	}
	j.rest = cmp.Or(cover.Rest, j.join.old)
}

// without lets a window be answered by blocks alone, with a warning, should the recent source be down. Of one that blocks
// have nothing of, that would be no answer; and what nobody waits for can be had later, whole.
func (j *joined) without(ctx context.Context, w allocation.Window) {
	if w.Start.UnixMilli() < j.cut && !IsBackground(ctx) {
		j.end = w.End.UnixMilli()
	}
}

// overlap is for how long before the cut the recent source is read too, on a grid of step: so long that it sees the last
// point of the grid at which the old one saw a series that goes on. What both give is counted once by who integrates it,
// and nothing is lost between the last sample of the one and the first of the other.
func overlap(step int64) int64 { return 2*timeline.Lookback + step }

// Select implements Source.
func (j *joined) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	return j.SelectLanes(ctx, sels, OneLane(yield))
}

// SelectLanes implements Parallel. A series of both comes in stretches, in the order of time; those that can go on are marked
// as continued.
func (j *joined) SelectLanes(ctx context.Context, sels []Selector, lanes Lanes) (Stats, error) {
	var stats Stats
	for _, x := range j.stretches() {
		got, err := j.selectStretch(ctx, x, sels, lanes)
		stats.Add(got)
		if err != nil {
			return stats, err
		}
	}
	got, err := j.selectRecent(ctx, sels, lanes)
	stats.Add(got)
	return stats, err
}

// selectRecent asks the recent source for what is after the cut.
func (j *joined) selectRecent(ctx context.Context, sels []Selector, lanes Lanes) (stats Stats, err error) {
	present, of := (stretch{from: j.cut, to: math.MaxInt64}).selectors(sels, true)
	switch {
	case len(present) == 0:
		return stats, nil
	case j.down != nil:
		j.lose(&stats)
		return stats, nil
	}
	var gave atomic.Int64
	recent := lanes.renumbered(of)
	give := recent.Yield
	recent.Yield = func(lane, i int, key []Symbol, p *timeline.Points) error {
		gave.Add(1)
		return give(lane, i, key, p)
	}
	stats, err = j.recent.SelectLanes(ctx, present, recent)
	stats.renumber(of)
	j.read = j.read || err == nil
	switch none := gave.Load() == 0 && ctx.Err() == nil; {
	case err == nil:
	case none && j.end > 0 && !j.read:
		j.down = err // it is not to be waited for again, nor to answer half of the questions
		j.lose(&stats)
	case none && withinReach(present, j.cut):
		stats.Warnings = append(stats.Warnings, fmt.Sprintf("the newest samples are missing, from %s on: %v; what is in blocks is all of the answer", instant(j.cut), err))
	default:
		return stats, err
	}
	return stats, nil
}

// lose notes what of the window is missing because the recent source is down, which is nothing where it ends at the cut.
func (j *joined) lose(stats *Stats) {
	if j.end <= j.cut {
		return
	}
	stats.Lose(Loss{
		Of: "the server from " + instant(j.cut) + " on", From: j.cut, To: j.end,
		Cause: fmt.Sprintf("the newest samples are missing, from %s to %s: %v; what is in blocks is all of the answer", instant(j.cut), instant(j.end), j.down),
	})
}

// withinReach reports whether all that selectors ask for from the cut on is what an instant before it sees.
func withinReach(sels []Selector, cut int64) bool {
	return !slices.ContainsFunc(sels, func(s Selector) bool { return s.End > cut+timeline.Lookback })
}
