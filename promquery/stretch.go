package promquery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"

	"github.com/promcost/promcost/allocation/timeline"
)

// lack is a Lack that the recent source is asked to fill.
type lack struct {
	Lack
	asked   bool
	gave    atomic.Bool // the recent source had samples of it
	givenUp bool        // the recent source does not fill it: what the old one has is all
	failure error       // why, where it failed
}

// errAnew ends a computation that is to begin anew, for one of its sources is to be asked for something else.
var errAnew = errors.New("a lack of samples was not filled")

// stretch is a part of time, half-open, of which one source is asked.
type stretch struct {
	from, to int64
	fill     *lack   // that the recent source is asked to fill; nil where the old one is asked
	givenUp  []*lack // those of which the old source has all that there is
}

// stretches are what is before the cut.
func (j *joined) stretches() []stretch {
	x := stretch{from: Ever}
	var out []stretch
	for _, l := range j.lacks {
		if l.givenUp {
			x.givenUp = append(x.givenUp, l)
			continue
		}
		x.to = l.From
		out = append(out, x, stretch{from: l.From, to: l.To, fill: l})
		x = stretch{from: l.To}
	}
	x.to = j.cut
	return append(out, x)
}

// selectors are the selectors cut to a stretch, and their places. Where the stretch reaches over, so do they: beyond both
// its ends, the later one on their grid.
func (x stretch) selectors(sels []Selector, over bool) (cut []Selector, of []int) {
	for i, s := range sels {
		if s.Start >= x.to || s.End < x.from {
			continue
		}
		start, end := x.from, x.to-1
		if over {
			start -= overlap(s.Step)
			if end < s.End {
				if end = min(s.End, end+overlap(s.Step)); s.Step > 0 {
					end = s.End - (s.End-end)/s.Step*s.Step
				}
			}
		}
		s.Start = max(s.Start, start)
		if end < s.End {
			s.End, s.Last = end, false
		}
		cut, of = append(cut, s), append(of, i)
	}
	return cut, of
}

// selectStretch asks for a stretch of time before the cut.
func (j *joined) selectStretch(ctx context.Context, x stretch, sels []Selector, lanes Lanes) (stats Stats, err error) {
	cut, of := x.selectors(sels, x.fill != nil)
	if len(cut) == 0 {
		return stats, nil
	}
	var refused atomic.Bool
	into := lanes.renumbered(of)
	give := into.Yield
	into.Yield = func(lane, i int, key []Symbol, p *timeline.Points) error {
		// An instant after the end sees a sample of before that: what follows it is the next stretch's to say.
		if end := cut[i].End; sels[of[i]].End > end && p.Last() > end-timeline.Lookback {
			p.MarkContinued()
		}
		if x.fill != nil && !x.fill.gave.Load() && anyWithin(p, x.from, x.to) {
			x.fill.gave.Store(true)
		}
		err := give(lane, i, key, p)
		if err != nil {
			refused.Store(true)
		}
		return err
	}
	switch {
	case x.fill != nil:
		x.fill.asked = true
		if unreachable(j.down) {
			err = j.down
		} else {
			stats, err = j.recent.SelectLanes(ctx, cut, into)
		}
	case len(x.givenUp) > 0:
		stats, err = j.old.SelectLanes(ctx, cut, into)
		for _, l := range x.givenUp {
			if l.failure != nil && slices.ContainsFunc(cut, func(s Selector) bool { return s.Start < l.To && s.End >= l.From }) {
				stats.Lose(l.loss())
			}
		}
	default:
		stats, err = j.old.selectOf(ctx, j.rest, cut, into)
		j.damaged = j.damaged || stats.Damaged
	}
	stats.renumber(of)
	if err == nil || x.fill == nil || refused.Load() || ctx.Err() != nil || !x.fill.Damaged && IsBackground(ctx) {
		return stats, err
	}
	x.fill.givenUp, x.fill.failure, j.anew = true, err, true
	if unreachable(err) { // it need not be waited for again
		for _, l := range j.lacks {
			if !l.givenUp && (l.Damaged || !IsBackground(ctx)) {
				l.givenUp, l.failure = true, err
			}
		}
		if j.end > 0 && !j.read {
			j.down = err
		}
	}
	return stats, fmt.Errorf("%w: %w", errAnew, err)
}

// loss is that what blocks lack is missing.
func (l *lack) loss() Loss {
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

// again reports whether the computation is to begin anew: the recent source does not fill a lack, or the old one turned out
// to be damaged somewhere else. last says that there is no other time: then what the old source has is all.
func (j *joined) again(last bool) (bool, error) {
	anew := j.anew
	j.anew = false
	for _, l := range j.lacks {
		if l.Damaged && l.asked && !l.givenUp && !l.gave.Load() {
			l.givenUp, anew = true, true
		}
	}
	if j.damaged {
		j.damaged = false
		cover, err := j.join.cover()
		if err != nil {
			return false, fmt.Errorf("find where to join two sources: %w", err)
		}
		before := j.lacks
		j.divide(cover)
		anew = anew || !sameLacks(before, j.lacks)
	}
	if anew {
		for _, l := range j.lacks {
			l.asked = false
			l.gave.Store(false)
			l.givenUp = l.givenUp || last
		}
		j.read = false
		if !unreachable(j.down) {
			j.down = nil
		}
	}
	return anew, nil
}

// unreachable reports whether a source failed because nothing answers where it should be.
func unreachable(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

// cause is why the recent source was not to be had where it was asked, nil where it was.
func (j *joined) cause() error {
	for _, l := range j.lacks {
		if l.failure != nil {
			return l.failure
		}
	}
	return j.down
}

// sameLacks reports whether two computations ask the same source for the same.
func sameLacks(a, b []*lack) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Lack != b[i].Lack || a[i].givenUp != b[i].givenUp {
			return false
		}
	}
	return true
}
