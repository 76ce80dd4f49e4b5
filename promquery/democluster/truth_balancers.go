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
	// UsageHours are the hours of all pods behind it that ran while it was there; they share Cost in proportion to theirs.
	UsageHours float64 `json:"usageHours"`
	// UnallocatedCost is all of Cost if nothing was behind it within the window, else 0.
	UnallocatedCost float64 `json:"unallocatedCost"`
}

// LoadBalancerShareTruth is a container's part of a load balancer. Its pod must have been an endpoint at some time within the window;
// then all hours count in which it ran within the window and the load balancer was there.
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

// balancerAccount is what a load balancer costs within a window, and how long the pods behind it ran.
type balancerAccount struct {
	life   span
	cost   float64 // USD
	millis int64
}

func (s *service) account(life span) *balancerAccount {
	a := &balancerAccount{life: life, cost: hours(float64(life.to-life.from)) * s.hourly}
	for _, p := range s.pods {
		if !a.behind(s, p) {
			continue
		}
		for _, part := range p.stretches(life) {
			a.millis += part.to - part.from
		}
	}
	return a
}

// behind says whether a pod is an endpoint at some time of the account.
func (a *balancerAccount) behind(s *service, p *pod) bool {
	e := s.endpoint(p)
	return e.from < e.to && e.overlaps(a.life)
}

// divideBalancers adds to the containers of a pod their parts of the load balancers it is behind.
func (a *accounts) divideBalancers(p *pod, rows []*ContainerTruth) {
	for _, s := range p.of.services {
		of := a.balancers[s]
		if of == nil || !of.behind(s, p) {
			continue
		}
		part, ran := make([]float64, len(rows)), make([]int64, len(rows))
		split(p.stretches(of.life), func(i int, during span, share float64) {
			part[i] += share * float64(during.to-during.from)
			ran[i] += during.to - during.from
		})
		for i, row := range rows {
			if ran[i] > 0 {
				mine := LoadBalancerShareTruth{s.id(), s.ingress, hours(float64(ran[i])), of.cost * part[i] / float64(of.millis)}
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
			UsageHours: hours(float64(of.millis)),
		}
		if of.millis == 0 {
			row.UnallocatedCost = of.cost
		}
		t.LoadBalancers = append(t.LoadBalancers, row)
	}
	length := hours(float64(w.to - w.from))
	t.Networks = append(t.Networks, NetworkAssetTruth{ClusterID, a.network})
	t.ClusterManagement = append(t.ClusterManagement, ClusterManagementTruth{ClusterID, provisioner, length, length * managementPrice})
}
