package resolve

import (
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/timeline"
)

// Memberships returns the services that a pod was behind, by name. The first call finds them.
func (rs *Resolver) Memberships(p *observe.Pod) []services.Membership {
	if p.Behind == nil {
		p.Behind = rs.Services.Behind.Memberships(&services.Pod{Object: p.Named(), Address: p.Address, Labels: p.Labels, Seen: p.Seen}, rs.nearSights(), rs.Evidence.Most)
	}
	return p.Behind
}

// nearSights is how far apart sights of one moment may be: targets are scraped at different times, and a pod takes time to end.
func (rs *Resolver) nearSights() int64 {
	const ending = 60_000
	return min(timeline.Lookback, max(2*rs.Sampling.Cell(), ending))
}

// servicesAt are the names of the services that a pod is behind at t, sorted. The next call overwrites them.
func (rs *Resolver) servicesAt(p *observe.Pod, t int64) []string {
	names := rs.cuts.services[:0]
	for _, x := range rs.Memberships(p) {
		if _, ok := x.When.Find(t); ok {
			names = append(names, x.Service.Name())
		}
	}
	rs.cuts.services = names
	return names
}
