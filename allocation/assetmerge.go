package allocation

import "math"

// mergeNode adds what another node has and costs to n, of which only that stays which both agree on.
func (n *Node) mergeNode(o *Node) {
	addNodes(n, o)
	agree(&n.InstanceType, o.InstanceType)
	agree(&n.Pool, o.Pool)
}

// ListCost is the cost of a resource before discounts; 0 where they leave nothing of it.
func (n *Node) ListCost(r Resource) float64 {
	switch {
	case r == GPU:
		return n.Cost[r]
	case n.Listed[r] > 0:
		return n.Listed[r]
	case n.Discount >= 1:
		return 0
	}
	return n.Cost[r] / (1 - n.Discount)
}

// addDiscount makes n's discount that of both nodes together, and keeps what each resource cost before.
func (n *Node) addDiscount(o *Node) {
	if none := [NumResources]float64{}; n.Discount == o.Discount && n.Listed == none && o.Listed == none {
		return
	}
	list := [2]float64{n.ListCost(CPU) + n.ListCost(RAM), o.ListCost(CPU) + o.ListCost(RAM)}
	for _, r := range [...]Resource{CPU, RAM} {
		n.Listed[r] = n.ListCost(r) + o.ListCost(r)
	}
	n.Discount = mean(n.Discount, list[0], o.Discount, list[1])
}

// mergeDisk adds what another disk has and costs to d. How full several are is not known where one of them is not, and the largest use
// of several means nothing.
func (d *Disk) mergeDisk(o *Disk) {
	used := d.UsedByteHours + o.UsedByteHours
	addDisks(d, o)
	d.UsedByteHours, d.UsedMax = used, math.NaN()
	agree(&d.StorageClass, o.StorageClass)
	agree(&d.Name, o.Name)
	agree(&d.ClaimName, o.ClaimName)
	agree(&d.ClaimNamespace, o.ClaimNamespace)
	d.Local = d.Local && o.Local
}

// mergeBalancer adds what another load balancer costs to l.
func (l *LoadBalancer) mergeBalancer(o *LoadBalancer) {
	addLoadBalancers(l, o)
	l.Private = l.Private && o.Private
	agree(&l.IP, o.IP)
}
