package allocation

import (
	"cmp"
	"slices"
	"time"
)

// sumAssets gives s the assets of the sets. An asset that occurs in several sets is summed; what is not an amount, such as a
// name or a region, comes from the newest set.
func (s *Set) sumAssets(sets []*Set) {
	s.Nodes = sumAlike(sets, datedNodes(sets), (*Node).identity, (*Node).Add)
	s.Disks = sumAlike(sets, func(s *Set) []Disk { return s.Disks }, (*Disk).identity, (*Disk).Add)
	s.Balancers = sumAlike(sets, func(s *Set) []LoadBalancer { return s.Balancers }, (*LoadBalancer).identity, (*LoadBalancer).Add)
	s.Networks = sumAlike(sets, func(s *Set) []Network { return s.Networks }, func(n *Network) identity { return identity{n.Cluster} }, addNetworks)
	s.Management = sumAlike(sets, func(s *Set) []Management { return s.Management }, func(m *Management) identity { return identity{m.Cluster} }, addManagement)
	s.Cloud = sumAlike(sets, func(s *Set) []CloudCost { return s.Cloud }, (*CloudCost).identity, addCloudCosts)
	s.External = nil
	for _, of := range sets {
		s.External = append(s.External, of.External...)
	}
	s.Residuals = sumResiduals(sets)
}

// identity is what makes assets of several sets the same asset. Assets are sorted by it.
type identity [6]string

func (n *Node) identity() identity {
	return identity{n.Cluster, n.Name, n.ProviderID, timeText(n.Created)}
}

// timeText returns a time as it stands in names, "" where it is unknown.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// datedNodes returns a function that returns the nodes of a set. Where a set does not know when a node was created, the node
// gets the latest creation time that another set knows for its name and provider id.
func datedNodes(sets []*Set) func(*Set) []Node {
	known := map[identity]time.Time{}
	unknown := false
	undated := func(n *Node) identity { return identity{n.Cluster, n.Name, n.ProviderID} }
	for _, s := range sets {
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.Created.IsZero() {
				unknown = true
			} else {
				known[undated(n)] = later(known[undated(n)], n.Created)
			}
		}
	}
	return func(s *Set) []Node {
		if !unknown {
			return s.Nodes
		}
		nodes := slices.Clone(s.Nodes)
		for i := range nodes {
			if n := &nodes[i]; n.Created.IsZero() {
				n.Created = known[undated(n)]
			}
		}
		return nodes
	}
}

func (d *Disk) identity() identity {
	kind := "" // sorts volumes first
	if d.Local {
		kind = "local"
	}
	return identity{d.Cluster, kind, d.Name, d.ProviderID}
}

func (l *LoadBalancer) identity() identity {
	return identity{l.Cluster, l.Namespace, l.Service, l.ProviderID}
}

func (c *CloudCost) identity() identity {
	return identity{c.Name, c.Provider, c.Account, c.Project, c.Service, c.ProviderID}
}

// sumAlike sums the assets of the sets that have the same identity, and sorts them by it. add adds the older to the newer.
func sumAlike[T any](sets []*Set, of func(*Set) []T, id func(*T) identity, add func(newer, was *T)) []T {
	var sum []T
	at := map[identity]int{}
	for _, s := range sets {
		for _, asset := range of(s) {
			k := id(&asset)
			i, ok := at[k]
			if !ok {
				at[k] = len(sum)
				sum = append(sum, asset)
				continue
			}
			add(&asset, &sum[i])
			sum[i] = asset
		}
	}
	slices.SortStableFunc(sum, func(a, b T) int {
		x, y := id(&a), id(&b)
		return slices.Compare(x[:], y[:])
	})
	return sum
}

func addNetworks(n, was *Network) {
	n.CrossZone += was.CrossZone
	n.CrossRegion += was.CrossRegion
	n.Internet += was.Internet
	n.Adjustment += was.Adjustment
	extend(&n.Start, &n.End, was.Start, was.End)
}

func addManagement(m, was *Management) {
	m.Cost += was.Cost
	m.Adjustment += was.Adjustment
	extend(&m.Start, &m.End, was.Start, was.End)
}

func addCloudCosts(c, was *CloudCost) {
	c.Cost += was.Cost
	c.Adjustment += was.Adjustment
	c.Credit += was.Credit
	extend(&c.Start, &c.End, was.Start, was.End)
}

// sumResiduals sums the residuals of the sets by cluster and resource.
func sumResiduals(sets []*Set) []Residual {
	var sum []Residual
	for _, s := range sets {
		for _, r := range s.Residuals {
			i := slices.IndexFunc(sum, func(have Residual) bool { return have.Cluster == r.Cluster && have.Resource == r.Resource })
			if i < 0 {
				sum = append(sum, r)
				continue
			}
			sum[i].Cost += r.Cost
			sum[i].Overcommit += r.Overcommit
		}
	}
	slices.SortFunc(sum, func(a, b Residual) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Resource, b.Resource))
	})
	return sum
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
