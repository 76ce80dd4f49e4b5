package build

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// fragment is a stretch (from, to] of a container's time that the usage of one series covers.
type fragment struct {
	from, to int64
	rate     float64 // amount used per second at its end; of a soft fragment, all along
	series   uint64  // whose it is, a SeriesID
	counter  float64 // value of the counter at the end of what its series covers
	until    int64   // how long its last sample is seen if no other comes
	// soft says that nothing was seen within it: the increase of a counter over a hole, or a value held at the end of a
	// series. It yields to what another series saw, and to a shorter hole.
	soft bool
}

// coverage is the fragments of one container and resource: sorted, without overlap. Those without a length cover nothing.
type coverage []fragment

// uncovered are the parts of (from, to] that nothing covers.
func (c coverage) uncovered(from, to int64) timeline.Intervals {
	var out timeline.Intervals
	for i := range c {
		f := &c[i]
		if f.to <= from || f.from == f.to {
			continue
		}
		if f.from >= to {
			break
		}
		if f.from > from {
			out = append(out, timeline.Interval{From: from, To: f.from})
		}
		from = max(from, f.to)
	}
	if from < to {
		out = append(out, timeline.Interval{From: from, To: to})
	}
	return out
}

// add puts a fragment, which overlaps no other, into its place.
func (c *coverage) add(f fragment) {
	i, _ := slices.BinarySearchFunc(*c, f.from, func(x fragment, from int64) int { return cmp.Compare(x.from, from) })
	*c = slices.Insert(*c, i, f)
}

// yield takes the soft parts of (from, to] out and returns them. To what is soft itself only those fragments yield that end later: of two
// samples after a hole, the earlier one tells what was used in it, whichever comes first.
func (c *coverage) yield(from, to int64, soft bool) []fragment {
	var out []fragment
	for i := 0; i < len(*c); i++ {
		f := (*c)[i]
		if !f.soft || f.to <= from || f.from >= to || soft && f.to <= to {
			continue
		}
		part, before, after := f, f, f
		part.from, part.to = max(f.from, from), min(f.to, to)
		before.to, after.from = part.from, part.to
		out = append(out, part)
		var rest []fragment
		for _, x := range []fragment{before, after} {
			if x.from < x.to {
				rest = append(rest, x)
			}
		}
		*c = slices.Replace(*c, i, i+1, rest...)
		i += len(rest) - 1
	}
	return out
}

// at is the fragment that covers t, nil if none does.
func (c coverage) at(t int64) *fragment {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].from < t && t <= c[i].to {
			return &c[i]
		}
	}
	return nil
}

// before is the last fragment that ends at or before t, nil if none does.
func (c coverage) before(t int64) *fragment {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].to <= t && c[i].from < c[i].to {
			return &c[i]
		}
	}
	return nil
}

// rise says of a series' first cell that what it has was used since a container started, which is near where the cell begins: so
// fast it is taken to be used on.
func (c coverage) rise(series uint64, first timeline.Cell, since int64) {
	for i := range c {
		if f := &c[i]; f.series == series && f.to == first.To && since < f.to {
			f.rate = first.Amount * 1000 / float64(f.to-since)
		}
	}
}
