package allocation

import (
	"hash/fnv"
)

// Shard is a share of a computation that several promcosts divide: the Index-th of Of, from 1. The zero value is the whole.
//
// A shard has the nodes that a hash of their names gives to it, and the rows on them; volumes, load balancers and what
// clusters cost by themselves are one shard's by the same hash. All shards together have everything once.
type Shard struct{ Index, Of int }

// Whole reports whether the shard is everything.
func (h Shard) Whole() bool { return h.Of <= 1 }

// Has reports whether what has that name in a cluster is the shard's: a node, or what is on none where the name is empty.
func (h Shard) Has(cluster, name string) bool {
	if h.Whole() {
		return true
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(cluster + "\x00" + name)) // it never fails
	return int(sum.Sum32()%uint32(h.Of)) == h.Index-1 //nolint:gosec // Of is above 1
}

// OfShard is the part of a set as a Builder or Merge yields it that is a shard's. Warnings are those of the whole set. It
// may share memory with s. What cannot be decoded is an error.
func (s *Set) OfShard(h Shard) (*Set, error) {
	if h.Whole() {
		return s, nil
	}
	own := map[[2]ID]bool{}
	dst, err := s.pick(func(row int) bool {
		at := [2]ID{s.ids[Cluster][row], s.ids[NodeName][row]}
		has, known := own[at]
		if !known {
			has = h.Has(s.dict.Text(at[0]), s.dict.Text(at[1]))
			own[at] = has
		}
		return has
	})
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
	dst.Apart = !s.Empty()
	return dst, nil
}

// Empty reports whether the set has neither allocations nor assets.
func (s *Set) Empty() bool {
	return s.Len() == 0 && len(s.Nodes)+len(s.Disks)+len(s.Balancers)+len(s.Networks)+len(s.Management) == 0
}

// share makes the traffic that of the rows of its cluster in s.
func (n *Network) share(s *Set) {
	id, known := s.dict.Find(n.Cluster)
	n.CrossZone, n.CrossRegion, n.Internet = 0, 0, 0
	for row, of := range s.ids[Cluster] {
		if known && of == id {
			n.CrossZone += s.values[NetworkCrossZoneCost][row]
			n.CrossRegion += s.values[NetworkCrossRegionCost][row]
			n.Internet += s.values[NetworkInternetCost][row]
		}
	}
}
