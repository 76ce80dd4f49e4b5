package allocation

import (
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// dated are the maps of labels, or annotations, that something had, each with when it was seen. Only changes are kept.
type dated []datedMap

type datedMap struct {
	timeline.Interval
	id ID
}

// add notes when a map was seen.
func (d *dated) add(id ID, seen timeline.Steps) {
	for _, x := range seen {
		if i := slices.IndexFunc(*d, func(o datedMap) bool { return o.id == id && o.From <= x.To && x.From <= o.To }); i >= 0 {
			(*d)[i].From, (*d)[i].To = min((*d)[i].From, x.From), max((*d)[i].To, x.To)
			continue
		}
		*d = append(*d, datedMap{timeline.Interval{From: x.From, To: x.To}, id})
	}
}

// at is the map at t: of those seen before, the one that was seen last, and of several the one that came last; else the one that
// is seen first. It is 0 where there is none.
func (d dated) at(t int64) ID {
	var best *datedMap
	for i := range d {
		x := &d[i]
		switch {
		case best == nil:
			best = x
		case x.From >= t || best.From >= t:
			if x.From < best.From {
				best = x
			}
		case min(x.To, t) > min(best.To, t), min(x.To, t) == min(best.To, t) && x.From > best.From:
			best = x
		}
	}
	if best == nil {
		return 0
	}
	return best.id
}
