package allocation

import "strings"

// Resource is something that a node provides and a container uses. Amounts are cores, bytes or devices.
type Resource uint8

// The resources whose requests and usage are integrated over time.
const (
	CPU Resource = iota
	RAM
	GPU
	NumResources
)

// resources describes each resource: its name in metrics and errors, the scale of its price, and its unit.
var resources = [NumResources]struct {
	name  string
	scale float64 // amount per unit of price: 1 core, 2^30 bytes, 1 device
	unit  string
}{
	CPU: {"cpu", 1, "core"},
	RAM: {"ram", 1 << 30, "byte"},
	GPU: {"gpu", 1, "device"},
}

// String returns the resource's name in metrics: cpu, ram, gpu.
func (r Resource) String() string { return resources[r].name }

// PerPriceUnit returns the amount that one unit of price pays for during an hour: a core, a GiB in bytes, a device.
func (r Resource) PerPriceUnit() float64 { return resources[r].scale }

// Column is a stored value of an allocation: a sum over time and instances, so that sets add, or a maximum.
type Column uint8

// Measure is a column that every Resource has.
type Measure Column

// The measures of a resource. Hours are amount × time: core-hours, byte-hours, device-hours.
const (
	Hours               Measure = iota // ∫ max(request, usage) dt
	RequestHours                       // ∫ request dt
	UsageHours                         // ∫ usage dt
	LimitHours                         // ∫ limit dt
	UsageMax                           // largest usage seen, as an amount; a maximum, not a sum
	Cost                               // ∫ allocated × price dt, list price
	Adjustment                         // what reconciliation adds to Cost
	CostIdle                           // the part of Cost that came from sharing idle
	UnknownSeconds                     // running seconds with unknown usage; of GPUs only while some are requested
	UnknownRequestHours                // ∫ request dt over those seconds
	numMeasures
)

// Of returns the column of measure m for resource r.
func (m Measure) Of(r Resource) Column { return Column(r)*Column(numMeasures) + Column(m) }

// The columns of no resource. They follow those of the resources.
const (
	RunningSeconds Column = Column(NumResources)*Column(numMeasures) + iota // Σ running seconds of all instances
	LeastSeconds                                                            // Σ shortest running time that the data allow
	MostSeconds                                                             // Σ longest running time that the data allow
	PVByteHours
	PVCost
	PVCostAdjustment
	NetworkTransferBytes
	NetworkReceiveBytes
	NetworkEgressBytes // the sent bytes that egress is priced for: to other zones, other regions and the internet
	NetworkCrossZoneCost
	NetworkCrossRegionCost
	NetworkInternetCost
	NetworkCostAdjustment
	LoadBalancerCost
	LoadBalancerCostAdjustment
	SharedCost
	ExternalCost
	CPUPeriods       // of the scheduler, in which a container with a CPU limit ran
	ThrottledPeriods // of those, in which it was throttled
	OOMKills         // how often the kernel killed a process of it for its memory
	CPUWaitingSeconds
	CPUScaledSeconds // running seconds in which a HorizontalPodAutoscaler scaled its controller by usage of CPU
	RAMScaledSeconds // and by usage of memory
	InitSeconds      // running seconds as an init container, native sidecars included
	NumColumns
)

// columnTraits describe a column. The zero value is a sum that is not money.
type columnTraits struct {
	name    string     // name in errors
	field   string     // name in stored files, with the unit
	money   bool       // counts towards totalCost (the CostIdle columns do not, as they are part of Cost)
	kind    SharedKind // of money: what it pays for
	adjusts bool       // of money: added to list prices by reconciliation
	max     bool       // rows merge by maximum, not by sum
	passes  bool       // only passes fill it: it is 0 in every set as it was built
}

var columns = makeColumns()

