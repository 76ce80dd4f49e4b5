package pricing

import "github.com/promcost/promcost/allocation"

// byResource has a number for each resource.
type byResource = [allocation.NumResources]float64

// gpuShare is the least part of a machine's price that its GPUs are worth where CPU and memory cost what they do at the defaults. Where less
// is left for them, the machine is so cheap that all of it is.
const gpuShare = 1.0 / 5

// machine is a whole machine whose price is to be divided among what it has.
type machine struct {
	price    float64    // an hour
	size     byResource // in cores, GiB and devices
	defaults byResource // prices by which it is divided
}

// divided are the prices of resources whose sum over the size is the price of the machine: own where a resource has a price of its own, and for
// the others parts of the rest in proportion to what they cost at the defaults. But where there are GPUs, CPU and memory cost the defaults, and
// the GPUs the rest, if that is at least a fifth of the price. Where prices of their own leave nothing, the others cost the defaults. SEMANTICS §12.
func (m *machine) divided(unit byResource, own [allocation.NumResources]bool) byResource {
	rest, total := m.price, 0.0
	for r, amount := range m.size {
		if own[r] {
			rest -= unit[r] * amount
		} else {
			total += m.defaults[r] * amount
		}
	}
	spent := rest <= 0 && m.price > 0 // on what has prices of its own: the others still cost something
	rest = max(rest, 0)
	gpus := m.size[allocation.GPU]
	forGPUs := rest - (total - m.defaults[allocation.GPU]*gpus)
	dear := !own[allocation.GPU] && gpus > 0 && forGPUs >= gpuShare*m.price
	for r := range unit {
		switch {
		case own[r]:
		case dear && r == int(allocation.GPU):
			unit[r] = forGPUs / gpus
		case dear, spent, total == 0:
			unit[r] = m.defaults[r]
		default:
			unit[r] = m.defaults[r] * rest / total
		}
	}
	return unit
}

// sized reports whether a price can be divided among what a machine has.
func sized(size byResource) bool { return size[allocation.CPU] > 0 && size[allocation.RAM] > 0 }
