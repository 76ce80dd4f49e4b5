package services

import (
	"slices"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Membership is when a pod was behind a service.
type Membership struct {
	Service signals.Symbol
	When    timeline.Intervals
}

// Memberships returns the services that a pod was behind, by name; never nil. near is how far apart sights of one moment may be: targets are
// scraped at different times, and a pod takes time to end. A sight holds for at most most. No signals may be added afterwards.
func (x *Index) Memberships(p *Pod, near, most int64) []Membership {
	own := timeline.Interval{From: timeline.Unborn, To: timeline.Forever}
	if n := len(p.Seen); n > 0 {
		own = timeline.Interval{From: p.Seen[0].From - near, To: p.Seen[n-1].To + near}
	}
	sights, observed := x.sights(p, own)
	all := make([]Membership, 0, len(sights))
	if len(sights) == 0 {
		return all
	}
	watched := timeline.Intersection(observed, p.Seen)
	for _, sight := range sights {
		i, ok := slices.BinarySearchFunc(all, sight.Value, func(m Membership, service signals.Symbol) int { return signals.Compare(m.Service, service) })
		if !ok {
			all = slices.Insert(all, i, Membership{Service: sight.Value})
		}
		all[i].When = timeline.Union(append(all[i].When, sights.Hold(sight.Interval, watched, near, most)))
	}
	return all
}
