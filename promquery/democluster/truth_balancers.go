package democluster

import (
	"cmp"
	"slices"
	"time"
)

// LoadBalancerTruth is one service of type LoadBalancer within the window.
type LoadBalancerTruth struct {
	Cluster   string    `json:"cluster"`
	Namespace string    `json:"namespace"`
	Service   string    `json:"service"`
	IngressIP string    `json:"ingressIP"`
	Private   bool      `json:"private"`
	Start     time.Time `json:"start"` // within the window
	End       time.Time `json:"end"`
	Hours     float64   `json:"hours"`
	Cost      float64   `json:"cost"`
	// UnallocatedCost is that of the time in which no pod behind it ran; all other cost the pods that run then share evenly.
	UnallocatedCost float64 `json:"unallocatedCost"`
}

// LoadBalancerShareTruth is a container's part of a load balancer, of all the time in which it ran and the load balancer was there.
type LoadBalancerShareTruth struct {
	Service   string `json:"service"` // namespace/name
	IngressIP string `json:"ingressIP"`
	// Hours are those in which the container ran and the load balancer was there.
	Hours float64 `json:"hours"`
	Cost  float64 `json:"cost"`
}

// ClusterManagementTruth is the fee for the cluster itself within the window.
type ClusterManagementTruth struct {
	Cluster     string  `json:"cluster"`
	Provisioner string  `json:"provisioner"`
	Hours       float64 `json:"hours"`
	Cost        float64 `json:"cost"`
}

// balancerAccount is what a load balancer costs within a window.
type balancerAccount struct {
	sharing
	life span
	cost float64 // USD
}

func (s *service) account(life span) *balancerAccount {
	a := &balancerAccount{life: life, cost: hours(float64(life.to-life.from)) * s.hourly}
	a.sharing = share(s.endpoints(), life, func(part span, _ int) storageSum {
		return storageSum{cost: float64(part.to-part.from) * s.hourly}
	})
	return a
}

// endpoints are the pods that are behind it at any time.
func (s *service) endpoints() (pods []*pod) {
	for _, p := range s.pods {
		if s.behind(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// behind says whether a pod is an endpoint at any time.
func (s *service) behind(p *pod) bool {
	e := s.endpoint(p)
	return e.from < e.to && e.overlaps(s.life)
}

// divideBalancers adds to the containers of a pod their parts of the load balancers it is behind.
func (a *accounts) divideBalancers(p *pod, rows []*ContainerTruth) {
	for _, s := range p.of.services {
		of := a.balancers[s]
		if of == nil || !s.behind(p) {
			continue
		}
		part, ran := make([]float64, len(rows)), make([]int64, len(rows))
		split(p.stretches(of.life), func(i int, during span, share float64) {
			part[i] += share * (of.by(during.to).cost - of.by(during.from).cost)
			ran[i] += during.to - during.from
		})
		for i, row := range rows {
			if ran[i] > 0 {
				mine := LoadBalancerShareTruth{s.id(), s.ingress, hours(float64(ran[i])), hours(part[i])}
				row.LoadBalancers = append(row.LoadBalancers, mine)
				row.LoadBalancerCost += mine.Cost
			}
		}
	}
	for _, row := range rows {
		if row != nil {
			slices.SortFunc(row.LoadBalancers, func(a, b LoadBalancerShareTruth) int { return cmp.Compare(a.Service, b.Service) })
		}
	}
}

// networkTruth adds the assets that are no nodes and no disks.
func (c *Cluster) networkTruth(t *Truth, w span, a *accounts) {
	for _, s := range c.services {
		of := a.balancers[s]
		if of == nil {
			continue
		}
		row := LoadBalancerTruth{
			Cluster: ClusterID, Namespace: s.namespace, Service: s.name, IngressIP: s.ingress, Private: s.private,
			Start: instant(of.life.from), End: instant(of.life.to), Hours: hours(float64(of.life.to - of.life.from)), Cost: of.cost,
			UnallocatedCost: hours(of.nobody.cost),
		}
		t.LoadBalancers = append(t.LoadBalancers, row)
	}
	length := hours(float64(w.to - w.from))
	t.Networks = append(t.Networks, NetworkAssetTruth{ClusterID, a.network})
	if !c.cfg.NoOpenCost {
		t.ClusterManagement = append(t.ClusterManagement, ClusterManagementTruth{ClusterID, provisioner, length, length * managementPrice})
	}
}
