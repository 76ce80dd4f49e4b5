package allocation

import "math"

// money is a cost by what it is for.
type money [NumSharedKinds]float64

func (m *money) add(o *money) {
	for k, v := range o {
		m[k] += v
	}
}

// total is the sum of all kinds.
func (m *money) total() (sum float64) {
	for _, v := range m {
		sum += v
	}
	return sum
}

// sharedKinds are the columns of a row that each kind of shared cost is taken from, and listKinds those of them that are at list
// prices: all that are money.
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

// Columns are the columns of a row whose sum is its cost of the kind. They must not be changed.
func (k SharedKind) Columns() []Column { return sharedKinds[k] }

// ListColumns are those of Columns at list prices: without what reconciliation adds.
func (k SharedKind) ListColumns() []Column { return listKinds[k] }

// nodeKinds are the kinds of what nodes sell.
var nodeKinds = [NumResources]SharedKind{CPU: SharedCPU, RAM: SharedRAM, GPU: SharedGPU}

// moneyOf is the money of the rows that want selects, and the sum of its absolute parts, which tells how far rounding may
// have gone.
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

// books are what the passes did with the money of a set's assets that its rows do not show: they let Check hold the rows
// to the assets after any of them.
type books struct {
	flat      float64 // Options.SharedCost of the window
	external  float64 // of the external allocations that were made rows
	tenancy   bool    // management and local disks are in rows
	reconcile bool    // adjustments are
	// out is what is in no row any more: idle that was not asked for, and what a filter took away.
	out money
	// passed is what became SharedCost, by what it was for.
	passed money
	// idle is idle at list price that is neither an idle row nor told as CostIdle: not asked for, taken by a filter or
	// passed on as SharedCost.
	idle [NumResources]float64
	// merged says that idle rows were merged with others.
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

// owed is what the assets of a set cost as far as the books say that it is in rows, and the sum of its absolute parts.
func (s *Set) owed(b *books) (sum, size money) {
	put := func(kind SharedKind, cost, adjustment float64) {
		if !b.reconcile {
			adjustment = 0
		}
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
