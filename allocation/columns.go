package allocation

// Resource is what a node sells and a container takes. Amounts are cores, bytes or devices.
type Resource uint8

// The resources that are integrated instant by instant against requests and usage.
const (
	CPU Resource = iota
	RAM
	GPU
	NumResources
)

// Resources describes each resource: its name in metrics and errors, and what one unit of its price buys.
var resources = [NumResources]struct {
	name  string
	scale float64 // amount that one unit of price pays for: 1 core, 2^30 bytes, 1 device
}{
	CPU: {"cpu", 1},
	RAM: {"ram", 1 << 30},
	GPU: {"gpu", 1},
}

// String is the resource's name in metrics: cpu, ram, gpu.
func (r Resource) String() string { return resources[r].name }

// PerPriceUnit is the amount that one unit of the resource's price pays for an hour of: a core, a GiB in bytes, a device.
func (r Resource) PerPriceUnit() float64 { return resources[r].scale }

// Column is a stored value of an allocation: a sum over time and instances (so sets add), or a maximum.
type Column uint8

// Measure is a column that every Resource has.
type Measure Column

// The measures of a resource. Hours are amount × hours: core-hours, byte-hours, device-hours.
const (
	Hours        Measure = iota // ∫ max(request, usage) dt
	RequestHours                // ∫ request dt
	UsageHours                  // ∫ usage dt
	LimitHours                  // ∫ limit dt
	UsageMax                    // the largest usage seen, in amount; a maximum, not a sum
	Cost                        // ∫ allocated × price dt, list price
	Adjustment                  // what reconciliation adds to Cost
	CostIdle                    // the part of Cost that sharing idle put there
	numMeasures
)

// Of is the column of measure m for resource r.
func (m Measure) Of(r Resource) Column { return Column(r)*Column(numMeasures) + Column(m) }

// The columns that belong to no resource, after those that do.
const (
	RunningSeconds Column = Column(NumResources)*Column(numMeasures) + iota // Σ running seconds of the instances
	LowerSeconds                                                            // Σ lower error bound × running seconds
	UpperSeconds                                                            // Σ upper error bound × running seconds; NaN where a bound is unknown
	PVByteHours
	PVCost
	PVCostAdjustment
	NetworkTransferBytes
	NetworkReceiveBytes
	NetworkEgressBytes // of what is sent, what egress is priced for: to other zones, other regions and the internet
	NetworkCrossZoneCost
	NetworkCrossRegionCost
	NetworkInternetCost
	NetworkCostAdjustment
	LoadBalancerCost
	LoadBalancerCostAdjustment
	SharedCost
	ExternalCost
	NumColumns
)

// columnTraits say how a column behaves; the zero value is a plain sum that is not money.
type columnTraits struct {
	name  string // as stored and in errors
	money bool   // counts towards totalCost (the CostIdle columns do not: they are part of Cost)
	max   bool   // rows merge by maximum, not by sum
}

var columns = makeColumns()

func makeColumns() (c [NumColumns]columnTraits) {
	measures := [numMeasures]columnTraits{
		Hours: {name: "Hours"}, RequestHours: {name: "RequestHours"}, UsageHours: {name: "UsageHours"},
		LimitHours: {name: "LimitHours"}, UsageMax: {name: "UsageMax", max: true}, Cost: {name: "Cost", money: true},
		Adjustment: {name: "CostAdjustment", money: true}, CostIdle: {name: "CostIdle"},
	}
	for r := range NumResources {
		for m, traits := range measures {
			traits.name = r.String() + traits.name
			c[Measure(m).Of(r)] = traits
		}
	}
	for col, traits := range map[Column]columnTraits{
		RunningSeconds: {name: "runningSeconds"}, LowerSeconds: {name: "lowerSeconds"}, UpperSeconds: {name: "upperSeconds"},
		PVByteHours: {name: "pvByteHours"}, PVCost: {name: "pvCost", money: true}, PVCostAdjustment: {name: "pvCostAdjustment", money: true},
		NetworkTransferBytes: {name: "networkTransferBytes"}, NetworkReceiveBytes: {name: "networkReceiveBytes"},
		NetworkEgressBytes:         {name: "networkEgressBytes"},
		NetworkCrossZoneCost:       {name: "networkCrossZoneCost", money: true},
		NetworkCrossRegionCost:     {name: "networkCrossRegionCost", money: true},
		NetworkInternetCost:        {name: "networkInternetCost", money: true},
		NetworkCostAdjustment:      {name: "networkCostAdjustment", money: true},
		LoadBalancerCost:           {name: "loadBalancerCost", money: true},
		LoadBalancerCostAdjustment: {name: "loadBalancerCostAdjustment", money: true},
		SharedCost:                 {name: "sharedCost", money: true}, ExternalCost: {name: "externalCost", money: true},
	} {
		c[col] = traits
	}
	return c
}

// String is the column's name.
func (c Column) String() string { return columns[c].name }

// Money reports whether the column is a cost that counts towards an allocation's totalCost.
func (c Column) Money() bool { return columns[c].money }
