package timeline

import (
	"math"
	"slices"
	"sort"
)

// Gauge appends value × seconds of a gauge to dst. On the grid a hit owns the cell before it; in exact mode a sample owns
// the time since the one before. Gaps longer than the lookback are left out, shorter ones hold the value before.
func (s Sampling) Gauge(dst []Cell, p *Points) []Cell { return s.cut(dst, p, false, nil) }

// Counter appends the increases between the samples of a counter to dst, reset-aware and never extrapolated. The first
// cell is the counter's value at its first sample, From Unborn. An increase over a gap is one cell, but for the time before it in which
// the grid sees the sample before again: nothing was used in that. Nor does anything tell of that time after the last sample.
func (s Sampling) Counter(dst []Cell, p *Points) []Cell { return s.cut(dst, p, true, nil) }

// Joiner makes few cells of many samples: it joins the cells of samples that follow each other without a hole. It leaves alone the
// first two cells of a series, those on both sides of a hole, and those that hold a value.
type Joiner struct {
	// Until returns until when cells may be joined with that of (from, to]; before to, if that one must not be joined. nil is no bound.
	Until func(from, to int64) int64
	// Limit is the highest increase of a counter in a second that is joined, with a second more than the cell has; 0 is no limit.
	Limit float64
	// Keep says that Parts are needed. Without it, only sums of parts are known.
	Keep  bool
	Parts []Part

	times []int64   // scratch of seen
	same  []float64 // scratch of seen and of repeat
	ends  [2]Part   // scratch of Within
}

// Part is one of the cells that were joined.
type Part struct {
	From, To int64
	Amount   float64
}

// Clip is the part of x within (from, to], with its share of the amount. They overlap.
func (x Part) Clip(from, to int64) Part {
	if x.From >= from && x.To <= to {
		return x
	}
	out := Part{From: max(x.From, from), To: min(x.To, to)}
	out.Amount = x.Amount * (float64(out.To-out.From) / float64(x.To-x.From))
	return out
}

// Of are the parts that a cell was joined of, none if it was not.
func (j *Joiner) Of(x *Cell) []Part { return j.Parts[x.At:][:x.Parts] }

// Within calls f with what of a cell's parts, or of the cell if it was not joined, lies within (from, to]. They overlap. f must not keep them.
func (j *Joiner) Within(x *Cell, from, to int64, f func([]Part)) {
	if x.Parts == 0 {
		j.ends[0] = Part{From: x.From, To: x.To, Amount: x.Amount}.Clip(from, to)
		f(j.ends[:1])
		return
	}
	parts := j.Of(x)
	parts = parts[sort.Search(len(parts), func(k int) bool { return parts[k].To > from }):]
	parts = parts[:sort.Search(len(parts), func(k int) bool { return parts[k].From >= to })]
	if first := parts[0]; first.From < from {
		j.ends[0] = first.Clip(from, to)
		f(j.ends[:1])
		parts = parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].To > to {
		j.ends[1] = parts[n-1].Clip(from, to)
		f(parts[:n-1])
		f(j.ends[1:])
		return
	}
	f(parts)
}

// Gauge is Sampling.Gauge with joined cells. It forgets the parts of the cells made before.
func (j *Joiner) Gauge(s Sampling, dst []Cell, p *Points) []Cell {
	j.Parts = j.Parts[:0]
	return s.cut(dst, p, false, j)
}

// Counter is Sampling.Counter with joined cells. It forgets the parts of the cells made before.
func (j *Joiner) Counter(s Sampling, dst []Cell, p *Points) []Cell {
	j.Parts = j.Parts[:0]
	return s.cut(dst, p, true, j)
}

// cutter makes the cells of a series.
type cutter struct {
	Sampling
	grid    grid
	counter bool
	join    *Joiner // nil joins none
	dst     []Cell
	begun   int // where in dst the series begins

	interval     int64 // of samples, in exact mode
	prevT, again int64 // the last times that saw a new sample, and the same one again
	prevV        float64
	caught       bool // the increase since then is spread over a hole
}

