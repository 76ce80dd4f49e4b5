package change

import (
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
)

// otherCosts are the effects of the costs that no container's size or number explains.
var otherCosts = map[Effect][]allocation.Column{
	Volumes:      {allocation.PVCost},
	Network:      {allocation.NetworkCrossZoneCost, allocation.NetworkCrossRegionCost, allocation.NetworkInternetCost},
	LoadBalancer: {allocation.LoadBalancerCost},
	Shared:       {allocation.SharedCost},
	External:     {allocation.ExternalCost},
	Idle:         {allocation.CostIdle.Of(allocation.CPU), allocation.CostIdle.Of(allocation.RAM), allocation.CostIdle.Of(allocation.GPU)},
	Adjustment: {
		allocation.Adjustment.Of(allocation.CPU), allocation.Adjustment.Of(allocation.RAM), allocation.Adjustment.Of(allocation.GPU),
		allocation.PVCostAdjustment, allocation.NetworkCostAdjustment, allocation.LoadBalancerCostAdjustment,
	},
}

// addUnit adds the effects of a unit. Its instances are sorted by class; a window may have several of one class, such as rows
// that passes added under the same name.
func (s *spread) addUnit(unit []instance, sides [2]Side) {
	cluster, _, _ := strings.Cut(unit[0].unit, string(rune(separator)))
	hours := [2]float64{sides[0].hours(cluster), sides[1].hours(cluster)}
	loads, runs := s.addCosts(unit, hours)
	for r := range allocation.NumResources {
		switch {
		case runs[0] && runs[1]:
			for ofClass := range runsBy(unit, func(x *instance) string { return x.class }) {
				request, burst := terms(ofClass, r)
				explain(&s.effects, SizeRequest, loads, request)
				explain(&s.effects, SizeBurst, loads, burst)
			}
		case runs[1]:
			s.effects[New] += computeCost(unit, r)
		default:
			s.effects[Gone] -= computeCost(unit, r)
		}
	}
	for effect := Volumes; effect < NumEffects; effect++ {
		var costs [2]float64
		for i := range unit {
			for _, c := range otherCosts[effect] {
				costs[unit[i].side] += unit[i].value(c)
			}
			if effect == Idle {
				costs[unit[i].side] += unit[i].idleRow()
			}
		}
		if effect == Adjustment {
			s.effects[effect] += costs[1] - costs[0]
		} else {
			scale(&s.effects, effect, hours, costs)
		}
	}
}

// addCosts adds the costs of the instances and what bounds them. It returns the running times of the unit in each window, and
// whether it ran or cost anything as a container there.
func (s *spread) addCosts(unit []instance, hours [2]float64) (loads [2]load, runs [2]bool) {
	for side := range loads {
		loads[side].window = hours[side]
	}
	for i := range unit {
		x := &unit[i]
		s.costs[x.side] += x.set.TotalCost(x.at)
		running := x.value(allocation.RunningSeconds)
		loads[x.side].hours += running / 3600
		b := &s.bounded[x.side]
		for r := range allocation.NumResources {
			cost := x.cost(r)
			runs[x.side] = runs[x.side] || running > 0 || cost != 0
			if running > 0 {
				b.cost += x.value(allocation.Cost.Of(r))
			}
		}
		if running > 0 {
			s.ran[x.side].addInstance(x, hours[x.side])
			b.running, b.least, b.most = b.running+running, b.least+x.value(allocation.LeastSeconds), b.most+fields.MostSeconds(x.set, x.at)
		}
	}
	return loads, runs
}

// terms are the products of one class for a resource in both windows: what was requested, and what was used beyond.
func terms(ofClass []instance, r allocation.Resource) (request, burst [2]term) {
	for i := range ofClass {
		x := &ofClass[i]
		of, beyond := &request[x.side], &burst[x.side]
		running, asked, priced := x.value(allocation.RunningSeconds)/3600, x.value(allocation.RequestHours.Of(r)), x.value(allocation.Hours.Of(r))
		of.hours, beyond.hours = of.hours+running, beyond.hours+running
		of.amount, beyond.amount = of.amount+asked, beyond.amount+priced-asked
		of.cost += x.cost(r) // shared out below
	}
	for side := range request {
		of, beyond := &request[side], &burst[side]
		whole := of.cost
		if priced := of.amount + beyond.amount; priced > 0 {
			of.cost, beyond.cost = whole*(of.amount/priced), whole*(beyond.amount/priced)
		}
	}
	return request, burst
}

// computeCost is what the unit costs of a resource without its part of idle.
func computeCost(unit []instance, r allocation.Resource) (sum float64) {
	for i := range unit {
		sum += unit[i].cost(r)
	}
	return sum
}

// value is a column of the instance.
func (x *instance) value(c allocation.Column) float64 { return x.set.Value(c, x.at) }

// cost is what the instance costs of a resource without its part of idle. What idle rows cost is idle.
func (x *instance) cost(r allocation.Resource) float64 {
	if x.set.Special(x.at) == allocation.Idle {
		return 0
	}
	return x.value(allocation.Cost.Of(r)) - x.value(allocation.CostIdle.Of(r))
}

// idleRow is what an idle row costs, without what CostIdle has of it.
func (x *instance) idleRow() (sum float64) {
	if x.set.Special(x.at) != allocation.Idle {
		return 0
	}
	for r := range allocation.NumResources {
		sum += x.value(allocation.Cost.Of(r)) - x.value(allocation.CostIdle.Of(r))
	}
	return sum
}
