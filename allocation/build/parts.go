package build

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// frame is the time that a Builder is about.
type frame struct {
	windows    []allocation.Window // of the sets, those of the margins among them
	first      int                 // of the sets that were asked for: those before it are the margin before the window
	last       int                 // the one after the last that was asked for
	borders    []int64             // of the sets, ascending: one more than windows
	evidence   evidence
	sampling   timeline.Sampling
	loadedFrom int64 // time of the oldest signals asked for
}

// podTable is what is known of pods, their containers and their namespaces.
type podTable struct {
	byKey      map[podKey]*pod
	byName     map[objectKey][]*pod
	namespaces map[objectKey]*namespace
	owners     map[ownerKey]owner
	order      []*container // of rows: sorted once resolved
	unseenInit []*container
	// What pods and containers share once they are resolved: nothing.
	noPodSignals podSignals
	noSignals    containerSignals
}

// nodeTable is what is known of nodes.
type nodeTable struct {
	byName    map[nodeKey][]*node // in the order of time; one each until Resolve
	machines  map[nodeKey]*machine
	addresses map[nodeKey]signals.Symbol // nodes by IP address
	orphans   map[outsideKey][allocation.NumResources]float64
}

// serviceTable is what is known of services and their load balancers.
type serviceTable struct {
	behind    services
	balancers map[objectKey]*balancer
	// labels are kept apart: that a service has labels does not mean that it has a load balancer.
	labels map[objectKey]timeline.Latest[map[string]string]
}

// priceTable is what prices are known, besides those of things themselves, and what is wrong with prices.
type priceTable struct {
	rates      rates.Rates
	egress     map[signals.Symbol]*egressPrice // by cluster
	management map[signals.Symbol]*management  // by cluster
	locations  map[signals.Symbol]location     // of clusters
	bad        map[badPrice]bool
	defaulted  []string // nodes that got default prices
}

// outages is when something was not seen.
type outages struct {
	absent  map[signals.Symbol]*absence           // by cluster
	silent  map[signals.Symbol]timeline.Intervals // when none of a cluster's containers gave the best running signal
	lost    timeline.Intervals                    // when the source could not give what it has of running containers
	bridged gaps                                  // of containers
	holes   gaps                                  // in usage
	blind   map[objectKey]bool                    // pods on a node none of whose containers has a status
}

// report is what the sets' warnings are made of.
type report struct {
	warnings        []string
	unplaced        []string                       // pods on no known node
	unplacedDefault bool                           // some of them have built-in prices
	discovered      []string                       // containers known by their usage alone
	unrequested     map[signals.Symbol]unrequested // by cluster
	badRequests     []string                       // containers some of whose requests cannot be computed with
	// severalClusters makes warnings name the cluster of what they name.
	severalClusters bool
}

// newParts returns a Builder that knows nothing yet.
func newParts(rates rates.Rates) *Builder {
	return &Builder{
		pods: podTable{
			byKey: map[podKey]*pod{}, byName: map[objectKey][]*pod{}, namespaces: map[objectKey]*namespace{},
			owners: map[ownerKey]owner{}, noPodSignals: podSignals{hint: none},
		},
		nodes: nodeTable{
			byName: map[nodeKey][]*node{}, machines: map[nodeKey]*machine{}, addresses: map[nodeKey]signals.Symbol{},
			orphans: map[outsideKey][allocation.NumResources]float64{},
		},
		services: serviceTable{
			behind: newServices(), balancers: map[objectKey]*balancer{}, labels: map[objectKey]timeline.Latest[map[string]string]{},
		},
		prices: priceTable{
			rates: rates, egress: map[signals.Symbol]*egressPrice{}, management: map[signals.Symbol]*management{}, bad: map[badPrice]bool{},
		},
		outages: outages{absent: map[signals.Symbol]*absence{}, silent: map[signals.Symbol]timeline.Intervals{}},
		report:  report{unrequested: map[signals.Symbol]unrequested{}},
		storage: newStorage(), dict: allocation.NewDict(), left: map[leftKey]*left{},
	}
}
