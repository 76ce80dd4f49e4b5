package allocation

import "time"

// AssetKey names a node, a disk or a load balancer of a set.
type AssetKey struct {
	Cluster string
	Name    string // of the node, the volume, the node that a local disk is attached to, or `<namespace>/<service>`
}

// Adjustments are what bills say that differs from list prices, for the window of one set: money to be added to what
// assets cost, in currency, negative where the bill is lower.
type Adjustments struct {
	Nodes         map[AssetKey]float64 // divided over CPU, RAM and GPU in proportion to their cost
	Volumes       map[AssetKey]float64
	LocalDisks    map[AssetKey]float64 // by node
	LoadBalancers map[AssetKey]float64
	Networks      map[string]float64 // by cluster
	Management    map[string]float64 // by cluster
	External      []ExternalAllocation
	Cloud         []CloudCost
}

// ExternalAllocation is a cost outside of clusters that carries the properties of an allocation, such as a bucket that is
// tagged with a namespace.
type ExternalAllocation struct {
	Text       [Services]string // by Property: what it carries
	Labels     map[string]string
	Start, End time.Time // inside the window of the set
	Cost       float64   // in currency
}

// CloudCost is an asset that only bills know: it runs in no cluster.
type CloudCost struct {
	Name, Provider, Account, Project string
	Category, Service, ProviderID    string
	Cluster                          string // that a tag names; empty for none
	Labels                           map[string]string
	Start, End                       time.Time
	Cost                             float64
	Adjustment                       float64
	Credit                           float64 // negative
}

// Reconcile returns a copy of s, which must be as a Builder yields it, whose assets carry the adjustments and which has
// the external allocations and cloud costs. Adjustments of assets that s does not have, of infinite or no amount, and
// external allocations outside of the window are an error. Rows are given their parts by Apply, where Options.Reconcile
// and Options.External ask for them.
func (s *Set) Reconcile(a Adjustments) (*Set, error) { return s, nil }
