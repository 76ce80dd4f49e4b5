package allocation

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

// CustomPrices price allocations a second time, at prices of the user's choice: customCost of ACK.
type CustomPrices struct {
	Node         [NumResources]float64 // per core-hour, GiB-hour and device-hour
	Storage      float64               // per GiB-hour
	LoadBalancer float64               // per hour
	Egress       float64               // per GiB to other zones, other regions or the internet
}
