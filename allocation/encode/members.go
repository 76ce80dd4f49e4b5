package encode

import (
	"github.com/promcost/promcost/allocation/fields"
)

// Members are the names of the members that an allocation is written with, in the order they are sent.
func Members() []string {
	names := []string{"name", "properties", "window", "start", "end"}
	for _, f := range fields.All() {
		names = append(names, f.Name)
	}
	return append(names, "pvs", "lbAllocations", "gpuAllocation", "sharedCostBreakdown", "proportionalAssetResourceCosts", "rawAllocationOnly", "errorBounds")
}

// OnDemandMembers are the names of further members that an allocation is written with where they are named.
func OnDemandMembers() (names []string) {
	for _, f := range fields.OnDemand() {
		names = append(names, f.Name)
	}
	return names
}

// QuantileMembers are those of OnDemandMembers that are quantiles of usage.
func QuantileMembers() (names []string) {
	for _, f := range fields.Quantiles() {
		names = append(names, f.Name)
	}
	return names
}

// SummaryMembers are the names of the members of a summary, in the order they are sent.
func SummaryMembers() []string {
	names := []string{"name", "start", "end"}
	for _, f := range summaryFields {
		names = append(names, f.name)
	}
	return names
}

// ACKMembers are the names of the members of ACK's allocations, in the order they are sent.
func ACKMembers() []string {
	return append(append([]string{"name", "properties", "start", "end"}, ackFields...), "cost", "costRatio", "customCost")
}

// AssetMembers are the names of the members that assets may be written with.
func AssetMembers() []string {
	return []string{
		"type", "properties", "labels", "window", "start", "end", "minutes", "nodeType", "pool", "cpuCores", "ramBytes", "cpuCoreHours",
		"ramByteHours", "GPUHours", "preemptible", "discount", "cpuCost", "gpuCost", "gpuCount", "ramCost", "cpuBreakdown", "ramBreakdown",
		"overhead", "storageClass", "volumeName", "claimName", "claimNamespace", "byteHours", "bytes", "byteHoursUsed", "byteUsageMax",
		"breakdown", "ip", "private", "adjustment", "credit", "totalCost",
	}
}
