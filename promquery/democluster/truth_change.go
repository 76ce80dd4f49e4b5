package democluster

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Effects are parts of a change of cost in USD, by the names of SEMANTICS §9. There is no effect of windows: they are equally long.
type Effects map[string]float64

func (e Effects) add(other Effects) {
	for name, v := range other {
		e[name] += v
	}
}

// unit is a container of a controller, or of a pod without one, in two windows.
type unit struct {
	namespace, kind, controller, container string
	sides                                  [2]unitSide
}

// unitSide is what a unit was in one window: in all, and by class of nodes.
type unitSide struct {
	seconds                     float64
	classes                     map[nodeClass]*classShare
	volumes, network, balancers float64 // USD
}

// nodeClass is what nodes of the same price have in common.
type nodeClass struct {
	instanceType string
	spot         bool
}

// classShare is what a unit was on nodes of one class.
type classShare struct {
	seconds                float64
	requested, given, cost [3]float64 // of CPU, RAM and GPUs: ∫ request, ∫ max(request, usage), USD
}

// unitsOf collects the units of two windows, sorted by namespace.
func unitsOf(before, after *Truth) []*unit {
	type key struct{ namespace, kind, controller, container string }
	units := map[key]*unit{}
	for side, t := range [...]*Truth{before, after} {
		classes := map[string]nodeClass{}
		for _, n := range t.Nodes {
			classes[n.Name] = nodeClass{n.InstanceType, n.Spot}
		}
		for i := range t.Containers {
			row := &t.Containers[i]
			k := key{row.Namespace, row.ControllerKind, row.Controller, row.Container}
			if units[k] == nil {
				units[k] = &unit{namespace: k.namespace, kind: k.kind, controller: k.controller, container: k.container}
			}
			units[k].sides[side].add(row, classes[row.Node])
		}
	}
	return slices.SortedFunc(maps.Values(units), func(a, b *unit) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.controller, b.controller), cmp.Compare(a.container, b.container))
	})
}

func (s *unitSide) add(row *ContainerTruth, class nodeClass) {
	s.seconds += row.RunningSeconds
	s.volumes, s.network, s.balancers = s.volumes+row.PVCost, s.network+row.NetworkCost, s.balancers+row.LoadBalancerCost
	if s.classes == nil {
		s.classes = map[nodeClass]*classShare{}
	}
	share := s.classes[class]
	if share == nil {
		share = &classShare{}
		s.classes[class] = share
	}
	share.seconds += row.RunningSeconds
	for i, of := range [3]struct{ requested, given, cost float64 }{
		{row.CPURequestCoreHours, row.CPUCoreHours, row.CPUCost},
		{row.RAMRequestByteHours, row.RAMByteHours, row.RAMCost},
		{row.GPUHours, row.GPUHours, row.GPUCost},
	} {
		share.requested[i], share.given[i], share.cost[i] = share.requested[i]+of.requested, share.given[i]+of.given, share.cost[i]+of.cost
	}
}

// cost is what the unit cost in one window.
func (u *unit) cost(side int) float64 {
	s := &u.sides[side]
	return s.compute() + s.volumes + s.network + s.balancers
}

// compute is what its CPU, RAM and GPUs cost.
func (s *unitSide) compute() (sum float64) {
	for _, class := range s.sorted() {
		for _, v := range s.classes[class].cost {
			sum += v
		}
	}
	return sum
}

// sorted are the classes in a fixed order.
func (s *unitSide) sorted() []nodeClass {
	return slices.SortedFunc(maps.Keys(s.classes), func(a, b nodeClass) int {
		if c := cmp.Compare(a.instanceType, b.instanceType); c != 0 || a.spot == b.spot {
			return c
		} else if a.spot {
			return 1
		}
		return -1
	})
}

// effects divides the difference between two windows of so many hours.
func (u *unit) effects(length float64) Effects {
	before, after := &u.sides[0], &u.sides[1]
	e := Effects{}
	switch {
	case before.seconds == 0:
		e["new"] = after.compute()
	case after.seconds == 0:
		e["gone"] = -before.compute()
	default:
		all := unitSide{classes: maps.Clone(before.classes)}
		maps.Copy(all.classes, after.classes)
		for _, class := range all.sorted() {
			for resource := range 3 {
				var requested, burst [2]product
				for i := range u.sides {
					requested[i], burst[i] = u.sides[i].products(class, resource, length)
				}
				e.explain("sizeRequest", requested)
				e.explain("sizeBurst", burst)
			}
		}
	}
	e["volumes"], e["network"], e["loadBalancer"] = after.volumes-before.volumes, after.network-before.network, after.balancers-before.balancers
	maps.DeleteFunc(e, func(_ string, v float64) bool { return math.Abs(v) < 1e-12 })
	return e
}

// product is a cost as a product of replicas, the part of them on a class of nodes, the amount of each, and the price of an amount ×
// time. What is unknown is not above 0.
type product struct {
	cost    float64
	factors [4]float64
}

// products are the costs of what was requested, and of what was used beyond.
func (s *unitSide) products(class nodeClass, resource int, length float64) (requested, burst product) {
	share := s.classes[class]
	if share == nil {
		share = &classShare{}
	}
	price := share.cost[resource] / share.given[resource]
	multiply := func(amount float64) product {
		return product{amount * price, [4]float64{s.seconds / length, share.seconds / s.seconds, amount / share.seconds, price}}
	}
	return multiply(share.requested[resource]), multiply(share.given[resource] - share.requested[resource])
}

// explain gives each factor its part of the difference between two products: the logarithmic mean of both times the logarithm of its
// ratio. Where there is no ratio, all of it belongs to the first factor that is missing.
func (e Effects) explain(size string, of [2]product) {
	names := [4]string{"replicas", "placement", size, "price"}
	a, b := of[1].cost, of[0].cost
	if !(a > 0) || !(b > 0) {
		for i := 1; i < len(names); i++ {
			if !(of[0].factors[i] > 0) || !(of[1].factors[i] > 0) {
				e[names[i]] += positive(a) - positive(b)
				return
			}
		}
		return
	}
	mean := a
	if math.Abs(a/b-1) > 1e-9 {
		mean = (a - b) / math.Log(a/b)
	}
	for i, name := range names {
		e[name] += mean * math.Log(of[1].factors[i]/of[0].factors[i])
	}
}

// positive is 0 for what is no number.
func positive(v float64) float64 {
	if v > 0 {
		return v
	}
	return 0
}
