package build

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// unrequested are the containers of a cluster whose requests the data lack: Kubernetes gives a container that has a limit and
// no request the one as the other, so a limit alone is a gap. Those that live shortly may have no sample of either.
type unrequested struct {
	gaps
	some bool // others have requests: else all are lacking, which is told of the input
}

// noteRequest notes whether a container that ran has a request of a resource, or only a limit.
func (b *Builder) noteRequest(c *container, r allocation.Resource, request, limit timeline.Steps, ran timeline.Intervals) {
	if r != allocation.CPU && r != allocation.RAM || len(request) == 0 && len(limit) == 0 || len(ran) == 0 {
		return
	}
	u := b.report.unrequested[c.cluster]
	if len(request) > 0 {
		u.some = u.some || !c.init // whose requests are metrics of their own
	} else {
		u.add(b.placed(c.cluster, c.namespace.Value()+"/"+c.name.Value()+"/"+c.container.Value()), ran)
	}
	b.report.unrequested[c.cluster] = u
}

// warnUnrequested says of which containers requests are lacking, and when they ran.
func (b *Builder) warnUnrequested() {
	for _, cluster := range sortedSymbols(b.report.unrequested) {
		u := b.report.unrequested[cluster]
		if len(u.names) == 0 || !u.some {
			continue
		}
		b.count(notices.LackingRequests, u.names, notices.Clocks(u.when))
	}
}

// requestsOf are the requests in s that can be computed with; whose are left out is noted, to be warned of.
func (b *Builder) requestsOf(s *seen) timeline.Steps {
	steps := b.sampling.Steps(s.p)
	kept := steps.NotNegative()
	if len(kept) < len(steps) || s.p.AnyNotFinite() {
		b.report.badRequests = append(b.report.badRequests, s.key[1].Value()+"/"+s.key[2].Value()+"/"+s.key[4].Value())
	}
	return kept
}

// warnBadRequests says whose requests were left out.
func (b *Builder) warnBadRequests() {
	b.count(notices.BadRequests, b.report.badRequests)
}
