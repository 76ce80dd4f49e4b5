package allocation

// Money is a cost by kind.
type Money [NumSharedKinds]float64

// Add adds another cost, kind by kind.
func (m *Money) Add(o *Money) {
	for k, v := range o {
		m[k] += v
	}
}

// Total returns the sum of all kinds.
func (m *Money) Total() (sum float64) {
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

// Kind returns the kind of cost that nodes have for the resource.
func (r Resource) Kind() SharedKind { return nodeKinds[r] }

// nodeKinds are the kinds of cost of each resource of nodes.
var nodeKinds = [NumResources]SharedKind{CPU: SharedCPU, RAM: SharedRAM, GPU: SharedGPU}

// Books records what the passes did with the money of assets that rows do not show. With them, Check can compare rows and
// assets after any pass.
type Books struct {
	Flat     float64 // Options.SharedCost for the window
	External float64 // external allocations that became rows
	Tenancy  bool    // management fees and local disks are in rows
	// Out is what no row shows any more: idle that was not asked for, and rows that a filter removed.
	Out Money
	// Passed is what became SharedCost, by its kind.
	Passed Money
	// Idle is the idle at list price that neither an idle row nor CostIdle shows: idle that was not asked for, was filtered
	// or became SharedCost.
	Idle [NumResources]float64
	// Merged means that idle rows were merged with others.
	Merged bool
}

// Add adds the books of another set.
func (b *Books) Add(o *Books) {
	b.Flat += o.Flat
	b.External += o.External
	b.Out.Add(&o.Out)
	b.Passed.Add(&o.Passed)
	for r, v := range o.Idle {
		b.Idle[r] += v
	}
}

// CustomPrices price allocations a second time, at prices of the user's choice: customCost of ACK.
type CustomPrices struct {
	Node         [NumResources]float64 // per core-hour, GiB-hour and device-hour
	Storage      float64               // per GiB-hour
	LoadBalancer float64               // per hour
	Egress       float64               // per GiB to other zones, other regions or the internet
}
