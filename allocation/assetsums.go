package allocation

import (
	"math"
	"time"
)

// ListCost returns the cost of a resource before discounts; 0 for a discount of 100 %.
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

// addDiscount sets n's discount to the mean of both nodes, and keeps the cost of each resource before discounts.
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

// AssetsCost returns what the assets of clusters cost with adjustments.
func (h *Header) AssetsCost() (sum float64) {
	for i := range h.Nodes {
		sum += h.Nodes[i].TotalCost()
		for _, v := range h.Nodes[i].Adjustment {
			sum += v
		}
	}
	for i := range h.Disks {
		sum += h.Disks[i].Cost + h.Disks[i].Adjustment
	}
	for i := range h.Balancers {
		sum += h.Balancers[i].Cost + h.Balancers[i].Adjustment
	}
	for i := range h.Networks {
		sum += h.Networks[i].TotalCost() + h.Networks[i].Adjustment
	}
	for i := range h.Management {
		sum += h.Management[i].Cost + h.Management[i].Adjustment
	}
	return sum
}

// extend extends a life span to include another one.
func extend(start, end *time.Time, fromStart, fromEnd time.Time) {
	if fromStart.Before(*start) {
		*start = fromStart
	}
	if fromEnd.After(*end) {
		*end = fromEnd
	}
}

// Add adds the hours and costs of another node, or of the same node in an older set. What is not an amount stays that of n.
func (n *Node) Add(was *Node) {
	n.addDiscount(was)
	n.CPUBreakdown = n.CPUBreakdown.mean(n.Hours[CPU], was.CPUBreakdown, was.Hours[CPU])
	n.RAMBreakdown = n.RAMBreakdown.mean(n.Hours[RAM], was.RAMBreakdown, was.Hours[RAM])
	for r := range NumResources {
		n.Overhead[r] = mean(n.Overhead[r], n.Hours[r], was.Overhead[r], was.Hours[r])
		n.Hours[r] += was.Hours[r]
		n.Cost[r] += was.Cost[r]
		n.Idle[r] += was.Idle[r]
		n.Adjustment[r] += was.Adjustment[r]
		n.IdleAdjustment[r] += was.IdleAdjustment[r]
	}
	n.RunningSeconds += was.RunningSeconds
	n.Charged.add(was.Charged)
	extend(&n.Start, &n.End, was.Start, was.End)
}

// mean returns the weighted mean of a and b.
func mean(a, weightA, b, weightB float64) float64 {
	if weightA+weightB == 0 {
		return a
	}
	return (a*weightA + b*weightB) / (weightA + weightB)
}

// mean returns the weighted mean of two breakdowns. An unknown one does not count.
func (b Breakdown) mean(weight float64, was Breakdown, weightWas float64) Breakdown {
	switch {
	case was == (Breakdown{}):
		return b
	case b == (Breakdown{}):
		return was
	}
	return Breakdown{
		Idle: mean(b.Idle, weight, was.Idle, weightWas), Other: mean(b.Other, weight, was.Other, weightWas),
		System: mean(b.System, weight, was.System, weightWas), User: mean(b.User, weight, was.User, weightWas),
	}
}

// Add adds the same disk of an older set. Sets that do not know the usage do not count for it, so hours add up to their
// window.
func (d *Disk) Add(was *Disk) {
	d.ByteHours += was.ByteHours
	switch {
	case math.IsNaN(d.UsedByteHours):
		d.UsedByteHours, d.UsedMax = was.UsedByteHours, was.UsedMax
	case !math.IsNaN(was.UsedByteHours):
		d.UsedByteHours += was.UsedByteHours
		d.UsedMax = max(d.UsedMax, was.UsedMax)
	}
	d.Cost += was.Cost
	d.Adjustment += was.Adjustment
	extend(&d.Start, &d.End, was.Start, was.End)
}

// Add adds the hours and costs of another load balancer, or of the same one in an older set.
func (l *LoadBalancer) Add(was *LoadBalancer) {
	l.Hours += was.Hours
	l.Cost += was.Cost
	l.Adjustment += was.Adjustment
	extend(&l.Start, &l.End, was.Start, was.End)
}

// Add adds the costs of the same network in an older set.
func (n *Network) Add(was *Network) {
	n.CrossZone += was.CrossZone
	n.CrossRegion += was.CrossRegion
	n.Internet += was.Internet
	n.Adjustment += was.Adjustment
	extend(&n.Start, &n.End, was.Start, was.End)
}

// Add adds the costs of the same cluster in an older set.
func (m *Management) Add(was *Management) {
	m.Cost += was.Cost
	m.Adjustment += was.Adjustment
	extend(&m.Start, &m.End, was.Start, was.End)
}

// Add adds the costs of the same asset in an older set.
func (c *CloudCost) Add(was *CloudCost) {
	c.Cost += was.Cost
	c.Adjustment += was.Adjustment
	c.Credit += was.Credit
	extend(&c.Start, &c.End, was.Start, was.End)
}
