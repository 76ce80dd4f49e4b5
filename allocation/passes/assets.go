package passes

import (
	"cmp"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// sumAssets gives s the assets of the sets. An asset that occurs in several sets is summed; what is not an amount, such as a
// name or a region, comes from the newest set.
func sumAssets(s *allocation.Set, sets []*allocation.Set) {
	s.Nodes = sumAlike(sets, datedNodes(sets), nodeIdentity, (*allocation.Node).Add)
	s.Disks = sumAlike(sets, func(s *allocation.Set) []allocation.Disk { return s.Disks }, diskIdentity, (*allocation.Disk).Add)
	s.Balancers = sumAlike(sets, func(s *allocation.Set) []allocation.LoadBalancer { return s.Balancers }, balancerIdentity, (*allocation.LoadBalancer).Add)
	s.Networks = sumAlike(sets, func(s *allocation.Set) []allocation.Network { return s.Networks }, func(n *allocation.Network) identity { return identity{n.Cluster} }, (*allocation.Network).Add)
	s.Management = sumAlike(sets, func(s *allocation.Set) []allocation.Management { return s.Management }, func(m *allocation.Management) identity { return identity{m.Cluster} }, (*allocation.Management).Add)
	s.Cloud = sumAlike(sets, func(s *allocation.Set) []allocation.CloudCost { return s.Cloud }, cloudIdentity, (*allocation.CloudCost).Add)
	s.External = nil
	for _, of := range sets {
		s.External = append(s.External, of.External...)
	}
	s.Residuals = sumResiduals(sets)
}

// identity is what makes assets of several sets the same asset. Assets are sorted by it.
type identity [6]string

func nodeIdentity(n *allocation.Node) identity {
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
func datedNodes(sets []*allocation.Set) func(*allocation.Set) []allocation.Node {
	known := map[identity]time.Time{}
	unknown := false
	undated := func(n *allocation.Node) identity { return identity{n.Cluster, n.Name, n.ProviderID} }
	for _, s := range sets {
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.Created.IsZero() {
				unknown = true
			} else {
				if n.Created.After(known[undated(n)]) {
					known[undated(n)] = n.Created
				}
			}
		}
	}
	return func(s *allocation.Set) []allocation.Node {
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

func diskIdentity(d *allocation.Disk) identity {
	kind := "" // sorts volumes first
	if d.Local {
		kind = "local"
	}
	return identity{d.Cluster, kind, d.Name, d.ProviderID}
}

func balancerIdentity(l *allocation.LoadBalancer) identity {
	return identity{l.Cluster, l.Namespace, l.Service, l.ProviderID}
}

func cloudIdentity(c *allocation.CloudCost) identity {
	return identity{c.Name, c.Provider, c.Account, c.Project, c.Service, c.ProviderID}
}

// sumAlike sums the assets of the sets that have the same identity, and sorts them by it. add adds the older to the newer.
func sumAlike[T any](sets []*allocation.Set, listOf func(*allocation.Set) []T, id func(*T) identity, add func(newer, was *T)) []T {
	var sum []T
	at := map[identity]int{}
	for _, s := range sets {
		for _, asset := range listOf(s) {
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

// sumResiduals sums the residuals of the sets by cluster and resource.
func sumResiduals(sets []*allocation.Set) []allocation.Residual {
	var sum []allocation.Residual
	for _, s := range sets {
		for _, r := range s.Residuals {
			i := slices.IndexFunc(sum, func(have allocation.Residual) bool { return have.Cluster == r.Cluster && have.Resource == r.Resource })
			if i < 0 {
				sum = append(sum, r)
				continue
			}
			sum[i].Cost += r.Cost
			sum[i].Overcommit += r.Overcommit
		}
	}
	slices.SortFunc(sum, func(a, b allocation.Residual) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Resource, b.Resource))
	})
	return sum
}
