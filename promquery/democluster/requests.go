package democluster

import (
	"cmp"
	"math"
)

// ContainerOf names a container of a controller, in the words of ContainerTruth.
type ContainerOf struct{ Namespace, ControllerKind, Controller, Container string }

// Requested is what a container requests, in cores and bytes. 0 leaves that resource as it is without a configuration.
type Requested struct{ Cores, Bytes float64 }

// overrideRequests has the containers of a pod, which has an owner, request what the configuration says. What it takes from its node stays
// as it is, so that all pods run where they would without. A limit is at least the request.
func (c *Cluster) overrideRequests(p *pod) {
	kind, name := p.controller()
	for i := range p.containers {
		ct := &p.containers[i]
		q, ok := c.cfg.Requests[ContainerOf{p.of.namespace, kind, name, ct.spec.name}]
		if !ok {
			continue
		}
		ct.request.cpu = cmp.Or(int64(math.Round(q.Cores*float64(core))), ct.request.cpu)
		ct.request.mem = cmp.Or(int64(math.Round(q.Bytes)), ct.request.mem)
		if ct.limit.cpu > 0 {
			ct.limit.cpu = max(ct.limit.cpu, ct.request.cpu)
		}
		if ct.limit.mem > 0 {
			ct.limit.mem = max(ct.limit.mem, ct.request.mem)
		}
	}
}
