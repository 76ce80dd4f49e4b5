package passes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Adjustments are the differences between bills and list prices for the window of one set. They are added to the cost of
// assets, in currency, and are negative where the bill is lower.
type Adjustments struct {
	Nodes         map[allocation.AssetKey]float64            // divided over CPU, RAM and GPU in proportion to their cost
	Charged       map[allocation.AssetKey]allocation.Charged // of nodes: no difference, but what Node.Charged is
	Volumes       map[allocation.AssetKey]float64
	LocalDisks    map[allocation.AssetKey]float64 // by node
	LoadBalancers map[allocation.AssetKey]float64
	Networks      map[string]float64 // by cluster; a network that the set does not have is made
	Management    map[string]float64 // by cluster; made in the same way
	External      []allocation.ExternalAllocation
	Cloud         []allocation.CloudCost
}

// Reconcile returns a copy of s with the external allocations and cloud costs, and with the adjustments added to those of its
// assets and divided among its rows. What no row can take is a row __unallocated__. s must be as a Builder makes it, or be read
// with ReconcileNeeds; without the columns of rows, only assets are adjusted. It fails for sets that have adjustments, for
// adjustments of assets that s does not have, for NaN and infinite amounts, and for costs outside of the window.
//
// Rows get the same shares of a set and of the sets that it is merged from if each of these gets the same part of the cost of
// its assets.
func Reconcile(s *allocation.Set, a Adjustments) (*allocation.Set, error) {
	fail := func(err error) (*allocation.Set, error) {
		return nil, fmt.Errorf("reconcile set of %s: %w", s.Window.Text(), err)
	}
	switch {
	case !s.Built():
		return fail(errors.New("passes have made it: reconcile sets as they were built"))
	case isAdjusted(s):
		return fail(errors.New("it has adjustments: reconcile a set once"))
	}
	out := *s
	addClusterAssets(&out, &a)
	setCharged(&out, a.Charged)
	err := errors.Join(
		adjustAssets(&out.Nodes, a.Nodes, "node", func(n *allocation.Node) allocation.AssetKey {
			return allocation.AssetKey{Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID}
		}, (*allocation.Node).TotalCost, adjustNode),
		adjustAssets(&out.Disks, a.Volumes, "volume", func(d *allocation.Disk) allocation.AssetKey { return diskKey(d, false) }, diskCost, adjustDisk),
		adjustAssets(&out.Disks, a.LocalDisks, "local disk of node", func(d *allocation.Disk) allocation.AssetKey { return diskKey(d, true) }, diskCost, adjustDisk),
		adjustAssets(&out.Balancers, a.LoadBalancers, "load balancer", balancerKey, func(l *allocation.LoadBalancer) float64 { return l.Cost }, func(l *allocation.LoadBalancer, v float64) { l.Adjustment += v }),
		adjustAssets(&out.Networks, byCluster(a.Networks), "network", func(n *allocation.Network) allocation.AssetKey { return allocation.AssetKey{Cluster: n.Cluster} }, (*allocation.Network).TotalCost, func(n *allocation.Network, v float64) { n.Adjustment += v }),
		adjustAssets(&out.Management, byCluster(a.Management), "management", func(m *allocation.Management) allocation.AssetKey { return allocation.AssetKey{Cluster: m.Cluster} }, func(m *allocation.Management) float64 { return m.Cost }, func(m *allocation.Management, v float64) { m.Adjustment += v }),
		addBilled(&out, &a),
	)
	if err != nil {
		return fail(err)
	}
	adjusted, err := adjustRows(&out)
	if err != nil {
		return fail(err)
	}
	return adjusted, nil
}

// setCharged notes in a copy of the nodes what bills say of commitments. Nodes with one key divide it in proportion to cost.
func setCharged(s *allocation.Set, of map[allocation.AssetKey]allocation.Charged) {
	if len(of) == 0 {
		return
	}
	s.Nodes = slices.Clone(s.Nodes)
	sums := map[allocation.AssetKey]float64{}
	keys := make([]allocation.AssetKey, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		keys[i] = allocation.AssetKey{Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID}
		if _, ok := of[keys[i]]; !ok {
			keys[i].ProviderID = ""
		}
		sums[keys[i]] += n.TotalCost()
	}
	for i := range s.Nodes {
		if c, ok := of[keys[i]]; ok && sums[keys[i]] > 0 {
			share := s.Nodes[i].TotalCost() / sums[keys[i]]
			s.Nodes[i].Charged = allocation.Charged{Listed: c.Listed * share, Committed: c.Committed * share}
		}
	}
}

// ReconcileNeeds returns what Reconcile looks at.
func ReconcileNeeds() *allocation.Projection {
	return &allocation.Projection{
		Properties: []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.ProviderID}, Columns: append(allocation.MoneyColumns(), allocation.RunningSeconds),
		Volumes: true, Balancers: true, FewOfAssets: true,
	}
}

