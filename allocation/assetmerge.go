package allocation

import "math"

// mergeAsset adds what o has and costs to n. Fractions are averaged by what they are fractions of.
func (n *Node) mergeAsset(o *Node) {
	cpu, ram := n.Hours[CPU], n.Hours[RAM]
	n.CPUBreakdown = n.CPUBreakdown.mean(o.CPUBreakdown, cpu, o.Hours[CPU])
	n.RAMBreakdown = n.RAMBreakdown.mean(o.RAMBreakdown, ram, o.Hours[RAM])
	list, other := n.listCost(), o.listCost()
	n.Discount = mean(n.Discount, o.Discount, list, other)
	for r := range NumResources {
		n.Overhead[r] = mean(n.Overhead[r], o.Overhead[r], n.Hours[r], o.Hours[r])
		n.Hours[r] += o.Hours[r]
		n.Cost[r] += o.Cost[r]
		n.Idle[r] += o.Idle[r]
		n.Adjustment[r] += o.Adjustment[r]
	}
	agree(&n.InstanceType, o.InstanceType)
	agree(&n.Pool, o.Pool)
}

// listCost is the cost of CPU and RAM without the discount; without the cost that a full one leaves nothing of.
func (n *Node) listCost() float64 {
	if n.Discount >= 1 {
		return 0
	}
	return (n.Cost[CPU] + n.Cost[RAM]) / (1 - n.Discount)
}

// mean is the mean of a and b by their weights; without any, a.
func mean(a, b, weightA, weightB float64) float64 {
	if a == b || weightA+weightB <= 0 {
		return a
	}
	return (a*weightA + b*weightB) / (weightA + weightB)
}

// mean is the mean of two breakdowns by their weights.
func (b Breakdown) mean(o Breakdown, weight, other float64) Breakdown {
	return Breakdown{
		Idle: mean(b.Idle, o.Idle, weight, other), Other: mean(b.Other, o.Other, weight, other),
		System: mean(b.System, o.System, weight, other), User: mean(b.User, o.User, weight, other),
	}
}

// mergeAsset adds what o has and costs to d. What is used of one is only known of both if it is of each; the largest use of
// several means nothing.
func (d *Disk) mergeAsset(o *Disk) {
	d.ByteHours += o.ByteHours
	d.UsedByteHours += o.UsedByteHours // NaN, which is unknown, stays so
	d.UsedMax = math.NaN()
	d.Cost += o.Cost
	d.Adjustment += o.Adjustment
	agree(&d.StorageClass, o.StorageClass)
	agree(&d.Name, o.Name)
	agree(&d.ClaimName, o.ClaimName)
	agree(&d.ClaimNamespace, o.ClaimNamespace)
	d.Local = d.Local && o.Local
}

// mergeAsset adds what o costs to b.
func (b *LoadBalancer) mergeAsset(o *LoadBalancer) {
	b.Hours += o.Hours
	b.Cost += o.Cost
	b.Adjustment += o.Adjustment
	b.Private = b.Private && o.Private
	agree(&b.IP, o.IP)
}