func (s Sampling) cut(dst []Cell, p *Points, counter bool, join *Joiner) []Cell {
	c := cutter{Sampling: s, counter: counter, join: join, dst: dst, begun: len(dst), prevT: Unborn, again: Unborn}
	tail := s.Lookback
	if counter {
		tail = s.Step
	}
	if c.grid = s.newGrid(p, tail, s.Lookback); !counter && s.Exact() {
		c.interval = s.interval(p)
	}
	for i := range p.spans {
		c.span(p, i)
	}
	return c.dst
}

// span adds the cells of a span.
func (c *cutter) span(p *Points, i int) {
	x, after := &p.spans[i], p.after(i)
	switch {
	case x.unbroken(p, c.dense()), x.level && c.meetAll(p.t[x.off:][:x.n]):
		first, v := x.sample(p, 0)
		c.add(&piece{first: first, last: x.last(p), v: v, next: after})
	case x.level && c.join != nil:
		c.samples(p.t[x.off:][:x.n], c.join.repeat(x.value, x.n), after)
	case x.run || x.level:
		for k := range x.n {
			t, v := x.sample(p, k)
			next := after
			if k+1 < x.n {
				next, _ = x.sample(p, k+1)
			}
			c.add(&piece{first: t, last: t, v: v, next: next})
		}
	default:
		c.samples(p.t[x.off:][:x.n], p.v[x.off:][:x.n], after)
	}
}

// meetAll reports whether samples lie in all cells of the grid from the first one to the last: if their distances jitter about its
// step, only their times tell.
func (c *cutter) meetAll(ts []int64) bool {
	if c.Exact() || c.grid.sampled || c.Step > c.Lookback {
		return false
	}
	at, step := c.grid.reach(ts[0]), c.Step
	for _, t := range ts {
		if t > at {
			at += step
		}
		if t > at {
			return false
		}
	}
	return true
}

// samples adds the cells of samples, which another one follows at after. Once it meets one that the grid does not see, it leaves out
// all of these, so that the cells of the others can be joined.
func (c *cutter) samples(ts []int64, vs []float64, after int64) {
	for k := 0; k < len(ts); k++ {
		if k += c.joined(ts[k:], vs[k:]); k == len(ts) {
			return
		}
		next := after
		if k+1 < len(ts) {
			next = ts[k+1]
		}
		if c.join != nil && !c.Exact() && next <= c.grid.reach(ts[k]) {
			ts, vs = c.join.lastByPoint(c.grid, ts[k+1:], vs[k+1:])
			c.samples(ts, vs, after)
			return
		}
		c.add(&piece{first: ts[k], last: ts[k], v: vs[k], next: next})
	}
}

// lastByPoint returns the last samples up to each point of a grid. The slices are valid until the next call. vs may be what repeat
// returned.
func (j *Joiner) lastByPoint(g grid, ts []int64, vs []float64) ([]int64, []float64) {
	times, same := slices.Grow(j.times[:0], len(ts))[:len(ts)], slices.Grow(j.same[:0], len(ts))[:len(ts)]
	n, at := -1, int64(math.MinInt64)
	for k, t := range ts {
		if t > at {
			n, at = n+1, g.reach(t)
		}
		times[n], same[n] = t, vs[k]
	}
	j.times, j.same = times, same
	return times[:n+1], same[:n+1]
}

// repeat is v n times. It is valid until the next call.
func (j *Joiner) repeat(v float64, n int) []float64 {
	j.same = j.same[:0]
	for range n {
		j.same = append(j.same, v)
	}
	return j.same
}

// add adds the cells of a sample, or of several with one value.
func (c *cutter) add(x *piece) {
	if !usable(x.v) {
		return
	}
	first, held, last := x.first, x.last, x.last
	if !c.Exact() {
		if first, held, last = c.grid.hits(x); first > last {
			return
		}
	}
	if c.counter {
		c.addIncrease(first, held, last, x.v)
	} else {
		c.addLevel(first, held, last, x.v)
	}
}

