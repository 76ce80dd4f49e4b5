package passes

import (
	"cmp"

	"github.com/promcost/promcost/allocation"
)

// comparePortions compares portions by cluster, kind and name.
func comparePortions(d *allocation.Dict) func(a, b *allocation.Portion) int {
	return func(a, b *allocation.Portion) int {
		return cmp.Or(d.Compare(a.Key.Cluster, b.Key.Cluster), cmp.Compare(a.Key.Kind, b.Key.Kind), d.Compare(a.Key.Name, b.Key.Name))
	}
}

func addPortion(to, from *allocation.Portion) {
	for r, v := range from.Cost {
		to.Cost[r] += v
	}
}

// measurePortions records each result's cost of nodes, volumes and load balancers.
func measurePortions(w *work, o *Options) {
	if !o.Proportions {
		return
	}
	n := int32(w.set.Len())
	var list []allocation.RowShare[allocation.Portion]
	at := map[allocation.RowShare[allocation.PortionKey]]int{}
	for row, g := range w.group {
		if g == n || row >= w.built {
			continue
		}
		key := allocation.RowShare[allocation.PortionKey]{Row: g, Share: allocation.PortionKey{Cluster: w.rows.IDs[allocation.Cluster][row]}}
		if o.IdleByNode {
			key.Share.Name = w.rows.IDs[allocation.NodeName][row]
		}
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, allocation.RowShare[allocation.Portion]{Row: g, Share: allocation.Portion{Key: key.Share}})
		}
		for r := range allocation.NumResources {
			list[i].Share.Cost[r] += w.rows.Values[allocation.Cost.Of(r)][row] - w.rows.Values[allocation.CostIdle.Of(r)][row]
		}
		for _, v := range w.rows.Volumes.Row(row) {
			key := allocation.PortionKey{Cluster: key.Share.Cluster, Kind: allocation.DiskPortion, Name: v.Key}
			list = append(list, allocation.RowShare[allocation.Portion]{Row: g, Share: allocation.Portion{Key: key, Cost: [allocation.NumResources]float64{v.Cost}}})
		}
		for _, l := range w.rows.Balancers.Row(row) {
			key := allocation.PortionKey{Cluster: key.Share.Cluster, Kind: allocation.BalancerPortion, Name: l.Key}
			list = append(list, allocation.RowShare[allocation.Portion]{Row: g, Share: allocation.Portion{Key: key, Cost: [allocation.NumResources]float64{l.Cost}}})
		}
	}
	w.Portions = allocation.MergeShares(list, comparePortions(w.Dict), addPortion)
	indexAssets(w.set, o)
}

// indexAssets records the assets of portions.
func indexAssets(s *allocation.Set, o *Options) {
	t := s.Table()
	t.Assets = map[allocation.PortionKey]*allocation.PortionAsset{}
	add := func(cluster, name string, kind allocation.PortionKind, a allocation.PortionAsset) {
		var key allocation.PortionKey
		key.Kind = kind
		key.Cluster, _ = t.Dict.Find(cluster)
		key.Name, _ = t.Dict.Find(name)
		have := t.Assets[key]
		if have == nil {
			t.Assets[key] = &a
			return
		}
		for r, v := range a.Cost {
			have.Cost[r] += v
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if o.IdleByNode {
			_, id := allocation.ParseProviderID(n.ProviderID)
			add(n.Cluster, n.Name, allocation.NodePortion, allocation.PortionAsset{Name: n.Name, Type: "Node", ProviderID: id, Cost: n.Cost})
		} else {
			add(n.Cluster, "", allocation.NodePortion, allocation.PortionAsset{Cost: n.Cost})
		}
	}
	for i := range s.Disks {
		if d := &s.Disks[i]; !d.Local {
			_, id := allocation.ParseProviderID(d.ProviderID)
			add(d.Cluster, allocation.VolumeKey(d.Cluster, d.Name), allocation.DiskPortion, allocation.PortionAsset{Name: d.Name, Type: "Disk", ProviderID: id, Cost: [allocation.NumResources]float64{d.Cost}})
		}
	}
	for i := range s.Balancers {
		l := &s.Balancers[i]
		add(l.Cluster, allocation.LoadBalancerKey(l.Cluster, l.Namespace, l.Service), allocation.BalancerPortion, allocation.PortionAsset{Name: l.Namespace + "/" + l.Service, Type: "LoadBalancer", ProviderID: cmp.Or(l.ProviderID, l.IP), Cost: [allocation.NumResources]float64{l.Cost}})
	}
}
