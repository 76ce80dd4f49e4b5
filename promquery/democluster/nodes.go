package democluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// never is a time after everything, in milliseconds, far enough from overflow to add to.
const never = int64(1) << 61

// span is a half-open stretch of time, in unix milliseconds.
type span struct{ from, to int64 }

func (s span) overlaps(o span) bool { return s.from < o.to && o.from < s.to }

func (s span) has(t int64) bool { return s.from <= t && t < s.to }

// clip returns the part of s in o; from ≥ to if there is none.
func (s span) clip(o span) span { return span{max(s.from, o.from), min(s.to, o.to)} }

// nodeType is an instance type with its list prices.
type nodeType struct {
	name            string
	capacity        resources
	disk            int64   // bytes of the root file system
	cpu, ram, gpu   float64 // USD an hour of a core, a GiB, a GPU
	spotDiscount    float64 // fraction of the list price that a spot node costs
	changesCPUPrice float64 // factor of the CPU price after the price change; 0 = it does not change
	unknown         bool    // OpenCost does not know its price, and exports its defaults
}

func generalType() *nodeType {
	return listed(0.384, &nodeType{
		name: "m5.2xlarge", capacity: resources{cpu: 8 * core, mem: 31_554 * mebibyte}, disk: 80 * gibibyte,
		spotDiscount: listedSpot, changesCPUPrice: 1.12,
	})
}

func computeType() *nodeType {
	return listed(0.68, &nodeType{
		name: "c5.4xlarge", capacity: resources{cpu: 16 * core, mem: 31_190 * mebibyte}, disk: 120 * gibibyte, spotDiscount: listedSpot,
		unknown: true,
	})
}

// listed gives a machine without GPUs the prices of cores and memory that its price on the provider's list is worth, divided as promcost divides it.
func listed(perHour float64, t *nodeType) *nodeType {
	cores, gib := float64(t.capacity.cpu)/float64(core), float64(t.capacity.mem)/float64(gibibyte)
	part := perHour / (defaultCPUPrice*cores + defaultRAMPrice*gib)
	t.cpu, t.ram = part*defaultCPUPrice, part*defaultRAMPrice
	return t
}

func gpuType() *nodeType {
	return &nodeType{
		name: "g7e.8xlarge", capacity: resources{cpu: 32 * core, mem: 244_910 * mebibyte, gpu: gpus{whole: 2, slices: slicesPerGPU, shared: sharesPerGPU}}, disk: 200 * gibibyte,
		cpu: 0.0213, ram: 0.00286, gpu: 0.45, spotDiscount: listedSpot,
	}
}

// gpuPerHour is what the provider lists for the machine with GPUs. OpenCost has another price, as by a contract.
const gpuPerHour = 5.26824

// listedSpot is what a spot machine costs of its price on demand.
const listedSpot = 0.35

// node is a machine, with the scheduler's view of it.
type node struct {
	key                             uint64
	name, ip, uid, zone, providerID string
	kind                            *nodeType
	spot                            bool
	life                            span    // from when it joined until it left
	cpu, ram, gpu                   []level // USD an hour, of a core, a GiB or a GPU
	target                          *target // its kubelet with cAdvisor
	networkCosts                    *target
	dcgm                            *target // nil without GPUs
	exporter                        *target // nil if no node exporter is scraped
	pods                            []*pod

	free     resources // what the scheduler may still assign: 90 % of the capacity at first
	cordoned bool
	noJobs   bool // jobs are kept off the node that will be drained
}

// Prices that no exporter has. promcost falls back on the same ones.
const (
	defaultCPUPrice     = 0.031611 // USD a core-hour
	defaultRAMPrice     = 0.004237 // USD a GiB-hour
	defaultSpotCPUPrice = 0.006655
	defaultSpotRAMPrice = 0.000892
	defaultStoragePrice = 0.00005479452 // USD a GiB-hour
)

const (
	region = "us-east-1"
	// freePercent is the share of a node's capacity that the scheduler gives away at most.
	freePercent = 90
)

// zones are those of the region that nodes are in.
var zones = [...]string{region + "a", region + "b", region + "c"}

// perHour is what the cores and the memory of a machine cost on demand.
func (t *nodeType) perHour() float64 {
	return t.cpu*float64(t.capacity.cpu)/float64(core) + t.ram*float64(t.capacity.mem)/float64(gibibyte)
}

