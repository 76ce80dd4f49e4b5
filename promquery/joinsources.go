package promquery

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
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
func Join(old, recent Source, cover func(context.Context) (Cover, error)) Source {
	return &join{old, recent, cover}
}

type join struct {
	old, recent Source
	cover       func(context.Context) (Cover, error)
}

// Select implements Source.
func (j *join) Select(ctx context.Context, rs []Request, stats *Stats) iter.Seq2[Series, error] {
	src, err := j.Begin(ctx)
	if err != nil {
		return func(yield func(Series, error) bool) { yield(Series{}, err) }
	}
	return src.Select(ctx, rs, stats)
}

// Begin implements Beginner. It decides which source is asked for which time.
func (j *join) Begin(ctx context.Context) (Source, error) {
	cover, err := j.cover(ctx)
	if err != nil {
		return nil, fmt.Errorf("find where to join two sources: %w", err)
	}
	at := time.UnixMilli(cover.Until).UTC()
	out := &joined{
		join: j, cut: cover.Until,
		old:    metered{src: j.old, reading: allocation.SourceReading{Until: at}},
		recent: metered{src: j.recent, reading: allocation.SourceReading{From: at}},
	}
	out.divide(cover)
	return out, nil
}

// joined is the source of one computation: two sources, and the times that each is asked for.
type joined struct {
	join        *join
	cut         int64 // from here on recent is asked
	old, recent metered
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

// Select implements Source. A series of both sources comes in periods, in the order of time. Periods that may go on are marked as
// continued.
func (j *joined) Select(ctx context.Context, rs []Request, stats *Stats) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		for _, x := range j.periods() {
			more, err := j.selectPeriod(ctx, x, rs, stats, yield)
			if err != nil {
				yield(Series{}, err)
			}
			if !more || err != nil {
				return
			}
		}
		if err := j.selectRecent(ctx, rs, stats, yield); err != nil {
			yield(Series{}, err)
		}
	}
}

// selectRecent asks the recent source for the time after the cut.
func (j *joined) selectRecent(ctx context.Context, rs []Request, stats *Stats, yield func(Series, error) bool) error {
	present, of := (period{from: j.cut, to: math.MaxInt64}).requests(rs, true)
	switch {
	case len(present) == 0:
		return nil
	case j.down != nil:
		j.lose(stats)
		return nil
	}
	var got Stats
	more, some, err := pass(j.recent.Select(ctx, present, &got), of, yield, func(Series) {})
	got.renumber(of)
	defer func() { stats.Add(got) }()
	j.read = j.read || more && err == nil
	switch none := !some && ctx.Err() == nil; {
	case err == nil:
	case none && j.end > 0 && !j.read:
		j.down = err // do not wait for it again, nor let it answer only some questions
		j.lose(&got)
	case none && withinReach(present, j.cut):
		got.Warnings = append(got.Warnings, fmt.Sprintf("the newest samples are missing, from %s on: %v; what is in blocks is all of the answer", instant(j.cut), err))
	default:
		return err
	}
	return nil
}

// pass yields series with the indexes of their requests among all, of which of has the answered ones, after look has seen them. It reports
// whether the caller wants more, and whether there was any series. The error is that of the source.
func pass(list iter.Seq2[Series, error], of []int, yield func(Series, error) bool, look func(Series)) (more, some bool, err error) {
	for s, err := range list {
		if err != nil {
			return true, some, err
		}
		some = true
		look(s)
		if s.Request = of[s.Request]; !yield(s, nil) {
			return false, some, nil
		}
	}
	return true, some, nil
}

// End implements Ender.
func (j *joined) End() { endSource(j.rest) }

// endSource lets a source let go of what it learned, if it keeps that.
func endSource(src Source) {
	if s, ok := src.(Ender); ok {
		s.End()
	}
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

// withinReach reports whether requests ask for no more after the cut than a lookback.
func withinReach(rs []Request, cut int64) bool {
	return !slices.ContainsFunc(rs, func(r Request) bool { return r.End > cut+timeline.Lookback })
}
