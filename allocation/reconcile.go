package allocation

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// AssetKey identifies a node, a disk or a load balancer of a set.
type AssetKey struct {
	Cluster string
	Name    string // of the node or volume, of a local disk's node, or `<namespace>/<service>`
}

// Adjustments are the differences between bills and list prices for the window of one set. They are added to the cost of
// assets, in currency, and are negative where the bill is lower.
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

// Reconcile returns a copy of s with the external allocations and cloud costs, and with the adjustments added to those of its
// assets. s must be as a Builder makes it. It fails for adjustments of assets that s does not have, for NaN and infinite
// amounts, and for costs outside of the window. Apply gives rows their shares if Options.Reconcile and Options.External are
// set.
func (s *Set) Reconcile(a Adjustments) (*Set, error) {
	if s.names != nil {
		return nil, fmt.Errorf("reconcile set of %s: passes have made it: reconcile sets as they were built", s.span())
	}
	out := *s
	err := errors.Join(
		adjustAssets(&out.Nodes, a.Nodes, "node", func(n *Node) AssetKey { return AssetKey{n.Cluster, n.Name} }, (*Node).adjust),
		adjustAssets(&out.Disks, a.Volumes, "volume", func(d *Disk) AssetKey { return d.key(false) }, func(d *Disk, v float64) { d.Adjustment += v }),
		adjustAssets(&out.Disks, a.LocalDisks, "local disk of node", func(d *Disk) AssetKey { return d.key(true) }, func(d *Disk, v float64) { d.Adjustment += v }),
		adjustAssets(&out.Balancers, a.LoadBalancers, "load balancer", (*LoadBalancer).key, func(l *LoadBalancer, v float64) { l.Adjustment += v }),
		adjustAssets(&out.Networks, byCluster(a.Networks), "network", func(n *Network) AssetKey { return AssetKey{n.Cluster, ""} }, func(n *Network, v float64) { n.Adjustment += v }),
		adjustAssets(&out.Management, byCluster(a.Management), "management", func(m *Management) AssetKey { return AssetKey{m.Cluster, ""} }, func(m *Management, v float64) { m.Adjustment += v }),
		out.addBilled(&a),
	)
	if err != nil {
		return nil, fmt.Errorf("reconcile set of %s: %w", s.span(), err)
	}
	return &out, nil
}

// addBilled adds the costs outside of clusters.
func (s *Set) addBilled(a *Adjustments) error {
	checkWithin := func(what string, i int, start, end time.Time, amounts ...float64) error {
		for _, v := range amounts {
			if v-v != 0 {
				return fmt.Errorf("%s %d: amount %v is not a finite number", what, i, v)
			}
		}
		if end.Before(start) || start.Before(s.Window.Start) || end.After(s.Window.End) {
			return fmt.Errorf("%s %d: %s to %s is not within the window: cut the bill to it", what, i, start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
		}
		return nil
	}
	for i := range a.External {
		e := &a.External[i]
		if err := checkWithin("external allocation", i, e.Start, e.End, e.Cost); err != nil {
			return err
		}
	}
	for i := range a.Cloud {
		c := &a.Cloud[i]
		if err := checkWithin("cloud cost", i, c.Start, c.End, c.Cost, c.Adjustment, c.Credit); err != nil {
			return err
		}
	}
	s.External = slices.Concat(s.External, a.External)
	s.Cloud = slices.Concat(s.Cloud, a.Cloud)
	return nil
}

// byCluster returns the adjustments by key, for assets of which a cluster has one.
func byCluster(of map[string]float64) map[AssetKey]float64 {
	out := make(map[AssetKey]float64, len(of))
	for cluster, v := range of {
		out[AssetKey{cluster, ""}] = v
	}
	return out
}

// adjustAssets adds adjustments to a copy of the assets: to the first asset with a key, should there be several.
func adjustAssets[T any](assets *[]T, of map[AssetKey]float64, what string, key func(*T) AssetKey, adjust func(*T, float64)) error {
	if len(of) == 0 {
		return nil
	}
	list, done := slices.Clone(*assets), make(map[AssetKey]bool, len(of))
	for i := range list {
		k := key(&list[i])
		if v, ok := of[k]; ok && !done[k] {
			adjust(&list[i], v)
			done[k] = true
		}
	}
	*assets = list
	for _, k := range slices.SortedFunc(maps.Keys(of), func(a, b AssetKey) int { return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name)) }) {
		if v := of[k]; v-v != 0 {
			return fmt.Errorf("cluster %q %s %q: adjustment %v is not a finite number", k.Cluster, what, k.Name, v)
		}
		if !done[k] {
			return fmt.Errorf("cluster %q %s %q: there is none to adjust: make it a cloud cost", k.Cluster, what, k.Name)
		}
	}
	return nil
}

// adjust divides an adjustment among the node's resources in proportion to their cost. If the node is free, CPU takes all.
func (n *Node) adjust(v float64) {
	total := n.TotalCost()
	if total == 0 {
		n.Adjustment[CPU] += v
		return
	}
	for r, cost := range n.Cost {
		n.Adjustment[r] += v * (cost / total)
	}
}

// key returns the disk's key if it is local or not as asked, otherwise the zero key, which matches nothing.
func (d *Disk) key(local bool) AssetKey {
	if d.Local != local {
		return AssetKey{}
	}
	return AssetKey{d.Cluster, d.Name}
}

func (l *LoadBalancer) key() AssetKey { return AssetKey{l.Cluster, l.Namespace + "/" + l.Service} }
