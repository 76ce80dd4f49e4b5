package allocation

import (
	"strings"
	"time"
)

// LocalStorage is the storage class of the disks of nodes, named as in OpenCost.
const LocalStorage = "__local__"

// Disk is a disk asset over its life inside the window: a persistent volume, or the disk of a node.
type Disk struct {
	Cluster, Name, ProviderID string // the name is the volume's, or for a local disk the node's
	Local                     bool   // attached to a node; else a persistent volume
	StorageClass              string
	ClaimNamespace, ClaimName string // the claim that the volume is bound to; empty where unknown
	Labels                    map[string]string
	Start, End                time.Time
	ByteHours                 float64 // ∫ capacity dt
	UsedByteHours             float64 // ∫ used dt; NaN where unknown
	UsedMax                   float64 // bytes; NaN where unknown
	Cost                      float64 // ∫ capacity × price dt
	Adjustment                float64 // what reconciliation with the bill adds to Cost; so in the other assets
	PriceSource               string
}

// LoadBalancer is a load balancer asset over its life inside the window.
type LoadBalancer struct {
	Cluster, Namespace, Service string
	IP                          string // address of its ingress, or the host name
	ProviderID                  string
	Private                     bool
	Start, End                  time.Time
	Hours                       float64
	Cost                        float64
	Adjustment                  float64
	PriceSource                 string
}

// Network is the cost of a cluster's traffic in the window.
type Network struct {
	Cluster    string
	Start, End time.Time
	// The cost of egress to other zones, to other regions and to the internet.
	CrossZone, CrossRegion, Internet float64
	Adjustment                       float64
	// Price is the price of a GiB of each kind at the end, in this order. PriceSource is where it comes from; "" where
	// nothing is charged.
	Price       [3]float64
	PriceSource [3]string
}

// TotalCost returns the cost without the adjustment.
func (n *Network) TotalCost() float64 { return n.CrossZone + n.CrossRegion + n.Internet }

// Management is the provider's fee for a cluster's control plane in the window.
type Management struct {
	Cluster, Provisioner string
	Start, End           time.Time
	Cost                 float64
	Adjustment           float64
	PriceSource          string
}

// Breakdown is how a node's CPU time or memory was used, as fractions of 1. The zero value is unknown.
type Breakdown struct{ Idle, Other, System, User float64 }

// AssetType is the type of an asset.
type AssetType uint8

// The types of assets.
const (
	NodeAsset AssetType = iota
	DiskAsset
	LoadBalancerAsset
	NetworkAsset
	ManagementAsset
	CloudAsset // occurs only in bills
	MixedAsset // assets of different types that were merged
	NumAssetTypes
)

// assetTypes are the types' names in the API.
var assetTypes = [NumAssetTypes]string{
	NodeAsset:         "Node",
	DiskAsset:         "Disk",
	LoadBalancerAsset: "LoadBalancer",
	NetworkAsset:      "Network",
	ManagementAsset:   "ClusterManagement",
	CloudAsset:        "Cloud",
}

// String returns the type's name in the API, "" for MixedAsset.
func (t AssetType) String() string { return assetTypes[t] }

// Asset is an asset of any type as the API serves it, or several that were merged. Properties are empty where they are
// missing or where merged assets disagree.
type Asset struct {
	Type                                                               AssetType
	Name                                                               string // of merged assets: their key
	Category, Service, Provider, Account, Project, Cluster, ProviderID string
	// Title is the property name: the name of the node or volume, <namespace>/<service> of a load balancer, …
	Title      string
	Region     string            // of nodes, of their disks, and of volumes with a region label
	Pool       string            // of nodes and of their disks
	Labels     map[string]string // of merged assets: the common ones
	Start, End time.Time
	Cost       float64 // after discounts, without the adjustment
	Adjustment float64
	Credit     float64 // of CloudAsset, negative
	// Preemptible is 1 for spot nodes and 0 for others; for merged assets the mean by cost.
	Preemptible float64
	// Node, Disk and Balancer are the details of an asset of that type, else nil. They must not be changed.
	Node     *Node
	Disk     *Disk
	Balancer *LoadBalancer
}

// TotalCost returns the cost with adjustment and credit.
func (a *Asset) TotalCost() float64 { return a.Cost + a.Adjustment + a.Credit }

// Minutes returns the minutes from start to end.
func (a *Asset) Minutes() float64 { return a.End.Sub(a.Start).Minutes() }

// ParseProviderID splits the provider id of a node as Kubernetes has it into the provider (AWS, GCP or Azure) and the id that
// the provider's bill and tools use. An id of unknown form is returned as it is, with an empty provider.
func ParseProviderID(full string) (provider, id string) {
	scheme, rest, ok := strings.Cut(full, "://")
	if !ok {
		return "", full
	}
	switch scheme {
	case "aws", "gce":
		// The forms are aws:///zone/instance and gce://project/zone/instance.
		provider = map[string]string{"aws": "AWS", "gce": "GCP"}[scheme]
		return provider, rest[strings.LastIndexByte(rest, '/')+1:]
	case "azure":
		return "Azure", full
	}
	return "", full
}

// OwnID returns the id of an asset of a cluster in bills that promcost writes, where the provider's bill has none that is known.
func OwnID(cluster string, t AssetType, name string) string {
	return cluster + "/" + t.String() + "/" + name
}

// AssetKey identifies a node, a disk or a load balancer of a set.
type AssetKey struct {
	Cluster string
	Name    string // of the node or volume, of a local disk's node, or `<namespace>/<service>`
	// ProviderID tells apart nodes and disks of one name that follow each other. Empty stands for any.
	ProviderID string
}

// ExternalAllocation is a cost outside of clusters that carries properties of an allocation, such as a bucket that is tagged
// with a namespace.
type ExternalAllocation struct {
	Text       [Services]string // by Property; empty where it carries none
	Labels     map[string]string
	Start, End time.Time // inside the window of the set
	Cost       float64   // in currency
}

// CloudCost is an asset that runs in no cluster and occurs only in bills.
type CloudCost struct {
	Name, Provider, Account, Project string
	Category, Service, ProviderID    string
	Cluster                          string // that a tag names; empty if none does
	Labels                           map[string]string
	Start, End                       time.Time
	Cost                             float64
	Adjustment                       float64
	Credit                           float64 // negative
}
