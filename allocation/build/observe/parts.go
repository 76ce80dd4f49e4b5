package observe

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Location is where something is, as price sheets name it. Empty fields are not known.
type Location struct{ Provider, Region, Zone string }

// frame is the time that is computed.
type frame struct {
	Windows    []allocation.Window // of the sets, including the margins
	First      int                 // index of the first set that was asked for; a set before it is a margin
	Last       int                 // index after the last set that was asked for
	Borders    []int64             // of the sets, ascending: one more than windows
	Evidence   evidence
	Sampling   timeline.Sampling
	LoadedFrom int64 // time of the oldest signals that are read
}

// podTable has the pods, their containers, namespaces and owners.
type podTable struct {
	byUID    []*Pod          // by the numbers of their UIDs' symbols
	ByKey    map[PodKey]*Pod // those without a UID, or with that of another
	All      []*Pod          // as they came, those replaced by others of their name included
	ByName   map[ObjectKey][]*Pod
	Reserved map[ObjectKey][]Reserved
	// ClaimsByDevice has the clusters in which exporters say which devices claims hold.
	ClaimsByDevice map[signals.Symbol]bool
	Namespaces     map[ObjectKey]*namespace
	Owners         map[OwnerKey]Owner
	Order          []*Container // in the order of rows: sorted once resolved
	UnseenInit     []*Container
	Metadata       lateMetadata
	// Empty signals, which pods and containers share once they are resolved.
	NoPodSignals PodSignals
	NoSignals    ContainerSignals
}

// nodeTable has the nodes and the exporters on them.
type nodeTable struct {
	ByName    map[NodeKey][]*Node // in the order of time; one node a name until they are resolved
	Machines  map[NodeKey]*Machine
	Addresses map[NodeKey]signals.Symbol                    // nodes by IP address
	Devices   map[NodeKey]map[signals.Symbol]timeline.Steps // 1 while a device is seen, by its UUID
	Disks     map[NodeKey]timeline.RankedBy[signals.Symbol] // by what series name their nodes; see nodeReports
	Ended     map[signals.Symbol]int64                      // when the last node of a cluster ended, once resolved
}

// serviceTable has the services and their load balancers.
type serviceTable struct {
	Behind    *services.Index
	Balancers map[ObjectKey]*Balancer
	Others    map[ObjectKey]timeline.Steps // when services were seen with another type
	// Labels of services, whether they have a load balancer or not.
	Labels map[ObjectKey]timeline.Latest[map[string]string]
}

// priceTable has the prices of whole clusters, the price sheet, and what is wrong with prices.
type priceTable struct {
	Rates      rates.Rates
	Egress     map[signals.Symbol]*egressPrice // by cluster
	Management map[signals.Symbol]*Management  // by cluster
	Locations  map[signals.Symbol]Location     // of clusters
	Exported   exportedPrices
	Suspicious prices.Suspicious
	Defaulted  []string // nodes that got default prices
}

// Hours is the length of (from, to] in hours.
func Hours(from, to int64) float64 { return float64(to-from) / 3.6e6 }

// SetAt is the set to which the time just before to belongs.
func (ob *Observer) SetAt(to int64) int32 {
	i, _ := slices.BinarySearch(ob.Borders, to)
	return int32(i - 1)
}

// EachPart calls f for the parts of (from, to] that lie in each set.
func (ob *Observer) EachPart(from, to int64, f func(set int32, from, to int64)) {
	from, to = max(from, ob.Sampling.Start), min(to, ob.Sampling.End)
	for from < to {
		set := ob.SetAt(from + 1)
		next := min(to, ob.Borders[set+1])
		f(set, from, next)
		from = next
	}
}
