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

// Beginner is implemented by a Source that decides something once per computation. All Selects of the computation go to the source
// that Begin returns.
type Beginner interface {
	Begin(ctx context.Context) (Source, error)
}

// Ender is implemented by a Source that keeps what it learned for later Selects. End lets go of that: few or no Selects will follow.
type Ender interface{ End() }

// Join returns a source of the samples of old and, where old has none, of recent. Old are TSDB blocks, and recent is the server
// that writes them: it has the newest hours, which are in no block yet, and perhaps those of a block that is gone or damaged.
// Cover says what old has. It is called once per computation, and again if old turns out to be damaged. Both sources must give
// their series the same labels. Warnings of old say what neither has.
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

// Begin implements Beginner. It decides which source is asked for which time.
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

// joined is the source of one computation: two sources, and the times that each is asked for.
type joined struct {
	join        *join
	cut         int64 // from here on recent is asked
	old, recent part
	rest        Source     // reads old outside of the gaps
	gaps        []*fillGap // before cut, ascending

	end  int64 // of the window, if it may be answered without recent; 0 if not
	read bool  // recent has answered
	down error // why recent is not asked any more

	damaged bool // old has damage outside of the gaps
	restart bool // a gap was given up, so the computation has to start again
}

// divide takes the gaps of the old source. Those that were given up stay given up.
func (j *joined) divide(cover Cover) {
	before := j.gaps
	j.gaps = nil
	for _, l := range tidyGaps(cover.Gaps, j.cut) {
		k := &fillGap{Gap: l}
		for _, b := range before {
			if b.givenUp && b.From < l.To && l.From < b.To {
				k.givenUp, k.failure = true, b.failure
			}
		}
		j.gaps = append(j.gaps, k)
	}
	j.rest = cmp.Or(cover.Rest, j.join.old)
}

// allowOldOnly lets blocks answer a window without the recent source, with a warning, if that is down. It does not if the blocks
// have nothing of the window. It also does not if nobody waits for the answer, because that can be computed later with all
// samples.
func (j *joined) allowOldOnly(ctx context.Context, w allocation.Window) {
	if w.Start.UnixMilli() < j.cut && !IsBackground(ctx) {
		j.end = w.End.UnixMilli()
	}
}

// overlap is how long before the cut the recent source is read as well, on a grid of step. It must see the last point of the grid
// at which the old source saw a series that goes on, so that nothing is lost between the last sample of one and the first of the
// other. Integration counts samples of both sources once.
func overlap(step int64) int64 { return 2*timeline.Lookback + step }

// Select implements Source.
func (j *joined) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	return j.SelectParallel(ctx, sels, OneWorker(yield))
}

// SelectParallel implements Parallel. A series of both sources comes in segments, in the order of time. Segments that may go on are
// marked as continued.
func (j *joined) SelectParallel(ctx context.Context, sels []Selector, workers Workers) (Stats, error) {
	var stats Stats
	for _, x := range j.segments() {
		got, err := j.selectSegment(ctx, x, sels, workers)
		stats.Add(got)
		if err != nil {
			return stats, err
		}
	}
	got, err := j.selectRecent(ctx, sels, workers)
	stats.Add(got)
	return stats, err
}

// selectRecent asks the recent source for the time after the cut.
func (j *joined) selectRecent(ctx context.Context, sels []Selector, workers Workers) (stats Stats, err error) {
	present, of := (segment{from: j.cut, to: math.MaxInt64}).selectors(sels, true)
	switch {
	case len(present) == 0:
		return stats, nil
	case j.down != nil:
		j.lose(&stats)
		return stats, nil
	}
	var gave atomic.Int64
	recent := workers.renumbered(of)
	give := recent.Yield
	recent.Yield = func(worker, i int, key []Symbol, p *timeline.Points) error {
		gave.Add(1)
		return give(worker, i, key, p)
	}
	stats, err = j.recent.SelectParallel(ctx, present, recent)
	stats.renumber(of)
	j.read = j.read || err == nil
	switch none := gave.Load() == 0 && ctx.Err() == nil; {
	case err == nil:
	case none && j.end > 0 && !j.read:
		j.down = err // do not wait for it again, nor let it answer only some questions
		j.lose(&stats)
	case none && withinReach(present, j.cut):
		stats.Warnings = append(stats.Warnings, fmt.Sprintf("the newest samples are missing, from %s on: %v; what is in blocks is all of the answer", instant(j.cut), err))
	default:
		return stats, err
	}
	return stats, nil
}

// lose records the part of the window that is missing because the recent source is down: nothing if the window ends before the
// cut.
func (j *joined) lose(stats *Stats) {
	if j.end <= j.cut {
		return
	}
	stats.Lose(Loss{
		Of: "the server from " + instant(j.cut) + " on", From: j.cut, To: j.end,
		Cause: fmt.Sprintf("the newest samples are missing, from %s to %s: %v; what is in blocks is all of the answer", instant(j.cut), instant(j.end), j.down),
	})
}

// withinReach reports whether selectors ask for no more after the cut than a lookback.
func withinReach(sels []Selector, cut int64) bool {
	return !slices.ContainsFunc(sels, func(s Selector) bool { return s.End > cut+timeline.Lookback })
}
