package timeline

import "slices"

// Counter appends the increases between the samples of a counter to dst, reset-aware and never extrapolated. The first
// cell is the counter's value at its first sample, From Unborn. An increase over a gap is one cell, but for the time before it in which
// the grid sees the sample before again: nothing was used in that. Nor does anything tell of that time after the last sample.
func (s Sampling) Counter(dst []Cell, p *Points) []Cell {
	if s.Exact() {
		return s.exactCounter(dst, p)
	}
	c := gridCounter{dst: slices.Grow(dst, p.n), prevT: Unborn, again: Unborn, most: max(s.Lookback, s.Step)}
	g := s.newGrid(p, s.Step, s.Lookback)
	for i := range p.spans {
		x, after := &p.spans[i], p.after(i)
		switch {
		case !x.run && !x.level: // counters have the most samples of all inputs, so it looks at them where they lie
			ts, v := p.t[x.off:][:x.n], p.v[x.off:][:x.n]
			for k, t := range ts {
				next := after
				if k+1 < len(ts) {
					next = ts[k+1]
				}
				if first, last := g.hit(t, next); first <= last && usable(v[k]) {
					c.add(first, first, last, v[k])
				}
			}
		case !usable(x.value):
		case x.unbroken(p, s.dense()):
			first, _ := x.at(p, 0)
			one := piece{first: first, last: x.last(p), next: after}
			if first, held, last := g.hits(&one); first <= last {
				c.add(first, held, last, x.value)
			}
		default:
			for k := range x.n {
				t, v := x.at(p, k)
				next := after
				if k+1 < x.n {
					next, _ = x.at(p, k+1)
				}
				if first, last := g.hit(t, next); first <= last {
					c.add(first, first, last, v)
				}
			}
		}
	}
	return c.dst
}

// gridCounter makes the cells of a counter on the grid.
type gridCounter struct {
	dst          []Cell
	prevT, again int64 // the last points of the grid that saw a new sample, and the same one again
	prevC        float64
	caught       bool // the increase since then is spread over a hole
	most         int64
}

// add adds what the counter says at points of the grid: first and held see the first and the last sample of a value, last sees it again.
func (c *gridCounter) add(first, held, last int64, v float64) {
	if c.again > c.prevT {
		c.dst = append(c.dst, Cell{From: c.prevT, To: c.again, Held: true})
	}
	c.caught = c.caught || c.prevT != Unborn && first-c.again > c.most
	c.dst = append(c.dst, Cell{c.again, first, increase(c.prevC, v), c.caught})
	if held > first {
		c.dst = append(c.dst, Cell{From: first, To: held})
	}
	c.prevT, c.again, c.prevC, c.caught = held, last, v, last > held
}

// exactCounter is Counter in exact mode. Counters have the most samples of all inputs, so it looks at them where they lie.
func (s Sampling) exactCounter(dst []Cell, p *Points) []Cell {
	dst = slices.Grow(dst, p.n+len(p.spans))
	prevT, prevC := int64(Unborn), 0.0
	put := func(t int64, v float64) {
		dst = append(dst, Cell{prevT, t, increase(prevC, v), prevT != Unborn && t-prevT > s.Lookback})
		prevT, prevC = t, v
	}
	for i := range p.spans {
		x := &p.spans[i]
		switch {
		case !x.run && !x.level:
			v := p.v[x.off:][:x.n]
			for k, t := range p.t[x.off:][:x.n] {
				if usable(v[k]) {
					put(t, v[k])
				}
			}
		case !usable(x.value):
		case x.unbroken(p, s.dense()):
			first, v := x.at(p, 0)
			put(first, v)
			if last := x.last(p); last > first {
				dst = append(dst, Cell{From: first, To: last})
				prevT = last
			}
		default:
			for k := range x.n {
				put(x.at(p, k))
			}
		}
	}
	return dst
}

// GoOn are the cells of a counter, in their place, of which earlier samples were read: their cells ended at from, where the counter
// had that value and was seen until then (see SeenAt). The cells are as if all samples had been read at once.
func (s Sampling) GoOn(cells []Cell, p *Points, from, until int64, value float64) []Cell {
	first := &cells[0]
	first.From, first.Amount = from, increase(value, first.Amount)
	first.Held = first.To-from > max(s.Lookback, s.Step)
	if s.Exact() || p.sampled {
		return cells
	}
	held := s.ceil(min(until, p.First())) - s.Step
	if held <= from {
		return cells
	}
	first.From, first.Held = held, true
	return slices.Insert(cells, 0, Cell{From: from, To: held, Held: true})
}

// SeenAt is the last usable value of p at or before t, and until when an instant sees it if nothing follows that p does not have.
func (s Sampling) SeenAt(p *Points, t int64) (value float64, until int64) {
	next := int64(Forever)
	for i := len(p.spans) - 1; i >= 0; i-- {
		x := &p.spans[i]
		for k := x.n - 1; k >= 0; k-- {
			at, v := x.at(p, k)
			if at <= t && usable(v) {
				return v, min(next, at+s.Lookback)
			}
			next = at
		}
	}
	return 0, t
}

// increase is by how much a counter rose, which may have begun anew.
func increase(before, now float64) float64 {
	if d := now - before; d >= 0 {
		return d
	}
	return now
}
