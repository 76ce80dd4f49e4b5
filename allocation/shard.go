package allocation

// Shard is one part of a computation that several processes divide: number Index of Of, counted from 1. The zero value is the
// whole.
//
// A shard has the nodes that a hash of their names assigns to it, and the rows on them. Volumes, load balancers and costs of
// whole clusters are assigned by the same hash. All shards together have everything once.
type Shard struct{ Index, Of int }

// Whole reports whether the shard is everything.
func (h Shard) Whole() bool { return h.Of <= 1 }

// Has reports whether something of a cluster belongs to the shard: the node or asset with that name, or with an empty name
// what runs on no node.
func (h Shard) Has(cluster, name string) bool {
	if h.Whole() {
		return true
	}
	sum := fnv32a(fnv32a(fnv32a(2166136261, cluster), "\x00"), name)
	return int(sum%uint32(h.Of)) == h.Index-1 //nolint:gosec // Of is above 1
}

// fnv32a goes on with the 32-bit FNV-1a hash of a text: hash/fnv does so for bytes only, which would have to be copied for each question.
func fnv32a(sum uint32, text string) uint32 {
	for i := range len(text) {
		sum = (sum ^ uint32(text[i])) * 16777619
	}
	return sum
}

// OfShard returns the part of a set that belongs to a shard. The set must be as a Builder or Merge makes it. Warnings are
// those of the whole set. It may share memory with s. It fails with ErrUnread if a property is deferred.
func (s *Set) OfShard(h Shard) (*Set, error) {
	if h.Whole() {
		return s, nil
	}
	dst, err := s.Pick(s.RowsOf(h))
	if err != nil {
		return nil, err
	}
	dst.Nodes = only(s.Nodes, func(n *Node) bool { return h.Has(n.Cluster, n.Name) })
	dst.Disks = only(s.Disks, func(d *Disk) bool { return h.Has(d.Cluster, d.Name) })
	dst.Balancers = only(s.Balancers, func(l *LoadBalancer) bool { return h.Has(l.Cluster, l.Namespace+"/"+l.Service) })
	dst.Management = only(s.Management, func(m *Management) bool { return h.Has(m.Cluster, "") })
	dst.Networks = nil
	for i := range s.Networks {
		n := s.Networks[i]
		if n.share(dst); n.TotalCost() != 0 || h.Has(n.Cluster, "") {
			dst.Networks = append(dst.Networks, n)
		}
	}
	dst.OtherShards = s.OtherShards || !s.Empty()
	return dst, nil
}

// RowsOf reports which rows of a set belong to a shard.
func (s *Set) RowsOf(h Shard) func(row int) bool {
	own := map[[2]ID]bool{}
	return func(row int) bool {
		at := [2]ID{s.table.IDs[Cluster][row], s.table.IDs[NodeName][row]}
		if _, known := own[at]; !known {
			own[at] = h.Has(s.table.Dict.Text(at[0]), s.table.Dict.Text(at[1]))
		}
		return own[at]
	}
}

// Empty reports whether the set has neither allocations nor assets.
func (s *Set) Empty() bool {
	return s.Len() == 0 && len(s.Nodes)+len(s.Disks)+len(s.Balancers)+len(s.Networks)+len(s.Management) == 0
}

// share sets the cost of traffic to that of the cluster's rows in s.
func (n *Network) share(s *Set) {
	id, known := s.table.Dict.Find(n.Cluster)
	n.CrossZone, n.CrossRegion, n.Internet = 0, 0, 0
	for row, of := range s.table.IDs[Cluster] {
		if known && of == id {
			n.CrossZone += s.table.Values[NetworkCrossZoneCost][row]
			n.CrossRegion += s.table.Values[NetworkCrossRegionCost][row]
			n.Internet += s.table.Values[NetworkInternetCost][row]
		}
	}
}
