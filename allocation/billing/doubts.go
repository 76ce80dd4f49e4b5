package billing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// doubt is what two parts charge for the same resources on the same days, where both count.
type doubt struct {
	first, last  int64 // days
	resources    map[string]bool
	older, newer float64
}

// add adds what both charge for a resource in a day.
func (d *doubt) add(name string, day int64, older, newer float64) {
	if len(d.resources) == 0 {
		d.first = day
	}
	d.last = day
	d.resources[name] = true
	d.older, d.newer = d.older+older, d.newer+newer
}

// compare adds what both parts charge for the same resources in a day: usage that counts, and other lines whose amounts differ.
func (d *doubt) compare(older, newer *dayLines, usage bool, day int64) {
	for resource, cost := range older.costs {
		if other, both := newer.costs[resource]; both && usage {
			d.add(resource, day, cost, other)
		}
	}
	if len(older.others) == 0 {
		return
	}
	changed := map[uint64]float64{} // cost, by what the line is of
	for line, o := range newer.others {
		if more := o.times - older.others[line].times; more > 0 {
			changed[o.what] += float64(more) * o.cost
		}
	}
	for line, o := range older.others {
		if more := o.times - newer.others[line].times; more > 0 {
			if cost, both := changed[o.what]; both {
				d.add(o.name, day, float64(more)*o.cost, cost)
			}
		}
	}
}

// mostDoubts is how many warnings about deliveries that charge the same there are of a statement.
const mostDoubts = 5

// warn warns of parts that charge the same resources on the same days.
func (s *stander) warn(parts []part, doubts map[[2]int]*doubt) {
	maps.DeleteFunc(doubts, func(_ [2]int, d *doubt) bool { return len(d.resources) == 0 })
	pairs := slices.SortedFunc(maps.Keys(doubts), func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(doubts[b].newer+doubts[b].older, doubts[a].newer+doubts[a].older), slices.Compare(a[:], b[:]))
	})
	for k, pair := range pairs {
		older, newer, d := &parts[pair[0]], &parts[pair[1]], doubts[pair]
		if k == mostDoubts {
			s.warnings = append(s.warnings, fmt.Sprintf("bill %s: %d more pairs of folders charge the same resources on the same days", older.Bill, len(pairs)-k))
			break
		}
		date := func(day int64) string { return time.Unix(day, 0).In(s.zone).Format(time.DateOnly) }
		s.warnings = append(s.warnings, fmt.Sprintf("bill %s: %s and the newer %s both charge %d resources from %s to %s, %.2f and %.2f, and both count: set deliveries: replace if the newer one restates the older one, deliveries: add if not",
			older.Bill, older.Delivery, newer.Delivery, len(d.resources), date(d.first), date(d.last), d.older, d.newer))
	}
}
