package build

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// unrequested has the containers of a cluster whose requests are missing in the data: those with only a limit, because Kubernetes takes
// the limit as the request. A short-lived container may have no sample of either.
type unrequested struct {
	gaps
	some bool // others have requests; if none has, there is a warning about the input
}

// noteRequest records whether a container that ran in the window has a request of a resource, or only a limit.
func (b *Builder) noteRequest(c *container, r allocation.Resource, request, limit timeline.Steps, inside timeline.Intervals) {
	if r != allocation.CPU && r != allocation.RAM || len(request) == 0 && len(limit) == 0 {
		return
	}
	u := b.report.unrequested[c.pod.cluster]
	if len(request) > 0 && (c.init || u.some) { // mostly: init containers have other metrics for requests
		return
	}
	ran := b.asked(inside)
	if len(ran) == 0 {
		return
	}
	if len(request) > 0 {
		u.some = true
	} else {
		u.add(b.placed(c.pod.cluster, c.pod.namespace.Value()+"/"+c.pod.name.Value()+"/"+c.container.Value()), ran)
	}
	b.report.unrequested[c.pod.cluster] = u
}

// warnUnrequested names the containers whose requests are missing, and says when they ran.
func (b *Builder) warnUnrequested() {
	for _, cluster := range sortedSymbols(b.report.unrequested) {
		u := b.report.unrequested[cluster]
		if len(u.names) == 0 || !u.some {
			continue
		}
		b.count(notices.LackingRequests, u.names, notices.Clocks(u.when))
	}
}

// requestsOf returns the usable requests in s. It notes the container if some are left out, for a warning.
func (b *Builder) requestsOf(s *incoming) timeline.Steps {
	steps := b.shared.Steps(b.sampling, s.p)
	kept := steps.NotNegative()
	if len(kept) < len(steps) || s.p.AnyNotFinite() {
		b.report.badRequests = append(b.report.badRequests, s.key[1].Value()+"/"+s.key[2].Value()+"/"+s.key[4].Value())
	}
	return b.shared.Of(kept)
}

// warnBadRequests names the containers whose requests were left out.
func (b *Builder) warnBadRequests() {
	b.count(notices.BadRequests, b.report.badRequests)
}
