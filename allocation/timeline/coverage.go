package timeline

import (
	"cmp"
	"slices"
	"sort"
)

// Fragment is a stretch (from, to] of a container's time that the usage of one series covers.
type Fragment struct {
	From, To int64
	Rate     float64 // amount used per second at its end; of a soft fragment, all along
	Series   uint64  // whose it is, a SeriesID
	Counter  float64 // value of the counter at the end of its coverage
	Until    int64   // how long its last sample counts if no other comes
	// soft says that nothing was seen within it: the increase of a counter over a hole, or a value held at the end of a
	// series. It yields to what another series saw, and to a shorter hole.
	Soft bool
}

// Coverage is the fragments of one container and resource: sorted, without overlap. Those without a length cover nothing.
type Coverage []Fragment

// after is the index of the first fragment that may reach beyond t.
func (c Coverage) after(t int64) int {
	i := sort.Search(len(c), func(i int) bool { return c[i].From > t })
	for i > 0 {
		if i--; c[i].From < c[i].To {
			break
		}
	}
	return i
}

// Has reports whether a series covers any time.
func (c Coverage) Has(series uint64) bool {
	return slices.ContainsFunc(c, func(f Fragment) bool { return f.Series == series })
}

// Uncovered appends to out the parts of (from, to] that nothing covers.
func (c Coverage) Uncovered(out Intervals, from, to int64) Intervals {
	for i := c.after(from); i < len(c); i++ {
		f := &c[i]
		if f.To <= from || f.From == f.To {
			continue
		}
		if f.From >= to {
			break
		}
		if f.From > from {
			out = append(out, Interval{From: from, To: f.From})
		}
		from = max(from, f.To)
	}
	if from < to {
		out = append(out, Interval{From: from, To: to})
	}
	return out
}

// Reserve makes room for n more fragments.
func (c *Coverage) Reserve(n int) {
	if cap(*c)-len(*c) < n {
		*c = append(make(Coverage, 0, len(*c)+n), *c...) // no more than that: there are many
	}
}

// Add puts a fragment, which overlaps no other, into its place.
func (c *Coverage) Add(f Fragment) {
	i, _ := slices.BinarySearchFunc(*c, f.From, func(x Fragment, from int64) int { return cmp.Compare(x.From, from) })
	*c = slices.Insert(*c, i, f)
}

// Yield takes the soft parts of (from, to] out and returns them. A soft stretch only takes soft fragments that end later: of
// two samples after a hole, the earlier one says what was used in the hole, whichever is added first.
func (c *Coverage) Yield(from, to int64, soft bool) []Fragment {
	var out []Fragment
	for i := c.after(from); i < len(*c) && (*c)[i].From < to; i++ {
		f := (*c)[i]
		if !f.Soft || f.To <= from || soft && f.To <= to {
			continue
		}
		part, before, after := f, f, f
		part.From, part.To = max(f.From, from), min(f.To, to)
		before.To, after.From = part.From, part.To
		out = append(out, part)
		if (*c)[i] = before; before.From == before.To {
			*c = slices.Delete(*c, i, i+1)
			i--
		}
		if after.From < after.To {
			c.Add(after)
		}
	}
	return out
}

// CoveringAt is the fragment that covers t, nil if none does.
func (c Coverage) CoveringAt(t int64) *Fragment {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].From < t && t <= c[i].To {
			return &c[i]
		}
	}
	return nil
}

// Before is the last fragment that ends at or before t, nil if none does.
func (c Coverage) Before(t int64) *Fragment {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].To <= t && c[i].From < c[i].To {
			return &c[i]
		}
	}
	return nil
}

// Rise says of a series' first cell that what it has was used since a container started, which is near where the cell begins: so
// fast it is taken to be used on.
func (c Coverage) Rise(series uint64, first Cell, since int64) {
	for i := range c {
		if f := &c[i]; f.Series == series && f.To == first.To && since < f.To {
			f.Rate = first.Amount * 1000 / float64(f.To-since)
		}
	}
}
