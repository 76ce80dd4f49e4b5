package build

import (
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/timeline"
)

// memberships returns the services that a pod was behind, by name. The first call finds them.
func (b *Builder) memberships(p *pod) []services.Membership {
	if p.behind == nil {
		p.behind = b.services.behind.Memberships(&services.Pod{Object: p.named(), Address: p.address, Labels: p.labels, Seen: p.seen}, b.nearSights(), b.evidence.most)
	}
	return p.behind
}

// nearSights is how far apart sights of one moment may be: targets are scraped at different times, and a pod takes time to end.
func (b *Builder) nearSights() int64 {
	const ending = 60_000
	return min(timeline.Lookback, max(2*b.sampling.Cell(), ending))
}

// servicesAt are the names of the services that a pod is behind at t, sorted. The next call overwrites them.
func (b *Builder) servicesAt(p *pod, t int64) []string {
	names := b.cuts.services[:0]
	for _, x := range b.memberships(p) {
		if _, ok := x.When.Find(t); ok {
			names = append(names, x.Service.Value())
		}
	}
	b.cuts.services = names
	return names
}
