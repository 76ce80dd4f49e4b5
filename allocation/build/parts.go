package build

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// frame is the time that a Builder computes.
type frame struct {
	windows    []allocation.Window // of the sets, including the margins
	first      int                 // index of the first set that was asked for; a set before it is a margin
	last       int                 // index after the last set that was asked for
	borders    []int64             // of the sets, ascending: one more than windows
	evidence   evidence
	sampling   timeline.Sampling
	loadedFrom int64 // time of the oldest signals that are read
}

// podTable has the pods, their containers, namespaces and owners.
type podTable struct {
	byUID      []*pod          // by the numbers of their UIDs' symbols
	byKey      map[podKey]*pod // those without a UID, or with that of another
	all        []*pod          // as they came, those replaced by others of their name included
	byName     map[objectKey][]*pod
	namespaces map[objectKey]*namespace
	owners     map[ownerKey]owner
	order      []*container // in the order of rows: sorted once resolved
	unseenInit []*container
	metadata   lateMetadata
	// Empty signals, which pods and containers share once they are resolved.
	noPodSignals podSignals
	noSignals    containerSignals
}

// nodeTable has the nodes, the exporters on them, and cost without a node.
type nodeTable struct {
	byName    map[nodeKey][]*node // in the order of time; one node a name until they are resolved
	machines  map[nodeKey]*machine
	addresses map[nodeKey]signals.Symbol // nodes by IP address
	orphans   map[nodelessKey][allocation.NumResources]float64
	ended     map[signals.Symbol]int64 // when the last node of a cluster ended, once resolved
}

// serviceTable has the services and their load balancers.
type serviceTable struct {
	behind    *services.Index
	balancers map[objectKey]*balancer
	// labels of services, whether they have a load balancer or not.
	labels map[objectKey]timeline.Latest[map[string]string]
}

// priceTable has the prices of whole clusters, the price sheet, and what is wrong with prices.
type priceTable struct {
	rates      rates.Rates
	egress     map[signals.Symbol]*egressPrice // by cluster
	management map[signals.Symbol]*management  // by cluster
	locations  map[signals.Symbol]location     // of clusters
	suspicious prices.Suspicious
	defaulted  []string // nodes that got default prices
}

// outages has the times in which something was not seen.
type outages struct {
	absent        map[signals.Symbol]*absence           // by cluster
	silent        map[signals.Symbol]timeline.Intervals // when no container of a cluster gave the best running signal for longer than a lookback
	lost          timeline.Intervals                    // when the source could not return its samples of running containers
	bridged       gaps                                  // of containers
	holes         gaps                                  // in usage
	withoutStatus map[objectKey]bool                    // pods on a node none of whose containers has a status
}

// report collects what the sets' warnings are made of.
type report struct {
	warnings        []string
	unplaced        []string                       // pods on no known node
	unplacedDefault bool                           // some of them have default prices
	discovered      []string                       // containers known only by their usage
	unrequested     map[signals.Symbol]unrequested // by cluster
	badRequests     []string                       // containers with requests that are negative or not finite
	// severalClusters makes warnings name the cluster of what they name.
	severalClusters bool
}

// newParts returns a Builder that knows nothing yet.
func newParts(rates rates.Rates, symbols *signals.Symbols) *Builder {
	dict := allocation.NewDict()
	return &Builder{
		pods: podTable{
			byKey: map[podKey]*pod{}, byName: map[objectKey][]*pod{},
			namespaces: map[objectKey]*namespace{}, owners: map[ownerKey]owner{}, noPodSignals: podSignals{hint: none},
			metadata: lateMetadata{nameless: map[objectKey]*pod{}},
		},
		nodes: nodeTable{
			byName: map[nodeKey][]*node{}, machines: map[nodeKey]*machine{}, addresses: map[nodeKey]signals.Symbol{},
			orphans: map[nodelessKey][allocation.NumResources]float64{}, ended: map[signals.Symbol]int64{},
		},
		services: serviceTable{
			behind: services.NewIndex(dict, symbols), balancers: map[objectKey]*balancer{}, labels: map[objectKey]timeline.Latest[map[string]string]{},
		},
		prices: priceTable{
			rates: rates, egress: map[signals.Symbol]*egressPrice{}, management: map[signals.Symbol]*management{},
		},
		outages: outages{absent: map[signals.Symbol]*absence{}, silent: map[signals.Symbol]timeline.Intervals{}},
		report:  report{unrequested: map[signals.Symbol]unrequested{}},
		storage: newStorage(), interned: interned{dict: dict}, symbols: symbols, left: map[leftKey]*left{}, cuts: cuts{terms: map[terms]*terms{}},
	}
}
