package allocation

import "cmp"

// orderPortions compares portions by cluster, kind and name.
func (d *Dict) orderPortions(a, b *portion) int {
	return cmp.Or(d.order(a.key.cluster, b.key.cluster), cmp.Compare(a.key.kind, b.key.kind), d.order(a.key.name, b.key.name))
}

func addPortion(to, from *portion) {
	for r, v := range from.cost {
		to.cost[r] += v
	}
}

// measurePortions records each result's cost of nodes, volumes and load balancers.
func measurePortions(w *work, o *Options) {
	if !o.Proportions {
		return
	}
	n := int32(w.set.Len())
	var list []rowShare[portion]
	at := map[rowShare[portionKey]]int{}
	for row, g := range w.group {
		if g == n || row >= w.built {
			continue
		}
		key := rowShare[portionKey]{g, portionKey{cluster: w.rows.ids[Cluster][row]}}
		if o.IdleByNode {
			key.share.name = w.rows.ids[NodeName][row]
		}
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, rowShare[portion]{g, portion{key: key.share}})
		}
		for r := range NumResources {
			list[i].share.cost[r] += w.rows.values[Cost.Of(r)][row] - w.rows.values[CostIdle.Of(r)][row]
		}
		for _, v := range w.rows.Volumes(row) {
			key := portionKey{cluster: key.share.cluster, kind: diskPortion, name: v.Key}
			list = append(list, rowShare[portion]{g, portion{key, [NumResources]float64{v.Cost}}})
		}
		for _, l := range w.rows.LoadBalancerShares(row) {
			key := portionKey{cluster: key.share.cluster, kind: balancerPortion, name: l.Key}
			list = append(list, rowShare[portion]{g, portion{key, [NumResources]float64{l.Cost}}})
		}
	}
	w.set.portions = mergeRowShares(list, w.dict.orderPortions, addPortion)
	w.set.indexAssets(o)
}

// indexAssets records the assets of portions.
func (s *Set) indexAssets(o *Options) {
	s.assets = map[portionKey]*asset{}
	add := func(cluster, name string, kind portionKind, a asset) {
		var key portionKey
		key.kind = kind
		key.cluster, _ = s.dict.Find(cluster)
		key.name, _ = s.dict.Find(name)
		have := s.assets[key]
		if have == nil {
			s.assets[key] = &a
			return
		}
		for r, v := range a.cost {
			have.cost[r] += v
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if o.IdleByNode {
			_, id := ParseProviderID(n.ProviderID)
			add(n.Cluster, n.Name, nodePortion, asset{n.Name, "Node", id, n.Cost})
		} else {
			add(n.Cluster, "", nodePortion, asset{cost: n.Cost})
		}
	}
	for i := range s.Disks {
		if d := &s.Disks[i]; !d.Local {
			_, id := ParseProviderID(d.ProviderID)
			add(d.Cluster, VolumeKey(d.Cluster, d.Name), diskPortion, asset{d.Name, "Disk", id, [NumResources]float64{d.Cost}})
		}
	}
	for i := range s.Balancers {
		l := &s.Balancers[i]
		add(l.Cluster, LoadBalancerKey(l.Cluster, l.Namespace, l.Service), balancerPortion, asset{l.Namespace + "/" + l.Service, "LoadBalancer", cmp.Or(l.ProviderID, l.IP), [NumResources]float64{l.Cost}})
	}
}
