package promquery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// fillGap is a Gap that the recent source is asked to fill.
type fillGap struct {
	Gap
	requested bool
	gave      bool  // the recent source has given samples
	givenUp   bool  // the recent source does not fill it, so the old source is asked
	failure   error // why the recent source did not fill it; nil if it just has no samples
}

// errRestart ends a computation that has to start again, because a source has to be asked for something else.
var errRestart = errors.New("a gap in the samples was not filled")

// period is a half-open range of time that one source is asked for.
type period struct {
	from, to int64
	fill     *fillGap   // the gap that the recent source fills; nil if the old source is asked
	givenUp  []*fillGap // gaps within it that the recent source does not fill
}

// periods divides the time before the cut.
func (j *joined) periods() []period {
	x := period{from: Ever}
	var out []period
	for _, l := range j.gaps {
		if l.givenUp {
			x.givenUp = append(x.givenUp, l)
			continue
		}
		x.to = l.From
		out = append(out, x, period{from: l.From, to: l.To, fill: l})
		x = period{from: l.To}
	}
	x.to = j.cut
	return append(out, x)
}

// requests cuts requests to the period, and returns the index of each. Over says that they reach beyond both ends of it by an
// overlap. The later end is on their grid.
func (x period) requests(rs []Request, over bool) (cut []Request, of []int) {
	for i, r := range rs {
		if r.Start >= x.to || r.End < x.from {
			continue
		}
		start, end := x.from, x.to-1
		if step := r.Grid.Step; over {
			start -= overlap(step)
			if end < r.End {
				if end = min(r.End, end+overlap(step)); step > 0 {
					end = r.End - (r.End-end)/step*step
				}
			}
		}
		r.Start = max(r.Start, start)
		if end < r.End {
			r.End, r.Grid.Last = end, false
		}
		cut, of = append(cut, r), append(of, i)
	}
	return cut, of
}

// selectPeriod asks for a period before the cut. It reports whether the caller wants more.
func (j *joined) selectPeriod(ctx context.Context, x period, rs []Request, stats *Stats, yield func(Series, error) bool) (more bool, err error) {
	cut, of := x.requests(rs, x.fill != nil)
	if len(cut) == 0 {
		return true, nil
	}
	look := func(s Series) {
		// An instant after the end still sees a sample from before. The next period says how the series goes on.
		if end := cut[s.Request].End; rs[of[s.Request]].End > end && s.Points.Last() > end-timeline.Lookback {
			s.Points.MarkContinued()
		}
		if x.fill != nil {
			x.fill.gave = x.fill.gave || anyWithin(s.Points, x.from, x.to)
		}
	}
	var got Stats
	switch {
	case x.fill != nil && unreachable(j.down):
		x.fill.requested, more, err = true, true, j.down
	case x.fill != nil:
		x.fill.requested = true
		more, _, err = pass(j.recent.Select(ctx, cut, &got), of, yield, look)
	case len(x.givenUp) > 0:
		more, _, err = pass(j.old.Select(ctx, cut, &got), of, yield, look)
		for _, l := range x.givenUp {
			if l.failure != nil && slices.ContainsFunc(cut, func(r Request) bool { return r.Start < l.To && r.End >= l.From }) {
				got.Lose(l.loss())
			}
		}
	default:
		more, _, err = pass(j.old.selectFrom(ctx, j.rest, cut, &got), of, yield, look)
		j.damaged = j.damaged || got.Damaged
	}
	got.renumber(of)
	stats.Add(got)
	if err == nil || x.fill == nil || ctx.Err() != nil || !x.fill.Damaged && IsBackground(ctx) {
		return more, err
	}
	j.giveUp(ctx, x.fill, err)
	return more, fmt.Errorf("%w: %w", errRestart, err)
}

// giveUp lets the old source be asked for a gap that the recent source did not fill, and for all gaps if nothing answers there.
func (j *joined) giveUp(ctx context.Context, gap *fillGap, err error) {
	gap.givenUp, gap.failure, j.restart = true, err, true
	if !unreachable(err) {
		return
	}
	for _, l := range j.gaps { // do not wait for it again
		if !l.givenUp && (l.Damaged || !IsBackground(ctx)) {
			l.givenUp, l.failure = true, err
		}
	}
	if j.end > 0 && !j.read {
		j.down = err
	}
}

// loss is the loss of samples that blocks do not have.
func (l *fillGap) loss() Loss {
	since := "up"
	if l.From > Ever {
		since = "from " + instant(l.From)
	}
	where := "are in no block"
	if l.Damaged {
		where = "cannot be read of blocks"
	}
	return Loss{
		Of: fmt.Sprintf("the server %s to %s", since, instant(l.To)), From: l.From, To: l.To,
		Cause: fmt.Sprintf("samples %s to %s that %s are missing: %v", since, instant(l.To), where, l.failure),
	}
}

// anyWithin reports whether a sample lies within [from, to).
func anyWithin(p *timeline.Points, from, to int64) bool {
	if p.Last() < from || p.First() >= to {
		return false
	}
	for t := range p.All() {
		if t >= from {
			return t < to
		}
	}
	return false
}

// again reports whether the computation has to start again: the recent source did not fill a gap, or the old one is damaged in
// further places. Last says that it will be the last time, so all gaps are given up.
func (j *joined) again(ctx context.Context, last bool) (bool, error) {
	restart := j.restart
	j.restart = false
	for _, l := range j.gaps {
		if l.Damaged && l.requested && !l.givenUp && !l.gave {
			l.givenUp, restart = true, true
		}
	}
	if j.damaged {
		j.damaged = false
		cover, err := j.join.cover(ctx)
		if err != nil {
			return false, fmt.Errorf("find where to join two sources: %w", err)
		}
		before := j.gaps
		j.divide(cover)
		restart = restart || !sameGaps(before, j.gaps)
	}
	if restart {
		for _, l := range j.gaps {
			l.requested = false
			l.gave = false
			l.givenUp = l.givenUp || last
		}
		j.read = false
		if !unreachable(j.down) {
			j.down = nil
		}
	}
	return restart, nil
}

// unreachable reports whether a source failed because nothing answers where it should be.
func unreachable(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

// cause is why the recent source did not answer, nil if it did.
func (j *joined) cause() error {
	for _, l := range j.gaps {
		if l.failure != nil {
			return l.failure
		}
	}
	return j.down
}

// sameGaps reports whether two computations have the same gaps and the same sources for them.
func sameGaps(a, b []*fillGap) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Gap != b[i].Gap || a[i].givenUp != b[i].givenUp {
			return false
		}
	}
	return true
}
