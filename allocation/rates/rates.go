package rates

import (
	"math"
	"time"

	"github.com/promcost/promcost/allocation"
)

// BuiltInPrices is the Source of prices that no configuration or metric gave.
const BuiltInPrices = "built-in defaults"

// openCostDefaults are the prices of a core, a GiB and a device an hour that OpenCost exports where it has no access to a price list: on demand, and spot.
var openCostDefaults = [2][allocation.NumResources]float64{{0.031611, 0.004237, 0.95}, {0.006655, 0.000892, 0.95}}

// nearly is how much an exported price may differ from one of OpenCost's defaults, relative to it, and still be that.
const nearly = 1e-6

// IsOpenCostDefault reports whether a price of a resource is one that OpenCost exports where it has no access to a price list.
func IsOpenCostDefault(r allocation.Resource, price float64) bool {
	for _, d := range openCostDefaults {
		if math.Abs(price-d[r]) <= nearly*d[r] {
			return true
		}
	}
	return false
}

// NodeAttributes are what a price may depend on. An empty attribute is unknown.
type NodeAttributes struct {
	Cluster      string
	Name         string            // the node's name in Kubernetes
	ProviderID   string            // aws:///us-east-1a/i-0123, as Kubernetes has it
	Provider     string            // aws, gcp, azure, …, lower case
	Region       string            // us-east-1
	Zone         string            // us-east-1a
	InstanceType string            // m5.large
	GPUModel     string            // as the node's labels name it: NVIDIA-A100-SXM4-40GB
	Labels       map[string]string // the node's labels, as they are exported
	Spot         bool              // spot, preemptible
	// Size is what the node has of each resource, in cores, GiB (2^30 bytes) and devices: the price of a whole machine is divided among them. 0 is unknown, or none.
	Size [allocation.NumResources]float64
	// Own are prices of a core, a GiB and a device an hour by metrics of the node itself: what is left of the price of the whole machine is that of the others. 0 is unknown, or free.
	Own [allocation.NumResources]float64
	// Exported are its prices by another exporter.
	Exported Machine
}

// Machine is what an exporter says that a machine costs, in the currency of the answers. The zero value says nothing.
type Machine struct {
	PerHour float64                          // money an hour of the whole machine; 0 is unknown
	Unit    [allocation.NumResources]float64 // of a core, a GiB and a device an hour; 0 is unknown
	Source  string                           // the exporter, for people
}

// NodeRates are the prices of a node where it has no price metrics of its own.
type NodeRates struct {
	// Price is money per core-hour, GiB-hour (2^30 bytes) and device-hour, by Resource, after discounts: never negative,
	// never NaN.
	Price [allocation.NumResources]float64
	// Discount is the discount on the list prices of CPU and RAM, 0 to 1. It is already included in Price.
	Discount float64
	// Source is where the prices come from, for people: "prices.yaml:12", BuiltInPrices.
	Source string
	// Sources are where the price of each resource comes from. "" stands for Source.
	Sources [allocation.NumResources]string
	// Default reports that the price of CPU or RAM is a built-in one, which is worth a warning.
	Default bool
	// ByPods reports that a rule says that the node is billed by its pods.
	ByPods bool
	// Ruled reports that a rule gave the price of CPU or RAM, rather than a default.
	Ruled bool
}

// ItemKind is something besides nodes that has a price.
type ItemKind uint8

// The kinds of items, and what one unit of each is.
const (
	ItemStorage        ItemKind = iota // a GiB-hour (2^30 bytes) of a volume or of a node's own disk
	ItemLoadBalancer                   // an hour of a load balancer
	ItemManagement                     // an hour of a cluster's control plane
	ItemEgressZone                     // a GiB to another zone of the region
	ItemEgressRegion                   // a GiB to another region
	ItemEgressInternet                 // a GiB to the internet
	NumItemKinds
)

// Item is what the price of something besides nodes may depend on. An empty attribute is unknown.
type Item struct {
	Kind         ItemKind
	Cluster      string
	Provider     string // aws, gcp, azure, …, lower case
	Region       string
	Zone         string
	StorageClass string            // of a volume
	Namespace    string            // of a volume's claim, or of a load balancer's service
	Name         string            // of the volume, of the node whose disk it is, or of the service
	Labels       map[string]string // its labels, as they are exported
	Exported     float64           // the price of a unit by an exporter; 0 is unknown
	ExportedBy   string            // the exporter, for people
}

// Rate is the price of an item.
type Rate struct {
	Price   float64 // per unit of the kind: never negative, never NaN
	Source  string  // where it comes from, for people, as NodeRates.Source
	Default bool    // a built-in price; 0 for kinds that are free by default
}

// Rates prices nodes and items. Implementations are pure and safe for concurrent use: the same attributes at the same time
// have the same price.
type Rates interface {
	// Node prices a node at an instant.
	Node(n NodeAttributes, at time.Time) NodeRates
	// Item prices an item at an instant.
	Item(i Item, at time.Time) Rate
	// Changes are the instants after from and before to at which any price may change, ascending: the new price holds at
	// the instant itself.
	Changes(from, to time.Time) []time.Time
}

// NodeNeeds are the attributes of nodes that the rules of a price sheet ask for.
type NodeNeeds struct {
	InstanceType, Region, Zone, GPUModel, Spot bool
	Labels                                     []string // in Kubernetes
}

// Ruled are Rates with rules that ask for labels of nodes.
type Ruled interface {
	// NodeNeeds returns what rules valid at an instant ask for and known does not have. The provider and the cluster of known
	// select the rules, where known. Its other attributes are those that some node of the cluster has, and its labels those
	// of all nodes.
	NodeNeeds(known NodeAttributes, at time.Time) NodeNeeds
	// IsSpot reports whether labels of a node say that it is a spot node, by what the sheet says of labels.
	IsSpot(labels map[string]string) bool
}
