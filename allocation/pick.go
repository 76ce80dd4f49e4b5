package allocation

import "slices"

// Clusters returns the names of the clusters of rows and assets, sorted.
func (s *Set) Clusters() []string {
	seen := map[ID]bool{}
	var names []string
	for _, id := range s.table.IDs[Cluster] {
		if !seen[id] {
			seen[id] = true
			names = append(names, s.table.Dict.Text(id))
		}
	}
	for i := range s.Nodes {
		names = append(names, s.Nodes[i].Cluster)
	}
	for i := range s.Disks {
		names = append(names, s.Disks[i].Cluster)
	}
	for i := range s.Balancers {
		names = append(names, s.Balancers[i].Cluster)
	}
	for i := range s.Networks {
		names = append(names, s.Networks[i].Cluster)
	}
	for i := range s.Management {
		names = append(names, s.Management[i].Cluster)
	}
	for i := range s.Residuals {
		names = append(names, s.Residuals[i].Cluster)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OfCluster returns the part of a set as built that belongs to one cluster: its rows and assets, without costs that only
// bills have. Warnings are those of the whole set. It may share memory with s. It fails with ErrUnread if a property is deferred.
func (s *Set) OfCluster(cluster string) (*Set, error) {
	id, known := s.table.Dict.Find(cluster)
	dst, err := s.Pick(func(row int) bool { return known && s.table.IDs[Cluster][row] == id })
	if err != nil {
		return nil, err
	}
	dst.Cloud, dst.External, dst.pricedBy = nil, nil, nil
	dst.Nodes = only(s.Nodes, func(n *Node) bool { return n.Cluster == cluster })
	dst.Disks = only(s.Disks, func(d *Disk) bool { return d.Cluster == cluster })
	dst.Balancers = only(s.Balancers, func(l *LoadBalancer) bool { return l.Cluster == cluster })
	dst.Networks = only(s.Networks, func(n *Network) bool { return n.Cluster == cluster })
	dst.Management = only(s.Management, func(m *Management) bool { return m.Cluster == cluster })
	dst.Residuals = only(s.Residuals, func(r *Residual) bool { return r.Cluster == cluster })
	return dst, nil
}

// Pick returns a set with only the wanted rows, in order, and all assets. It fails with ErrUnread if a property is deferred.
func (s *Set) Pick(want func(row int) bool) (*Set, error) {
	for p, deferred := range s.table.Deferred {
		if deferred != nil {
			return nil, s.notRead(Property(p))
		}
	}
	var rows []int
	for row := range s.Len() {
		if want(row) {
			rows = append(rows, row)
		}
	}
	dst := s.Like()
	from, to := &s.table, &dst.table
	to.Unread, to.Zero = from.Unread, make([]float64, len(rows))
	to.Special, to.Merged = pickFrom(from.Special, rows), pickFrom(from.Merged, rows)
	to.Start, to.End = pickFrom(from.Start, rows), pickFrom(from.End, rows)
	for p := range from.IDs {
		if !from.Unread.Properties[p] {
			to.IDs[p] = pickFrom(from.IDs[p], rows)
		}
	}
	for c := range from.Values {
		switch {
		case from.Unread.Columns[c]:
		case from.IsZero(Column(c)):
			to.Values[c] = to.Zero
		default:
			to.Values[c] = pickFrom(from.Values[c], rows)
		}
	}
	to.Volumes, to.Balancers = from.Volumes.pick(rows), from.Balancers.pick(rows)
	for r := range LevelResources {
		to.Levels[r] = from.Levels[r].pick(rows)
	}
	return dst, nil
}

// pickFrom returns the elements of the rows.
func pickFrom[T any](from []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = from[row]
	}
	return out
}

// only returns the assets that are wanted.
func only[T any](assets []T, want func(*T) bool) (out []T) {
	for i := range assets {
		if want(&assets[i]) {
			out = append(out, assets[i])
		}
	}
	return out
}
