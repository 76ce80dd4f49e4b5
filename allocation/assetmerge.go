package allocation

import "math"

// mergeNode adds what another node has and costs to n, of which only that stays which both agree on.
func (n *Node) mergeNode(o *Node) {
	addNodes(n, o)
	agree(&n.InstanceType, o.InstanceType)
	agree(&n.Pool, o.Pool)
}

// listCost is the cost of CPU and RAM before the discount; 0 where that leaves nothing of it.
func (n *Node) listCost() float64 {
	if n.Discount >= 1 {
		return 0
	}
	return (n.Cost[CPU] + n.Cost[RAM]) / (1 - n.Discount)
}

// mergeDisk adds what another disk has and costs to d. The largest use of several means nothing.
func (d *Disk) mergeDisk(o *Disk) {
	addDisks(d, o)
	d.UsedMax = math.NaN()
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