func makeColumns() (c [NumColumns]columnTraits) {
	measures := [numMeasures]columnTraits{
		Hours: {name: "Hours", field: "_*_hours"}, RequestHours: {name: "RequestHours", field: "_request_*_hours"},
		UsageHours: {name: "UsageHours", field: "_usage_*_hours"}, LimitHours: {name: "LimitHours", field: "_limit_*_hours"},
		UsageMax: {name: "UsageMax", field: "_usage_max_*s", max: true}, Cost: {name: "Cost", field: "_cost", money: true},
		Adjustment: {name: "CostAdjustment", field: "_cost_adjustment", money: true, adjusts: true, passes: true}, CostIdle: {name: "CostIdle", field: "_cost_idle", passes: true},
		UnknownSeconds:      {name: "UnknownSeconds", field: "_usage_unknown_seconds"},
		UnknownRequestHours: {name: "UnknownRequestHours", field: "_usage_unknown_request_*_hours"},
	}
	for r := range NumResources {
		for m, traits := range measures {
			traits.name = r.String() + traits.name
			traits.kind = r.Kind()
			traits.field = r.String() + strings.Replace(traits.field, "*", resources[r].unit, 1)
			c[Measure(m).Of(r)] = traits
		}
	}
	for col, traits := range map[Column]columnTraits{
		RunningSeconds:             {name: "runningSeconds", field: "running_seconds"},
		LeastSeconds:               {name: "leastSeconds", field: "least_seconds"},
		MostSeconds:                {name: "mostSeconds", field: "most_seconds"},
		PVByteHours:                {name: "pvByteHours", field: "pv_byte_hours"},
		PVCost:                     {name: "pvCost", field: "pv_cost", money: true, kind: SharedPV},
		PVCostAdjustment:           {name: "pvCostAdjustment", field: "pv_cost_adjustment", money: true, kind: SharedPV, adjusts: true, passes: true},
		NetworkTransferBytes:       {name: "networkTransferBytes", field: "network_transfer_bytes"},
		NetworkReceiveBytes:        {name: "networkReceiveBytes", field: "network_receive_bytes"},
		NetworkEgressBytes:         {name: "networkEgressBytes", field: "network_egress_bytes"},
		NetworkCrossZoneCost:       {name: "networkCrossZoneCost", field: "network_cross_zone_cost", money: true, kind: SharedNetwork},
		NetworkCrossRegionCost:     {name: "networkCrossRegionCost", field: "network_cross_region_cost", money: true, kind: SharedNetwork},
		NetworkInternetCost:        {name: "networkInternetCost", field: "network_internet_cost", money: true, kind: SharedNetwork},
		NetworkCostAdjustment:      {name: "networkCostAdjustment", field: "network_cost_adjustment", money: true, kind: SharedNetwork, adjusts: true, passes: true},
		LoadBalancerCost:           {name: "loadBalancerCost", field: "load_balancer_cost", money: true, kind: SharedLoadBalancer},
		LoadBalancerCostAdjustment: {name: "loadBalancerCostAdjustment", field: "load_balancer_cost_adjustment", money: true, kind: SharedLoadBalancer, adjusts: true, passes: true},
		SharedCost:                 {name: "sharedCost", field: "shared_cost", money: true, kind: SharedOverhead, passes: true},
		ExternalCost:               {name: "externalCost", field: "external_cost", money: true, kind: SharedExternal, passes: true},
		CPUPeriods:                 {name: "cpuPeriods", field: "cpu_periods"},
		ThrottledPeriods:           {name: "throttledPeriods", field: "cpu_throttled_periods"},
		OOMKills:                   {name: "oomKills", field: "oom_kills"},
		CPUWaitingSeconds:          {name: "cpuWaitingSeconds", field: "cpu_waiting_seconds"},
		CPUScaledSeconds:           {name: "cpuScaledSeconds", field: "cpu_scaled_seconds"},
		RAMScaledSeconds:           {name: "ramScaledSeconds", field: "ram_scaled_seconds"},
		InitSeconds:                {name: "initSeconds", field: "init_seconds"},
	} {
		c[col] = traits
	}
	return c
}

// String returns the column's name.
func (c Column) String() string { return columns[c].name }

// Field returns the column's name in stored files, which includes its unit: cpu_core_hours, ram_usage_max_bytes, cpu_cost.
func (c Column) Field() string { return columns[c].field }

// Unit returns the resource's unit in the singular: core, byte, device.
func (r Resource) Unit() string { return resources[r].unit }

// Money reports whether the column is a cost that counts towards totalCost.
func (c Column) Money() bool { return columns[c].money }

// Adjusts reports whether the column is added to list prices by reconciliation.
func (c Column) Adjusts() bool { return columns[c].adjusts }

// Maximum reports whether rows merge by maximum instead of by sum.
func (c Column) Maximum() bool { return columns[c].max }
