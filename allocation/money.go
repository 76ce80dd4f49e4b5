package allocation

import "math"

// money is a cost by kind.
type money [NumSharedKinds]float64

func (m *money) add(o *money) {
	for k, v := range o {
		m[k] += v
	}
}

// total returns the sum of all kinds.
func (m *money) total() (sum float64) {
	for _, v := range m {
		sum += v
	}
	return sum
}

// sharedKinds are the money columns of each kind of cost; listKinds are those of them at list prices.
var sharedKinds, listKinds = makeKinds()

func makeKinds() (all, list [NumSharedKinds][]Column) {
	for c, traits := range columns {
		if !traits.money {
			continue
		}
		all[traits.kind] = append(all[traits.kind], Column(c))
		if !traits.adjusts {
			list[traits.kind] = append(list[traits.kind], Column(c))
		}
	}
	return all, list
}

// Columns returns the columns of a row whose sum is its cost of the kind. They must not be changed.
func (k SharedKind) Columns() []Column { return sharedKinds[k] }

// ListColumns returns the Columns at list prices, without what reconciliation adds.
func (k SharedKind) ListColumns() []Column { return listKinds[k] }

// nodeKinds are the kinds of cost of each resource of nodes.
var nodeKinds = [NumResources]SharedKind{CPU: SharedCPU, RAM: SharedRAM, GPU: SharedGPU}

// moneyOf returns the money of the rows that want accepts, and the sum of its absolute values, which bounds rounding errors.
func (s *Set) moneyOf(want func(row int) bool) (sum, size money) {
	for kind, cols := range sharedKinds {
		for _, col := range cols {
			for row, v := range s.values[col] {
				if want == nil || want(row) {
					sum[kind] += v
					size[kind] += math.Abs(v)
				}
			}
		}
	}
	return sum, size
}

// books records what the passes did with the money of assets that rows do not show. With them, Check can compare rows and
// assets after any pass.
type books struct {
	flat     float64 // Options.SharedCost for the window
	external float64 // external allocations that became rows
	tenancy  bool    // management fees and local disks are in rows
	// out is what no row shows any more: idle that was not asked for, and rows that a filter removed.
	out money
	// passed is what became SharedCost, by its kind.
	passed money
	// idle is the idle at list price that neither an idle row nor CostIdle shows: idle that was not asked for, was filtered
	// or became SharedCost.
	idle [NumResources]float64
	// merged means that idle rows were merged with others.
	merged bool
}

// add adds the books of another set.
func (b *books) add(o *books) {
	b.flat += o.flat
	b.external += o.external
	b.out.add(&o.out)
	b.passed.add(&o.passed)
	for r, v := range o.idle {
		b.idle[r] += v
	}
}

// owed returns what rows must cost by the assets and the books, and the sum of its absolute values.
func (s *Set) owed(b *books) (sum, size money) {
	put := func(kind SharedKind, cost, adjustment float64) {
		sum[kind] += cost + adjustment
		size[kind] += math.Abs(cost) + math.Abs(adjustment)
	}
	for i := range s.Nodes {
		for r, kind := range nodeKinds {
			put(kind, s.Nodes[i].Cost[r], s.Nodes[i].Adjustment[r])
		}
	}
	for i := range s.Residuals {
		put(nodeKinds[s.Residuals[i].Resource], s.Residuals[i].Cost, 0)
	}
	for i := range s.Disks {
		switch d := &s.Disks[i]; {
		case !d.Local:
			put(SharedPV, d.Cost, d.Adjustment)
		case b.tenancy:
			put(SharedOverhead, d.Cost, d.Adjustment)
		}
	}
	for i := range s.Balancers {
		put(SharedLoadBalancer, s.Balancers[i].Cost, s.Balancers[i].Adjustment)
	}
	for i := range s.Networks {
		put(SharedNetwork, s.Networks[i].TotalCost(), s.Networks[i].Adjustment)
	}
	if b.tenancy {
		for i := range s.Management {
			put(SharedOverhead, s.Management[i].Cost, s.Management[i].Adjustment)
		}
	}
	put(SharedExternal, b.external, 0)
	put(SharedOverhead, b.flat, 0)
	return sum, size
}