// buildNodes lays out the nodes of the whole history: Nodes at a time, one more in total for the one that
// joins and the one that leaves.
func (c *Cluster) buildNodes() {
	gpus, spots := 1+(c.cfg.Nodes-1)/50, 1+(c.cfg.Nodes-1)/20
	for i := range c.cfg.Nodes + 1 {
		kind, spot := generalType(), false
		switch {
		case i < gpus:
			kind = gpuType()
		case i < gpus+spots:
			kind, spot = computeType(), true
		case (i-gpus-spots)%3 == 2:
			kind = computeType()
		}
		life := span{c.start - int64(240+i)*hourMillis, never}
		switch i {
		case c.cfg.Nodes: // joins
			kind, spot, life.from = computeType(), true, c.timeAt(atNodeJoins)
		case c.cfg.Nodes - 1: // leaves; its pods go elsewhere a minute and a half before
			kind, life.to = generalType(), c.timeAt(atNodeLeaves)+90_000
		}
		c.nodes = append(c.nodes, c.buildNode(i, kind, spot, life))
	}
	c.nodes[c.cfg.Nodes-1].noJobs = true
	c.nodes[c.cfg.Nodes].cordoned = true                                   // until pods move to spot nodes
	c.nodes[gpus].target.fails(c.outage(atCadvisorOutage, 10*time.Minute)) // the first spot node's
}

func (c *Cluster) buildNode(i int, kind *nodeType, spot bool, life span) *node {
	key := keyOf(c.key, "node", strconv.Itoa(i))
	zone := zones[i%len(zones)]
	host := 16 + i
	n := &node{
		key: key, kind: kind, spot: spot, life: life, zone: zone, uid: uuid(keyOf(key, "uid")),
		name:       fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", host/250, host%250),
		ip:         fmt.Sprintf("10.0.%d.%d", host/250, host%250),
		providerID: fmt.Sprintf("aws:///%s/i-0%s", zone, hex64(keyOf(key, "instance"))[:16]),
	}
	n.free = resources{kind.capacity.cpu * freePercent / 100, kind.capacity.mem * freePercent / 100, kind.capacity.gpu}
	factor := 1.0
	if spot {
		factor = kind.spotDiscount
	}
	n.cpu = []level{{0, kind.cpu * factor}}
	n.ram = []level{{0, kind.ram * factor}}
	n.gpu = []level{{0, kind.gpu * factor}}
	switch {
	case c.cfg.NoOpenCost && n.gpus() > 0: // its GPUs cost what the defaults of the rest leave of the price on the provider's list
		rest := gpuPerHour - (&nodeType{cpu: defaultCPUPrice, ram: defaultRAMPrice, capacity: kind.capacity}).perHour()
		n.cpu, n.ram, n.gpu = []level{{0, defaultCPUPrice}}, []level{{0, defaultRAMPrice}}, []level{{0, rest / n.gpus()}}
	case c.cfg.NoOpenCost:
	case kind.changesCPUPrice != 0:
		n.cpu = append(n.cpu, level{c.timeAt(atPriceChange), kind.cpu * factor * kind.changesCPUPrice})
	}
	n.target = c.newTarget("kubelet", n.ip+":10250", keyOf(key, "cadvisor"))
	n.target.life, n.target.node = life, n.name
	if i%3 == 1 {
		n.exporter = c.newTarget("node-exporter", n.name, keyOf(key, "node-exporter"))
		n.exporter.life, n.exporter.node = life, n.name
	}
	n.networkCosts = c.newTarget("network-costs", n.ip+":3001", keyOf(key, "network-costs"))
	n.networkCosts.life, n.networkCosts.node = life, n.name
	if kind.capacity.gpu != (gpus{}) {
		n.dcgm = c.newTarget("dcgm-exporter", n.ip+":9400", keyOf(key, "dcgm"))
		n.dcgm.life, n.dcgm.node = life, n.name
	}
	return n
}

// gpus is how many whole devices the node has.
func (n *node) gpus() float64 { return n.kind.capacity.gpu.devices() }

// exported are the prices of a core and a GiB that OpenCost exports.
func (n *node) exported() (cpu, ram []level) {
	switch {
	case n.kind.unknown && n.spot:
		return []level{{0, defaultSpotCPUPrice}}, []level{{0, defaultSpotRAMPrice}}
	case n.kind.unknown:
		return []level{{0, defaultCPUPrice}}, []level{{0, defaultRAMPrice}}
	}
	return n.cpu, n.ram
}

// overhead is what of a node is kept for the system, systemUse what that uses.
func overhead() resources { return resources{cpu: 110 * millicore, mem: 1100 * mebibyte} }

func systemUse() resources { return resources{cpu: 150 * millicore, mem: 900 * mebibyte} }

// pool is the name of the node's group.
func (n *node) pool() string { return strings.ReplaceAll(n.kind.name, ".", "-") }
