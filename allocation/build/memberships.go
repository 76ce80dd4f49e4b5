package build

import (
	"slices"

	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// membership is when a pod was behind a service.
type membership struct {
	service signals.Symbol
	when    timeline.Intervals
}

// memberships returns the services that a pod was behind, by name. The first call finds them.
func (b *Builder) memberships(p *pod) []membership {
	if p.behind != nil {
		return p.behind
	}
	near := b.nearSights()
	own := timeline.Interval{From: timeline.Unborn, To: timeline.Forever}
	if n := len(p.seen); n > 0 {
		own = timeline.Interval{From: p.seen[0].From - near, To: p.seen[n-1].To + near}
	}
	sights, observed := b.services.behind.Behind(&services.Pod{Object: p.named(), Address: p.address, Labels: p.labels}, own)
	p.behind = []membership{}
	if len(sights) == 0 {
		return p.behind
	}
	watched := timeline.Intersection(observed, p.seen)
	for _, x := range sights {
		i, ok := slices.BinarySearchFunc(p.behind, x.Value, func(m membership, service signals.Symbol) int { return signals.Compare(m.service, service) })
		if !ok {
			p.behind = slices.Insert(p.behind, i, membership{service: x.Value})
		}
		p.behind[i].when = timeline.Union(append(p.behind[i].when, sights.Hold(x.Interval, watched, near, b.evidence.most)))
	}
	return p.behind
}

// nearSights is how far apart sights of one moment may be: targets are scraped at different times, and a pod takes time to end.
func (b *Builder) nearSights() int64 {
	const ending = 60_000
	return min(timeline.Lookback, max(2*b.sampling.Cell(), ending))
}

// servicesAt are the names of the services that a pod is behind at t, sorted.
func (b *Builder) servicesAt(p *pod, t int64) (names []string) {
	for _, x := range b.memberships(p) {
		if _, ok := x.when.Find(t); ok {
			names = append(names, x.service.Value())
		}
	}
	return names
}
