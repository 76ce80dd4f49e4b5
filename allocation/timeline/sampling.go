package timeline

import (
	"iter"
	"math"
)

// Lookback is how long an instant query sees a sample, Prometheus' default, in milliseconds.
const Lookback int64 = 5 * 60 * 1000

// Sampling says how samples become functions of time over the window (Start, End].
type Sampling struct {
	Start, End int64
	Step       int64 // distance of the grid anchored at End; 0 is exact mode
	Lookback   int64 // how long a sample is seen without a successor; Lookback unless the source has no staleness markers
	Interval   int64 // scrape interval: how long a last sample lasts in exact mode
	Margin     int64 // how long after Start the wanted time begins; before that, any available samples are enough
}

// Exact reports whether every raw sample is used.
func (s Sampling) Exact() bool { return s.Step == 0 }

// Cell is the width of a cell of time: the grid's step, or the scrape interval in exact mode.
func (s Sampling) Cell() int64 {
	if s.Exact() {
		return s.Interval
	}
	return s.Step
}

// Unmarked is the sampling of series that get no staleness markers: a sample is seen for two scrape intervals at most.
func (s Sampling) Unmarked() Sampling {
	s.Lookback = min(s.Lookback, 2*s.Interval)
	return s
}

// LoadStart returns the time of the oldest sample that can matter: one lookback before the grid point before the wanted time.
// It is just after a point of the grid, so that data read before it reaches up to that point.
func (s Sampling) LoadStart() int64 {
	return s.Align(s.Start+s.Margin-s.Lookback-max(s.Step, s.Interval)) + 1
}

// Align is the last point of the grid at or before t; in exact mode t itself.
func (s Sampling) Align(t int64) int64 {
	if s.Exact() {
		return t
	}
	return s.ceil(t - s.Step + 1)
}

// ceil is the first grid point at or after t.
func (s Sampling) ceil(t int64) int64 {
	d := t - s.End
	n := d / s.Step
	if d > n*s.Step {
		n++
	}
	return s.End + n*s.Step
}

// piece is a stretch of samples with one value, each seen until the next, and the sample after it.
type piece struct {
	first, last int64
	v           float64
	next        int64 // time of the sample after last, MaxInt64 if none
	marked      bool  // that sample is a staleness marker
}

// pieces yields the samples of p up to end. Runs and levels stay whole if their samples are no further than widest apart.
// Below the lookback, every instant from the first sample to the last sees the one value, wherever the samples between them
// are.
func (s Sampling) pieces(p *Points, widest int64) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		var cur piece
		have := false
		put := func(first, last int64, v float64) bool {
			if have {
				cur.next, cur.marked = first, IsStale(v)
				if !yield(cur) {
					return false
				}
			}
			cur, have = piece{first: first, last: last, v: v, next: math.MaxInt64}, true
			return true
		}
		for i := range p.spans {
			x := &p.spans[i]
			switch {
			case x.unbroken(p, widest):
				first, v := x.sample(p, 0)
				if !put(first, x.last(p), v) {
					return
				}
			case x.run || x.level:
				for k := range x.n {
					t, v := x.sample(p, k)
					if !put(t, t, v) {
						return
					}
				}
			default:
				ts, v := p.t[x.off:][:x.n], p.v[x.off:][:x.n]
				for k, t := range ts {
					if !put(t, t, v[k]) {
						return
					}
				}
			}
		}
		if have {
			if p.goesOn {
				cur.next = cur.last + 1
			}
			yield(cur)
		}
	}
}

// dense returns the widest distance of samples with one value at which cells need not be told apart: no cell of the grid is
// without a sample and would be held.
func (s Sampling) dense() int64 {
	if s.Exact() {
		return s.Lookback - 1
	}
	return min(s.Lookback-1, s.Step)
}

// grid walks the points of the grid along ascending samples.
type grid struct {
	Sampling
	sampled bool
	tail    int64 // how long a sample is seen that nothing follows, not even a staleness marker
	gap     int64 // how long a sample counts when another sample or a staleness marker follows; a later one is not from the next scrape
	at      int64 // a grid point at or before all further samples
}

func (s Sampling) newGrid(p *Points, tail, gap int64) grid {
	g := grid{Sampling: s, sampled: p.sampled, tail: tail, gap: gap}
	if !s.Exact() {
		g.at = s.ceil(p.First())
	}
	return g
}

// reach is the first grid point at or after t, which does not descend from call to call.
func (g *grid) reach(t int64) int64 {
	switch {
	case t <= g.at:
	case t <= g.at+g.Step: // the next sample, mostly: no division
		g.at += g.Step
	default:
		g.at = g.ceil(t)
	}
	return g.at
}

// hits are the first and last grid points at which an instant query sees a sample of the piece; none if first > last. From
// held on it sees the last sample again for want of a newer one.
func (g *grid) hits(x *piece) (first, held, last int64) {
	first = g.reach(x.first)
	if g.sampled {
		if first != x.first {
			return 1, 0, 0
		}
		return first, first, first
	}
	held = first
	if x.last > x.first {
		held = g.reach(x.last)
	}
	// A sample at t is seen by instants in [t, t+lookback), until the next sample.
	until := min(x.next, x.last+g.Lookback, g.End+1)
	if x.next == math.MaxInt64 {
		until = min(until, x.last+g.tail)
	} else {
		until = min(until, x.last+g.gap)
	}
	if until <= first {
		return 1, 0, 0
	}
	last = g.reach(until) - g.Step
	return first, min(held, last), last
}

// Steps is the value of a gauge or an info over time: on the grid, the sample that an instant query sees at t holds on
// (t-r, t]; in exact mode a sample holds until the next one, and one scrape interval where none follows. Staleness markers
// and values that are not finite end it.
func (s Sampling) Steps(p *Points) Steps {
	var few [4]Step
	return append(Steps(nil), s.appendSteps(few[:0], p)...)
}

// appendSteps appends steps to out, which is empty.
func (s Sampling) appendSteps(out Steps, p *Points) Steps {
	var g grid
	interval, seen := int64(0), s.Lookback // in exact mode a sample holds until the next within a lookback
	if s.Exact() {
		interval = s.interval(p)
	} else {
		seen = s.unmarkedLookback(p)
		g = s.newGrid(p, seen, seen)
	}
	for x := range s.pieces(p, seen-1) {
		if !usable(x.v) {
			continue
		}
		if s.Exact() {
			to := x.next
			if to-x.last > s.Lookback {
				to = x.last + interval
			}
			out = out.add(x.first, to, x.v)
			continue
		}
		if first, _, last := g.hits(&x); first <= last {
			out = out.add(first-s.Step, last, x.v)
		}
	}
	return out
}

// unmarkedLookback is how long a sample of p is seen that no staleness marker follows: a failed scrape leaves a marker, so
// what is missing without one was never stored. A series that is scraped more rarely than others has its own interval.
func (s Sampling) unmarkedLookback(p *Points) int64 {
	return min(s.Lookback, 2*max(s.Interval, p.shortest()))
}

// interval returns the scrape interval of p if it differs from the computation's by more than jitter. A series that comes in
// stretches then has one interval, whichever of its samples show it.
func (s Sampling) interval(p *Points) int64 {
	jitter := s.Interval / 20
	if p.IntervalWithin(s.Interval-jitter, s.Interval+jitter) {
		return s.Interval
	}
	if d := p.Interval(); d > 0 && d <= s.Lookback {
		return d
	}
	return s.Interval
}
