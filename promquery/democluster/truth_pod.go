package democluster

import "time"

// accounts are what the truth of a window divides among pods.
type accounts struct {
	volumes   map[*volume]*volumeAccount
	balancers map[*service]*balancerAccount
	egress    [numEgress][]level
	network   NetworkTruth // of all pods
}

// accounts adds up, within w, what is later divided among pods.
func (c *Cluster) accounts(w span) *accounts {
	a := &accounts{volumes: map[*volume]*volumeAccount{}, balancers: map[*service]*balancerAccount{}, egress: c.egressPrices()}
	for _, v := range c.volumes {
		if life := v.life.clip(w); life.from < life.to {
			a.volumes[v] = v.account(life)
		}
	}
	for _, s := range c.services {
		if life := s.life.clip(w); s.ingress != "" && life.from < life.to {
			a.balancers[s] = s.account(life)
		}
	}
	return a
}

// truth returns the rows of the containers of a pod that ran within w.
func (p *pod) truth(w span, a *accounts) []ContainerTruth {
	if !w.overlaps(span{p.created, p.listed}) {
		return nil
	}
	rows := make([]*ContainerTruth, len(p.containers)) // nil if it did not run
	for i := range p.containers {
		if row, ok := p.containers[i].truth(p, w); ok {
			rows[i] = &row
		}
	}
	list := p.stretches(w)
	for _, v := range p.volumes {
		a.volumes[v].divide(v, list, rows)
	}
	a.divideTraffic(p, list, rows)
	a.divideBalancers(p, rows)
	var out []ContainerTruth
	for _, row := range rows {
		if row != nil {
			out = append(out, *row)
		}
	}
	return out
}

// PendingTruth is what the requests of a container take from its node, within the window, from when its pod was scheduled until it
// first runs. An implementation that charges from then on adds it to the container's costs. Init containers never wait for
// requests of their own: they take less than what is reserved for the main containers after them.
type PendingTruth struct {
	Cluster   string    `json:"cluster"`
	Node      string    `json:"node"`
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	UID       string    `json:"uid"`
	Container string    `json:"container"`
	Start     time.Time `json:"start"` // within the window
	End       time.Time `json:"end"`
	CPUCost   float64   `json:"cpuCost"`
	RAMCost   float64   `json:"ramCost"`
	GPUCost   float64   `json:"gpuCost"`
}

// pendingTruth returns the rows of the containers of a pod that had not run yet at some time within w.
func (p *pod) pendingTruth(w span) (out []PendingTruth) {
	for i := range p.containers {
		ct := &p.containers[i]
		wait := w.clip(span{p.created, ct.runs[0].from})
		if ct.spec.init || wait.from >= wait.to {
			continue
		}
		q := ct.request
		out = append(out, PendingTruth{
			Cluster: ClusterID, Node: p.node.name, Namespace: p.of.namespace, Pod: p.name, UID: p.uid, Container: ct.spec.name,
			Start: instant(wait.from), End: instant(wait.to),
			CPUCost: hours(integral(p.node.cpu, wait)) * float64(q.cpu) / float64(core),
			RAMCost: hours(integral(p.node.ram, wait)) * float64(q.mem) / float64(gibibyte),
			GPUCost: hours(integral(p.node.gpu, wait)) * q.gpu.devices(),
		})
	}
	return out
}
