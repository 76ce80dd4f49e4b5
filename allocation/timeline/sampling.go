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

// LoadStart is the time of the oldest sample that can matter: one lookback before the grid point before Start.
func (s Sampling) LoadStart() int64 { return s.Start - s.Lookback - max(s.Step, s.Interval) + 1 }

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

// piece is a stretch of samples of one value, none further from the next than the lookback, and what comes after it.
type piece struct {
	first, last int64
	v           float64
	next        int64 // time of the sample after last, MaxInt64 if none
}

// pieces yields the samples of p up to end, runs unbroken.
func (s Sampling) pieces(p *Points) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		var cur piece
		have := false
		put := func(first, last int64, v float64) bool {
			if have {
				cur.next = first
				if !yield(cur) {
					return false
				}
			}
			cur, have = piece{first: first, last: last, v: v, next: math.MaxInt64}, true
			return true
		}
		for i := range p.spans {
			x := &p.spans[i]
			if x.run && (x.n == 1 || x.step < s.Lookback) && !p.sampled {
				if !put(x.first, x.last(p), x.value) {
					return
				}
				continue
			}
			for k := range x.n {
				t, v := x.first+int64(k)*x.step, x.value
				if !x.run {
					t, v = p.t[x.off+k], p.v[x.off+k]
				}
				if !put(t, t, v) {
					return
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

// grid walks the points of the grid along ascending samples.
type grid struct {
	Sampling
	sampled bool
	at      int64 // a grid point at or before all samples to come
}

func (s Sampling) newGrid(p *Points) grid {
	g := grid{Sampling: s, sampled: p.sampled}
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

// hits are the first and last grid points at which an instant query sees a sample of the piece; none if first > last.
func (g *grid) hits(x *piece) (first, last int64) {
	first = g.reach(x.first)
	if g.sampled {
		if first != x.first {
			return 1, 0
		}
		return first, first
	}
	// A sample at t is seen by instants in [t, t+lookback), until the next sample.
	until := min(x.next, x.last+g.Lookback, g.End+1)
	if until <= first {
		return 1, 0
	}
	return first, g.reach(until) - g.Step
}

// Steps is the value of a gauge or an info over time: on the grid, the sample that an instant query sees at t holds on
// (t-r, t]; in exact mode a sample holds until the next one, and one scrape interval where none follows. Staleness markers
// and values that are not finite end it.
func (s Sampling) Steps(p *Points) Steps {
	var out Steps
	interval, g := s.interval(p), s.newGrid(p)
	for x := range s.pieces(p) {
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
		if first, last := g.hits(&x); first <= last {
			out = out.add(first-s.Step, last, x.v)
		}
	}
	return out
}

// interval is the scrape interval of p, as far as it shows one.
func (s Sampling) interval(p *Points) int64 {
	if d := p.Interval(); d > 0 && d <= s.Lookback {
		return d
	}
	return s.Interval
}

// Cell is a stretch (From, To] and what was used in it: the increase of a counter, or value × seconds of a gauge.
type Cell struct {
	From, To int64
	Amount   float64
}

// Unborn is the From of a counter's first cell: its amount was used since the counter began at 0, which the points
// do not show.
const Unborn = math.MinInt64

// Counter appends the increases between the samples of a counter to dst, reset-aware and never extrapolated. The first
// cell is the counter's value at its first sample, From Unborn. An increase over a gap is one cell.
func (s Sampling) Counter(dst []Cell, p *Points) []Cell {
	prevT, prevC, g := int64(Unborn), 0.0, s.newGrid(p)
	for x := range s.pieces(p) {
		if !usable(x.v) {
			continue
		}
		first, last := x.first, x.last
		if !s.Exact() {
			if first, last = g.hits(&x); first > last {
				continue
			}
		}
		d := x.v - prevC
		if d < 0 {
			d = x.v
		}
		dst = append(dst, Cell{prevT, first, d})
		if last > first {
			dst = append(dst, Cell{first, last, 0})
		}
		prevT, prevC = last, x.v
	}
	return dst
}

// Gauge appends value × seconds of a gauge to dst. On the grid a hit owns the cell before it; in exact mode a sample owns
// the time since the one before. Over gaps the value before is held.
func (s Sampling) Gauge(dst []Cell, p *Points) []Cell {
	interval, g := s.interval(p), s.newGrid(p)
	prevT, prevV := int64(Unborn), 0.0
	for x := range s.pieces(p) {
		if !usable(x.v) {
			continue
		}
		first, last := x.first, x.last
		from := max(prevT, first-s.Lookback)
		if s.Exact() {
			if prevT == Unborn || first-prevT > s.Lookback {
				from = max(prevT, first-interval)
			}
		} else {
			if first, last = g.hits(&x); first > last {
				continue
			}
			from = max(prevT, first-s.Step)
		}
		if prevT != Unborn && prevT < from {
			dst = append(dst, Cell{prevT, from, prevV * float64(from-prevT) / 1000})
		}
		dst = append(dst, Cell{from, last, x.v * float64(last-from) / 1000})
		prevT, prevV = last, x.v
	}
	return dst
}