// addIncrease adds what a counter says: at first and held there is the first and the last sample of a value, until last it is seen again.
func (c *cutter) addIncrease(first, held, last int64, v float64) {
	if c.again > c.prevT {
		c.dst = append(c.dst, Cell{From: c.prevT, To: c.again, Held: true})
	}
	hole := c.prevT != Unborn && first-c.again > max(c.Lookback, c.Step)
	c.dst = append(c.dst, Cell{From: c.again, To: first, Amount: increase(c.prevV, v), Held: c.caught || hole})
	if held > first {
		c.dst = append(c.dst, Cell{From: first, To: held})
	}
	c.prevT, c.again, c.prevV, c.caught = held, last, v, last > held
}

// addLevel is addIncrease for a gauge.
func (c *cutter) addLevel(first, held, last int64, v float64) {
	if c.Exact() && len(c.dst) > c.begun+1 && v == c.prevV && first-c.prevT < c.Lookback {
		// One value is one cell, however its samples lie in chunks: sums of the same samples are the same to the last digit.
		level := &c.dst[len(c.dst)-1]
		level.To, level.Amount = last, v*float64(last-level.From)/1000
		c.prevT, c.again = last, last
		return
	}
	from := max(c.prevT, first-c.Lookback)
	switch {
	case !c.Exact():
		from = max(c.prevT, first-c.Step)
	case c.prevT == Unborn || first-c.prevT > c.Lookback:
		from = max(c.prevT, first-c.interval)
	}
	if c.prevT != Unborn && c.prevT < from && from-c.prevT <= c.Lookback {
		c.dst = append(c.dst, Cell{From: c.prevT, To: from, Amount: c.prevV * float64(from-c.prevT) / 1000, Held: true})
	}
	if c.Exact() && len(c.dst) > c.begun {
		first = held
	}
	c.dst = append(c.dst, Cell{From: from, To: first, Amount: v * float64(first-from) / 1000})
	if held > first { // separate, because callers look at the first cell to see the value when the series began
		c.dst = append(c.dst, Cell{From: first, To: held, Amount: v * float64(held-first) / 1000})
	}
	if last > held {
		c.dst = append(c.dst, Cell{From: held, To: last, Amount: v * float64(last-held) / 1000, Held: true})
	}
	c.prevT, c.again, c.prevV = last, last, v
}

// joins reports whether a cell up to t may be joined with those after it.
func (c *cutter) joins() bool {
	n := len(c.dst)
	return c.join != nil && n > c.begun+1 && !c.dst[n-1].Held && !c.caught && c.again == c.dst[n-1].To
}

// joined adds the cells of the first samples that follow each other without a hole, all but the last of them joined to one. It
// returns how many samples these are.
func (c *cutter) joined(ts []int64, vs []float64) (n int) {
	switch {
	case !c.joins():
		return 0
	case !c.Exact():
		return c.joinHits(ts, vs)
	case c.counter:
		return c.joinRises(ts, vs)
	}
	return c.joinLevels(ts, vs)
}

// joinRises is joined for a counter in exact mode. It ends before a reset.
func (c *cutter) joinRises(ts []int64, vs []float64) (n int) {
	at, v, end, lookback, limit, parts := c.again, c.prevV, c.until(ts[0]), c.Lookback, c.limit(), c.join.room(len(ts))
	vs = vs[:len(ts)]
	for n < len(ts) && ts[n] <= end && ts[n]-at <= lookback && vs[n] >= v && vs[n]-v <= limit*float64(ts[n]-at+1000) {
		if n < len(parts) {
			parts[n] = Part{From: at, To: ts[n], Amount: vs[n] - v}
		}
		at, v = ts[n], vs[n]
		n++
	}
	if n == 0 {
		return 0
	}
	from, before := c.again, c.prevV
	if n > 1 {
		from, before = ts[n-2], vs[n-2]
	}
	c.addJoined(n-1, before-c.prevV, Part{From: from, To: at, Amount: v - before}, v)
	return n
}

