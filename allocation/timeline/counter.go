package timeline

import "slices"

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
			at, v := x.sample(p, k)
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
