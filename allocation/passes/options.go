package passes

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// Options say which passes Apply runs. The zero value keeps one row for each container, without idle.
type Options struct {
	// Aggregate are the keys by which rows are merged. Without keys there is a row for each container, named
	// cluster/node/namespace/pod/container. Rows with the same name are always merged, such as a pod and its successor of the
	// same name on the same node.
	Aggregate []allocation.Key
	// EvenKeys is how many of the first keys name the results that an even ShareSplit divides among; 0 is all. Results that agree
	// in them divide their part by weight.
	EvenKeys int
	// Separator is between the values of several keys in names; 0 is a slash.
	Separator byte
	// LabelValue names results of label and annotation keys `redis` instead of `app=redis`.
	LabelValue bool
	// Idle adds the cost of nodes that nobody was allocated, as one row named __idle__.
	Idle bool
	// IdleByNode keeps idle per node instead of per cluster. It matters for SplitIdle, ShareIdle and Filter: only the part of
	// idle stays that the selected rows would have been given.
	IdleByNode bool
	// SplitIdle names idle rows by cluster, `<cluster>/__idle__`, or by node, `<cluster>/<node>/__idle__`. With ShareIdle
	// there is nothing to split, and a warning says so. Idle by node that is aggregated by nodePool is named by pool: `<pool>/__idle__`, and
	// `<cluster>/<pool>/__idle__` where it is split.
	SplitIdle bool
	// ShareIdle divides idle among the rows of its cluster or node, by resource: Weighted by their cost of it, or Even. It is
	// added to their Cost, and CostIdle shows it. Idle that no row can take stays __idle__, even without Idle.
	ShareIdle Split
	// Filter selects the rows that stay, before aggregation. nil keeps all rows. It never changes what a row pays: all shares
	// are computed before it.
	Filter allocation.Filter
	// Share selects rows whose cost becomes SharedCost of the other rows. A row belongs to the first Share that selects it.
	Share []Share
	// SharedCost is a flat cost to be shared, in currency per month of 730 hours. It counts for all hours of a set's window,
	// future ones included.
	SharedCost float64
	// ShareTenancy gives rows the costs of clusters besides nodes, as SharedCost by usage hours: the management fee to the
	// rows of the cluster, disks attached to a node to the rows on the node. Otherwise neither is in any row. Where no
	// container ran, the cost is a row __unallocated__.
	ShareTenancy bool
	// ShareSplit is how Share, SharedCost and ShareLoadBalancers are divided among the results: by their total cost before
	// idle (Weighted, NoSplit) or Even.
	ShareSplit Split
	// ShareLoadBalancers shares the cost of load balancers like that of a Share, instead of leaving it with their pods.
	ShareLoadBalancers bool
	// SharedBreakdown fills Set.SharedParts with the components of SharedCost.
	SharedBreakdown bool
	// External adds the costs outside of clusters that Set.Reconcile brought in, as rows with the properties that they carry.
	External bool
	// Accumulate sums the sets of each period.
	Accumulate allocation.Period
	// Zone is where the days, weeks and months of Accumulate begin; nil is UTC.
	Zone *time.Location
	// AggregatedMetadata keeps the labels and annotations that all merged rows have in common, if they are in one namespace.
	// Otherwise merged rows have none.
	AggregatedMetadata bool
	// Proportions fills Set.Proportions with the part of each asset's cost that a row has.
	Proportions bool
	// Stopped, if not nil, is called before each set. If it returns an error, Apply stops with it.
	Stopped func() error
	// Check verifies the laws of SEMANTICS §5 on the given sets and after every pass. A violation is an error.
	Check bool
}

// Split is how a cost is divided.
type Split uint8

// Ways to divide a cost.
const (
	NoSplit  Split = iota // not divided, or as the option says
	Weighted              // in proportion to the cost of the rows
	Even                  // equally
)

// Share is something whose cost others bear.
type Share struct {
	// Name is its name in Set.SharedParts: a namespace, a label such as `app=x`, or "share" for a filter.
	Name string
	// Filter selects its rows.
	Filter allocation.Filter
}

// OnlyMerges reports whether the passes of o do little with rows but merge them. Most properties are then needed only of
// results.
func (o *Options) OnlyMerges() bool {
	return o.ShareIdle == NoSplit && len(o.Share) == 0 && o.SharedCost == 0 && !o.ShareLoadBalancers && !o.External && !o.Proportions && !o.Check
}

// keys returns the keys by which rows are merged.
func (o *Options) keys() []allocation.Key {
	if len(o.Aggregate) == 0 {
		return allocation.InstanceKeys()
	}
	return o.Aggregate
}

// Needs returns what the passes of o look at. Where they only merge rows and a filter drops some, the properties in the rows'
// names are deferred, and so are clusters and nodes.
func (o *Options) Needs() *allocation.Projection {
	p := &allocation.Projection{
		Columns: append(allocation.MoneyColumns(), allocation.RunningSeconds), // usage hours divide shared cost
		Volumes: o.Proportions, Balancers: o.Proportions || o.ShareLoadBalancers,
		WithoutAssets: !o.Idle && o.ShareIdle == NoSplit && !o.ShareTenancy && !o.External && !o.Proportions,
		FewOfAssets:   !o.Proportions,
	}
	if o.ShareIdle != NoSplit || o.Proportions {
		p.Columns = append(p.Columns, allocation.CostIdle.Of(allocation.CPU), allocation.CostIdle.Of(allocation.RAM), allocation.CostIdle.Of(allocation.GPU))
	}
	selecting, names := []*allocation.Projection{p}, []*allocation.Projection{allocation.OfRows([]allocation.Property{allocation.Cluster, allocation.NodeName})}
	if o.Filter != nil {
		selecting = append(selecting, o.Filter.Needs())
	}
	for _, share := range o.Share {
		selecting = append(selecting, share.Filter.Needs())
	}
	for _, k := range o.keys() {
		if o.Filter == nil {
			selecting = append(selecting, k.Needs())
		} else {
			names = append(names, k.Needs())
		}
	}
	if o.AggregatedMetadata {
		names = append(names, allocation.OfRows([]allocation.Property{allocation.Cluster, allocation.Namespace, allocation.Labels, allocation.Annotations}))
	}
	all := allocation.Union(append(selecting, allocation.Union(names...).OfResults())...)
	if !o.OnlyMerges() || o.AggregatedMetadata || len(o.Aggregate) == 0 {
		return all.Now()
	}
	return all
}
