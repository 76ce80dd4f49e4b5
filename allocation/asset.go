package allocation

import (
	"strings"
	"time"
)

// LocalStorage is the storage class of the disks of nodes, as OpenCost names it.
const LocalStorage = "__local__"

// Disk is a disk asset over its life inside the window: a persistent volume, or the disk of a node.
type Disk struct {
	Cluster, Name, ProviderID string // a volume's name, or its node's
	Local                     bool   // attached to a node, not a persistent volume
	StorageClass              string
	ClaimNamespace, ClaimName string // of the claim that the volume is bound to; empty where none is known
	Labels                    map[string]string
	Start, End                time.Time
	ByteHours                 float64 // ∫ capacity dt
	UsedByteHours             float64 // ∫ used dt; NaN where that is unknown
	UsedMax                   float64 // bytes; NaN where that is unknown
	Cost                      float64 // ∫ capacity × price dt
	Adjustment                float64 // what reconciliation with the bill adds to Cost
	PriceSource               string
}

// LoadBalancer is a load balancer asset over its life inside the window.
type LoadBalancer struct {
	Cluster, Namespace, Service string
	IP                          string // of its ingress, or the host name
	ProviderID                  string
	Private                     bool
	Start, End                  time.Time
	Hours                       float64
	Cost                        float64
	Adjustment                  float64
	PriceSource                 string
}

// Network is what a cluster's traffic costs in the window.
type Network struct {
	Cluster    string
	Start, End time.Time
	// Cost is that of egress to other zones, other regions and the internet.
	CrossZone, CrossRegion, Internet float64
	Adjustment                       float64
	// Price is that of a GiB of each at the end, in this order, and PriceSource where it comes from; "" where nothing of it is
	// charged.
	Price       [3]float64
	PriceSource [3]string
}

// TotalCost is the cost without the adjustment.
func (n *Network) TotalCost() float64 { return n.CrossZone + n.CrossRegion + n.Internet }

// Management is what the provider takes for running a cluster's control plane in the window.
type Management struct {
	Cluster, Provisioner string
	Start, End           time.Time
	Cost                 float64
	Adjustment           float64
	PriceSource          string
}

// Breakdown is what a node's CPU time or memory was used for, as fractions of 1. The zero value is unknown.
type Breakdown struct{ Idle, Other, System, User float64 }

// AssetType is what an asset is.
type AssetType uint8

// The types of assets.
const (
	NodeAsset AssetType = iota
	DiskAsset
	LoadBalancerAsset
	NetworkAsset
	ManagementAsset
	CloudAsset // what only bills know
	MixedAsset // what assets of different types were merged into
	NumAssetTypes
)

// assetTypes are the names of the types in the API.
var assetTypes = [NumAssetTypes]string{
	NodeAsset:         "Node",
	DiskAsset:         "Disk",
	LoadBalancerAsset: "LoadBalancer",
	NetworkAsset:      "Network",
	ManagementAsset:   "ClusterManagement",
	CloudAsset:        "Cloud",
}

// String is the type's name in the API; that of a mixed one is empty.
func (t AssetType) String() string { return assetTypes[t] }

// Asset is an asset of any type as the API serves it, or several that were merged. Properties are empty where they are
// missing, or where those merged disagree.
type Asset struct {
	Type                                                               AssetType
	Name                                                               string // of a merged one: its key
	Category, Service, Provider, Account, Project, Cluster, ProviderID string
	// Title is the property name: that of the node, the volume, namespace/service of a load balancer, …
	Title      string
	Region     string            // of nodes, of the disks in them, and of volumes that are labeled with it
	Labels     map[string]string // those that all merged have in common
	Start, End time.Time
	Cost       float64 // after discounts, without the adjustment
	Adjustment float64
	Credit     float64 // of Cloud, negative
	// Preemptible is 1 for spot nodes, 0 for others, between them for merged ones, by cost.
	Preemptible float64
	// Node, Disk and Balancer are the details of an asset of that type, nil for others. They must not be changed.
	Node     *Node
	Disk     *Disk
	Balancer *LoadBalancer
}

// TotalCost is the cost with its adjustment and credit.
func (a *Asset) TotalCost() float64 { return a.Cost + a.Adjustment + a.Credit }

// Minutes are those from start to end.
func (a *Asset) Minutes() float64 { return a.End.Sub(a.Start).Minutes() }

// ParseProviderID reads the provider of a node from the id that Kubernetes has for it, and the id that the provider's bill
// and tools have: AWS, GCP or Azure. Where the form is unknown, the provider is empty and the id as given.
func ParseProviderID(full string) (provider, id string) {
	scheme, rest, ok := strings.Cut(full, "://")
	if !ok {
		return "", full
	}
	switch scheme {
	case "aws", "gce":
		// aws:///zone/instance and gce://project/zone/instance
		provider = map[string]string{"aws": "AWS", "gce": "GCP"}[scheme]
		return provider, rest[strings.LastIndexByte(rest, '/')+1:]
	case "azure":
		return "Azure", full
	}
	return "", full
}