// addClusterAssets makes the networks and management fees that are billed and not in the set, for all of its window.
func addClusterAssets(s *allocation.Set, a *Adjustments) {
	w := s.Window
	s.Networks = withClusters(s.Networks, a.Networks, func(n *allocation.Network) string { return n.Cluster }, func(cluster string) allocation.Network {
		return allocation.Network{Cluster: cluster, Start: w.Start, End: w.End}
	})
	s.Management = withClusters(s.Management, a.Management, func(m *allocation.Management) string { return m.Cluster }, func(cluster string) allocation.Management {
		return allocation.Management{Cluster: cluster, Start: w.Start, End: w.End}
	})
}

// withClusters returns the assets with one for each cluster that is adjusted, sorted by cluster.
func withClusters[T any](assets []T, of map[string]float64, cluster func(*T) string, made func(cluster string) T) []T {
	have := map[string]bool{}
	for i := range assets {
		have[cluster(&assets[i])] = true
	}
	n := len(assets)
	assets = slices.Clip(assets)
	for name := range of {
		if !have[name] {
			assets = append(assets, made(name))
		}
	}
	if len(assets) > n {
		slices.SortFunc(assets, func(a, b T) int { return cmp.Compare(cluster(&a), cluster(&b)) })
	}
	return assets
}

// addBilled adds the costs outside of clusters.
func addBilled(s *allocation.Set, a *Adjustments) error {
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
func byCluster(of map[string]float64) map[allocation.AssetKey]float64 {
	out := make(map[allocation.AssetKey]float64, len(of))
	for cluster, v := range of {
		out[allocation.AssetKey{Cluster: cluster}] = v
	}
	return out
}

// adjustAssets adds adjustments to a copy of the assets. Assets with one key divide theirs in proportion to cost; if they are
// free, the first takes all.
func adjustAssets[T any](assets *[]T, of map[allocation.AssetKey]float64, what string, key func(*T) allocation.AssetKey, cost func(*T) float64, adjust func(*T, float64)) error {
	if len(of) == 0 {
		return nil
	}
	type taking struct {
		adjustment, cost float64
		first            int
	}
	list := slices.Clone(*assets)
	byKey, takes := make(map[allocation.AssetKey]*taking, len(of)), make([]*taking, len(list))
	for i := range list {
		k := key(&list[i])
		v, ok := of[k]
		if !ok {
			k.ProviderID = ""
			v, ok = of[k]
		}
		if !ok {
			continue
		}
		if byKey[k] == nil {
			byKey[k] = &taking{adjustment: v, first: i}
		}
		takes[i] = byKey[k]
		takes[i].cost += cost(&list[i])
	}
	for i, t := range takes {
		switch {
		case t == nil:
		case t.cost > 0:
			adjust(&list[i], t.adjustment*(cost(&list[i])/t.cost))
		case i == t.first:
			adjust(&list[i], t.adjustment)
		}
	}
	*assets = list
	var wrong []allocation.AssetKey
	for k, v := range of {
		if v-v != 0 || byKey[k] == nil {
			wrong = append(wrong, k)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	k := slices.MinFunc(wrong, func(a, b allocation.AssetKey) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	if v := of[k]; v-v != 0 {
		return fmt.Errorf("cluster %q %s %q: adjustment %v is not a finite number", k.Cluster, what, k.Name, v)
	}
	return fmt.Errorf("cluster %q %s %q: there is none to adjust: make it a cloud cost", k.Cluster, what, k.Name)
}

// adjustNode divides an adjustment among the node's resources in proportion to their cost. If the node is free, CPU takes all.
func adjustNode(n *allocation.Node, v float64) {
	total := n.TotalCost()
	if total == 0 {
		n.Adjustment[allocation.CPU] += v
		return
	}
	for r, cost := range n.Cost {
		n.Adjustment[r] += v * (cost / total)
	}
}

// diskKey returns the disk's key if it is local or not as asked, otherwise the zero key, which matches nothing.
func diskKey(d *allocation.Disk, local bool) allocation.AssetKey {
	if d.Local != local {
		return allocation.AssetKey{}
	}
	return allocation.AssetKey{Cluster: d.Cluster, Name: d.Name, ProviderID: d.ProviderID}
}

func diskCost(d *allocation.Disk) float64 { return d.Cost }

func adjustDisk(d *allocation.Disk, v float64) { d.Adjustment += v }

func balancerKey(l *allocation.LoadBalancer) allocation.AssetKey {
	return allocation.AssetKey{Cluster: l.Cluster, Name: l.Namespace + "/" + l.Service}
}
