package democluster

import "strconv"

// How node exporters see the CPU time that is used, in percent, and the memory that can be given back, in bytes.
const (
	userPercent   = 70
	systemPercent = 25
	iowaitPercent = 5

	buffers = 256 * mebibyte
	cached  = 2 * gibibyte
)

// nodeExporter adds what the node exporter says about a node, given what all that runs there uses. Work is spread evenly over the cores.
func (b *collector) nodeExporter(n *node, cpu, mem curve) {
	if n.exporter == nil {
		return
	}
	cores := n.kind.capacity.cpu / core
	idle := cpu.under(n.kind.capacity.cpu, n.life.from)
	for _, row := range []struct {
		mode    string
		used    curve
		percent float64
	}{{"idle", idle, 100}, {"iowait", cpu, iowaitPercent}, {"system", cpu, systemPercent}, {"user", cpu, userPercent}} {
		for i := range cores {
			b.scraped(n.exporter, n.life, row.used, nanos*float64(cores)*100/row.percent, "node_cpu_seconds_total",
				"cpu", strconv.FormatInt(i, 10), "mode", row.mode)
		}
	}
	total := n.kind.capacity.mem
	available := make(curve, len(mem))
	for i, s := range mem {
		available[i] = ramp{s.at, total - s.base, -s.rate}
	}
	for _, row := range []struct {
		name  string
		bytes int64
	}{{"node_memory_MemTotal_bytes", total}, {"node_memory_Buffers_bytes", buffers}, {"node_memory_Cached_bytes", cached}} {
		b.steps(n.exporter, constant(n.life, float64(row.bytes)), row.name)
	}
	b.scraped(n.exporter, n.life, available, undivided, "node_memory_MemAvailable_bytes")
}

// under returns what is left of a steady rate that began at a time.
func (cv curve) under(rate, from int64) curve {
	out := make(curve, len(cv))
	for i, s := range cv {
		out[i] = ramp{s.at, rate*(s.at-from) - s.base, rate - s.rate}
	}
	return out
}

// BreakdownTruth divides the capacity of a node, times the time it was there, by its use, in fractions of 1.
type BreakdownTruth struct {
	// Idle is the CPU time in mode idle, and the memory that is available without buffers and cache.
	Idle float64 `json:"idle"`
	// Other is the CPU time in mode iowait, and the memory in buffers and cache.
	Other float64 `json:"other"`
	// System is the CPU time in mode system; of memory it is 0, for node exporters tell no more.
	System float64 `json:"system"`
	// User is the CPU time in mode user, and the memory that is not available.
	User float64 `json:"user"`
}

// usedHours is what the containers on a node used.
type usedHours struct{ cpu, ram float64 }

func (u usedHours) plus(row ContainerTruth) usedHours {
	return usedHours{u.cpu + row.CPUUsageCoreHours, u.ram + row.RAMUsageByteHours}
}

// breakdown fills in what a node's capacity was used for.
func (n *node) breakdown(row *NodeTruth, used usedHours) {
	if n.exporter == nil {
		return
	}
	length := row.End.Sub(row.Start).Hours()
	cpu := (used.cpu + float64(systemUse().cpu)/float64(core)*length) / row.CPUCoreHours
	row.CPUBreakdown = &BreakdownTruth{
		Idle: 1 - cpu, Other: cpu * iowaitPercent / 100, System: cpu * systemPercent / 100, User: cpu * userPercent / 100,
	}
	ram := (used.ram + float64(systemUse().mem)*length) / row.RAMByteHours
	other := float64(buffers+cached) * length / row.RAMByteHours
	row.RAMBreakdown = &BreakdownTruth{Idle: 1 - ram - other, Other: other, User: ram}
}
