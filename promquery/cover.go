package promquery

import (
	"cmp"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// Cover says which times a source has samples of, in Unix milliseconds.
type Cover struct {
	// Gaps are the times before Until that may lack samples, in any order.
	Gaps  []Gap
	Until int64 // the source has no samples from here on
	// Rest reads the time outside of Gaps, without warnings about what is wrong within them. Nil is the source itself.
	Rest Source
}

// Gap is a half-open range of time in Unix milliseconds in which a source may lack samples.
type Gap struct {
	From, To int64
	// Damaged says that the source cannot read data there; its warnings say what. Otherwise it has no data there.
	Damaged bool
}

// Ever is the beginning of a Gap that has no beginning.
const Ever = math.MinInt64 / 2

const (
	// leastCover is the least time between two gaps, in milliseconds. Closer gaps are joined.
	leastCover = int64(3_600_000)
	// mostGaps bounds the number of gaps, because each takes requests of its own.
	mostGaps = 8
)

// tidyGaps sorts gaps, cuts them at until, and joins those that are close to each other. While there are too many, it joins the
// closest ones. It drops a gap that is no longer than a lookback, unless data is known to be damaged there.
func tidyGaps(lacks []Gap, until int64) []Gap {
	lacks = slices.Clone(lacks)
	slices.SortFunc(lacks, func(a, b Gap) int { return cmp.Compare(a.From, b.From) })
	var out []Gap
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
	for len(out) > mostGaps {
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

// with joins l with the later gap o.
func (l Gap) with(o Gap) Gap {
	return Gap{From: l.From, To: max(l.To, o.To), Damaged: l.Damaged || o.Damaged}
}
