package allocation

import "time"

// Options say which passes Apply runs. The zero value gives the sets one row a container, without idle.
type Options struct {
	// Aggregate are the keys that rows are merged by; none keeps a row a container, named
	// cluster/node/namespace/pod/container. Rows of one name, such as a pod and its successor of the same name on the
	// same node, are merged in any case, so that a name stands for one row.
	Aggregate []Key
	// LabelValue names the results of label and annotation keys `redis`, not `app=redis`.
	LabelValue bool
	// Idle adds what nodes cost and nobody was allocated, as one row named __idle__.
	Idle bool
	// IdleByNode keeps idle per node, else it is kept per cluster. It matters to SplitIdle, to ShareIdle, and to Filter:
	// of idle only the part stays that the selected rows would have been given.
	IdleByNode bool
	// SplitIdle gives idle rows per cluster, `<cluster>/__idle__`, or by node `<cluster>/<node>/__idle__`. With ShareIdle
	// there is nothing left to split, which a warning says.
	SplitIdle bool
	// ShareIdle gives idle to the rows of its cluster or node, by resource: Weighted by what they cost of it, or Even. It
	// joins their Cost and is told by CostIdle. What nobody can take stays __idle__, also without Idle.
	ShareIdle Split
	// Filter selects the rows that stay, before they are aggregated. nil keeps all. It never changes what one row pays:
	// all parts are computed before it.
	Filter Filter
	// Share are what is shared: the rows that they select become SharedCost of the others. A row belongs to the first
	// that selects it.
	Share []Share
	// SharedCost is a flat cost to be shared, in currency a month of 730 hours, counted for the hours of a set's window,
	// also for those that are still to come.
	SharedCost float64
	// ShareTenancy gives what clusters cost besides their nodes to the rows there, as SharedCost by usage hours: the
	// management fee to those of the cluster, disks attached to a node to those of the node. Without it, neither is in
	// any row. Where nobody ran, the cost is a row __unallocated__.
	ShareTenancy bool
	// ShareSplit is how Share, SharedCost and ShareLoadBalancers are split over the results: by their total cost before
	// idle, which is what NoSplit means too, or Even.
	ShareSplit Split
	// ShareLoadBalancers shares what load balancers cost like that of a Share, instead of leaving it with their pods.
	ShareLoadBalancers bool
	// SharedBreakdown tells what SharedCost is made of, as Set.SharedParts.
	SharedBreakdown bool
	// Reconcile gives rows their part of their assets' adjustments, so that what they cost is what was billed. It changes
	// nothing in sets that have none: see Set.Reconcile.
	Reconcile bool
	// External adds the costs outside of clusters that Set.Reconcile brought in to the results whose key they carry.
	External bool
	// Accumulate sums the sets of each period, or all of them.
	Accumulate Period
	// Zone is where days, weeks and months of Accumulate begin; nil is UTC.
	Zone *time.Location
	// AggregatedMetadata keeps the labels and annotations that all merged rows have in common, where their namespace is
	// the same; else merged rows have none.
	AggregatedMetadata bool
	// Proportions tells what part of each asset's cost a row is, as Set.Proportions.
	Proportions bool
	// Stopped, where not nil, is asked before each set whether to stop: why is the error of Apply.
	Stopped func() error
	// Check verifies the laws of SEMANTICS §5 on the sets given and after every pass. What is broken is an error.
	Check bool
}

// Split is how a cost is divided.
type Split uint8

// Ways to divide a cost.
const (
	NoSplit  Split = iota // it is not, or as the option says
	Weighted              // in proportion to what the takers cost
	Even                  // equally
)

// Share is something whose cost others bear.
type Share struct {
	// Name is what it is called in Set.SharedParts: a namespace, a label as `app=x`, or "share" for a filter.
	Name string
	// Filter selects its rows.
	Filter Filter
}

// Names of shared costs in Set.SharedParts that are no Share.
const (
	OverheadName      = "overhead"      // SharedCost of Options
	TenancyName       = "tenancy"       // ShareTenancy: management fees and attached disks
	LoadBalancersName = "loadBalancers" // ShareLoadBalancers
)

// CustomPrices price allocations a second time, by prices that need not be those that are paid: ACK's customCost.
type CustomPrices struct {
	Node         [NumResources]float64 // per core-hour, GiB-hour and device-hour
	Storage      float64               // per GiB-hour
	LoadBalancer float64               // per hour
	Egress       float64               // per GiB to other zones, other regions and the internet alike
}
