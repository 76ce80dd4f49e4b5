package timeline

import "math"

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

	same []float64 // scratch of repeat
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
	case x.unbroken(p, c.dense()):
		first, v := x.at(p, 0)
		c.add(&piece{first: first, last: x.last(p), v: v, next: after})
	case x.level && c.join != nil:
		c.samples(p.t[x.off:][:x.n], c.join.repeat(x.value, x.n), after)
	case x.run || x.level:
		for k := range x.n {
			t, v := x.at(p, k)
			next := after
			if k+1 < x.n {
				next, _ = x.at(p, k+1)
			}
			c.add(&piece{first: t, last: t, v: v, next: next})
		}
	default:
		c.samples(p.t[x.off:][:x.n], p.v[x.off:][:x.n], after)
	}
}

// samples adds the cells of samples, which another one follows at after.
func (c *cutter) samples(ts []int64, vs []float64, after int64) {
	for k := 0; k < len(ts); k++ {
		if k += c.joined(ts[k:], vs[k:]); k == len(ts) {
			break
		}
		next := after
		if k+1 < len(ts) {
			next = ts[k+1]
		}
		c.add(&piece{first: ts[k], last: ts[k], v: vs[k], next: next})
	}
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
	at, v, end, lookback, limit := c.again, c.prevV, c.until(ts[0]), c.Lookback, c.limit()
	keep, parts := c.join.Keep, c.join.Parts
	vs = vs[:len(ts)]
	for n < len(ts) && ts[n] <= end && ts[n]-at <= lookback && vs[n] >= v && vs[n]-v <= limit*float64(ts[n]-at+1000) {
		if keep {
			parts = append(parts, Part{From: at, To: ts[n], Amount: vs[n] - v})
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
	c.addJoined(parts[:max(len(parts)-1, 0)], before-c.prevV, Part{From: from, To: at, Amount: v - before}, v)
	return n
}

// joinLevels is joined for a gauge in exact mode. See addLevel for samples of one value.
func (c *cutter) joinLevels(ts []int64, vs []float64) (n int) {
	at, v, end, lookback := c.again, c.prevV, c.until(ts[0]), c.Lookback
	keep, parts, sum := c.join.Keep, c.join.Parts, 0.0
	last := Part{From: at, To: at}
	vs = vs[:len(ts)]
	for ; n < len(ts) && ts[n] <= end && ts[n]-at <= lookback && usable(vs[n]); n++ {
		switch {
		case vs[n] != v || ts[n]-at == lookback:
			if sum += last.Amount; keep && n > 0 {
				parts = append(parts, last)
			}
			last = Part{From: at, To: ts[n], Amount: vs[n] * float64(ts[n]-at) / 1000}
		case n == 0:
			return 0
		default:
			last.To, last.Amount = ts[n], v*float64(ts[n]-last.From)/1000
		}
		at, v = ts[n], vs[n]
	}
	if n > 0 {
		c.addJoined(parts, sum, last, v)
	}
	return n
}

// joinHits is joined on a grid: the grid sees one sample after the other, each at its next time. It ends before a reset.
func (c *cutter) joinHits(ts []int64, vs []float64) (n int) {
	at, v, end, step, lookback := c.again, c.prevV, c.until(ts[0]), c.Step, c.Lookback
	keep, parts, sum, last := c.join.Keep, c.join.Parts, 0.0, 0.0
	counter, least, most := c.counter, -math.MaxFloat64, math.MaxFloat64
	if counter {
		least, most = 0, c.limit()*float64(step+1000)
	}
	vs = vs[:len(ts)]
	for k := 0; k+1 < len(ts); k++ {
		t, next := at+step, ts[k+1]
		if next <= t {
			continue // the grid sees a later one
		}
		amount := vs[k] - v
		if !counter {
			amount = vs[k] * float64(step) / 1000
		}
		if ts[k] > t || next > t+step || t > end || t-ts[k] >= lookback || c.grid.sampled && ts[k] != t || !(least <= amount && amount <= most) {
			break
		}
		if sum += last; keep && n > 0 {
			parts = append(parts, Part{From: at - step, To: at, Amount: last})
		}
		at, v, last, n = t, vs[k], amount, k+1
	}
	if n > 0 {
		c.addJoined(parts, sum, Part{From: at - step, To: at, Amount: last}, v)
	}
	return n
}

// addJoined adds a cell of parts, which have sum, and one of the last part, at whose end the value is v.
func (c *cutter) addJoined(parts []Part, sum float64, last Part, v float64) {
	if j := c.join; last.From > c.again {
		c.dst = append(c.dst, Cell{From: c.again, To: last.From, Amount: sum, At: int32(len(j.Parts)), Parts: int32(len(parts) - len(j.Parts))})
		j.Parts = parts
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
