package promquery

import (
	"cmp"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// Cover is what a source has of time, Unix milliseconds.
type Cover struct {
	// Lacks are the stretches before Until of which samples may be missing, in any order.
	Lacks []Lack
	Until int64 // what is from here on is not in the source
	// Rest reads what is outside of Lacks and is silent about what is wrong within; nil is the source itself.
	Rest Source
}

// Lack is a stretch of time, Unix milliseconds and half-open, of which a source may not have all samples.
type Lack struct {
	From, To int64
	// Damaged says that the source tells, in its warnings, what it is that it cannot read there. Else it just has nothing.
	Damaged bool
}

// Ever is the beginning of a Lack that has none.
const Ever = math.MinInt64 / 2

const (
	// leastCover is how long a stretch between two lacks is at least that is read by itself, in milliseconds.
	leastCover = int64(3_600_000)
	// mostLacks is how many lacks are read by themselves: each is asked for in requests of its own.
	mostLacks = 8
)

// apart are lacks in order, cut at until, those that are close to each other joined, and the closest ones where there are many.
// One that is no longer than a lookback is none, unless something is known to be wrong there.
func apart(lacks []Lack, until int64) []Lack {
	lacks = slices.Clone(lacks)
	slices.SortFunc(lacks, func(a, b Lack) int { return cmp.Compare(a.From, b.From) })
	var out []Lack
	for _, l := range lacks {
		l.To = min(l.To, until)
		n := len(out)
		switch {
		case l.From >= l.To, !l.Damaged && l.To-l.From <= timeline.Lookback:
		case n > 0 && l.From-out[n-1].To < leastCover:
			out[n-1] = out[n-1].with(l)
		default:
			out = append(out, l)
		}
	}
	for len(out) > mostLacks {
		closest := 1
		for i := range out {
			if i > 0 && out[i].From-out[i-1].To < out[closest].From-out[closest-1].To {
				closest = i
			}
		}
		out[closest-1] = out[closest-1].with(out[closest])
		out = slices.Delete(out, closest, closest+1)
	}
	return out
}

// with is a lack of l and of o, which is later, and of what is between.
func (l Lack) with(o Lack) Lack {
	return Lack{From: l.From, To: max(l.To, o.To), Damaged: l.Damaged || o.Damaged}
}