// joinLevels is joined for a gauge in exact mode. See addLevel for samples of one value.
func (c *cutter) joinLevels(ts []int64, vs []float64) (n int) {
	at, v, end, lookback, parts := c.again, c.prevV, c.until(ts[0]), c.Lookback, c.join.room(len(ts))
	sum, values, last := 0.0, 0, Part{From: at, To: at}
	vs = vs[:len(ts)]
	for ; n < len(ts) && ts[n] <= end && ts[n]-at <= lookback && usable(vs[n]); n++ {
		switch {
		case vs[n] != v || ts[n]-at == lookback:
			sum += last.Amount
			last = Part{From: at, To: ts[n], Amount: vs[n] * float64(ts[n]-at) / 1000}
			values++
		case n == 0:
			return 0
		default:
			last.To, last.Amount = ts[n], v*float64(ts[n]-last.From)/1000
		}
		if values <= len(parts) {
			parts[values-1] = last
		}
		at, v = ts[n], vs[n]
	}
	if n > 0 {
		c.addJoined(values-1, sum, last, v)
	}
	return n
}

// joinHits is joined on a grid: the grid sees one sample after the other, each at its next time, and then another one. It ends before a
// reset.
func (c *cutter) joinHits(ts []int64, vs []float64) (n int) {
	at, v, step, width, end := c.again, c.prevV, c.Step, uint64(min(c.Step, c.Lookback)), c.until(ts[0])
	if c.grid.sampled {
		width = 1
	}
	if at+step > end || uint64(at+step-ts[0]) >= width {
		return 0
	}
	counter, least, most := c.counter, -math.MaxFloat64, math.MaxFloat64
	if counter {
		least, most = 0, c.limit()*float64(step+1000)
	}
	after := ts[1:][:min(int64(len(ts)-1), (end-at)/step)]
	vs = vs[:len(after)]
	parts, sum, last := c.join.room(len(after)), 0.0, 0.0
	for k, next := range after {
		amount := vs[k] - v
		if !counter {
			amount = vs[k] * float64(step) / 1000
		}
		if uint64(at+2*step-next) >= width || !(least <= amount && amount <= most) {
			break
		}
		if k < len(parts) {
			parts[k] = Part{From: at, To: at + step, Amount: amount}
		}
		sum += last
		at, v, last, n = at+step, vs[k], amount, k+1
	}
	if n > 0 {
		c.addJoined(n-1, sum, Part{From: at - step, To: at, Amount: last}, v)
	}
	return n
}

// room is room for n more parts, if they are kept.
func (j *Joiner) room(n int) []Part {
	if !j.Keep {
		return nil
	}
	j.Parts = slices.Grow(j.Parts, n)
	return j.Parts[len(j.Parts):][:n]
}

// addJoined adds a cell of the first n parts in room, which have sum, and one of the last part, at whose end the value is v.
func (c *cutter) addJoined(n int, sum float64, last Part, v float64) {
	if j := c.join; n > 0 {
		x := Cell{From: c.again, To: last.From, Amount: sum}
		if j.Keep {
			x.At, x.Parts = int32(len(j.Parts)), int32(n)
			j.Parts = j.Parts[:len(j.Parts)+n]
		}
		c.dst = append(c.dst, x)
	}
	c.dst = append(c.dst, Cell{From: last.From, To: last.To, Amount: last.Amount})
	c.prevT, c.again, c.prevV, c.grid.at = last.To, last.To, v, last.To
}

// until is until when cells may be joined, if the first sample is at t.
func (c *cutter) until(t int64) int64 {
	end := int64(math.MaxInt64)
	if !c.Exact() {
		t, end = c.again+c.Step, c.End
	}
	if c.join.Until != nil {
		end = min(end, c.join.Until(c.again, t))
	}
	return end
}

// limit is the highest increase in a millisecond that is joined. It is finite: an infinite one is not.
func (c *cutter) limit() float64 {
	if c.join.Limit == 0 {
		return math.MaxFloat64 / float64(math.MaxInt64)
	}
	return c.join.Limit / 1000
}
