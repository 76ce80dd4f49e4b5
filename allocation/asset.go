package allocation

import "time"

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
