package allocation

import (
	"cmp"
	"slices"
	"strings"
)

// totalsBy sums the allocations of a set by properties. Idle rows are not theirs: idle is a subject of its own.
func totalsBy(by ...Property) func(*Set) []*subjectTotal {
	return func(s *Set) []*subjectTotal {
		has := presentResources(s)
		index := map[[4]ID]int{}
		var rows []*subjectTotal
		for row := range s.Len() {
			if s.Special(row) == Idle {
				continue
			}
			var key [4]ID
			for k, p := range by {
				key[k] = s.IDs(p)[row]
			}
			i, ok := index[key]
			if !ok {
				i = len(rows)
				index[key] = i
				rows = append(rows, &subjectTotal{labels: propertyLabels(s, row, by), has: has})
			}
			rows[i].addRow(s, row)
		}
		return rows
	}
}

// addRow adds an allocation's values to t.
func (t *subjectTotal) addRow(s *Set, row int) {
	for r := range familyResources {
		for _, c := range familyResources[r].cost {
			t.sums[costSum][r] += s.Value(c, row)
		}
	}
	for r := range NumResources {
		t.sums[usageSum][r] += s.Value(UsageHours.Of(r), row)
		t.sums[requestSum][r] += s.Value(RequestHours.Of(r), row)
	}
}

// presentResources are the resources that allocations of the set have series of. CPU and RAM always are; another one only
// where some allocation of the set has it, as a zero would claim that it was looked for: volumes, network and load
// balancers are columns of their own, but no input fills them yet.
func presentResources(s *Set) (has [numFamilyResources]bool) {
	nonZero := func(c Column) bool { return slices.ContainsFunc(s.Column(c), func(v float64) bool { return v != 0 }) }
	for r := range familyResources {
		has[r] = slices.ContainsFunc(familyResources[r].cost, nonZero)
	}
	has[CPU], has[RAM] = true, true
	has[GPU] = has[GPU] || nonZero(Hours.Of(GPU))
	return has
}

// propertyLabels are the values of properties of a row. What a row lacks is __unallocated__, as in every answer.
func propertyLabels(s *Set, row int, by []Property) []string {
	labels := make([]string, len(by))
	for i, p := range by {
		missing := UnallocatedName
		if p != Cluster && s.Special(row) == Unmounted {
			missing = UnmountedName
		}
		labels[i] = validLabel(cmp.Or(s.Text(p, row), missing))
	}
	return labels
}

// validLabel replaces what is not UTF-8, which would make a whole scrape fail.
func validLabel(v string) string { return strings.ToValidUTF8(v, "\uFFFD") }

// ofNode is whether the node has a resource: a node without GPUs has no series of them.
func ofNode(n *Node) (has [numFamilyResources]bool) {
	for r := range NumResources {
		has[r] = n.Hours[r] != 0 || n.Cost[r] != 0
	}
	return has
}

func idleTotals(s *Set) []*subjectTotal {
	rows := make([]*subjectTotal, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		labels := []string{validLabel(cmp.Or(n.Cluster, UnallocatedName)), validLabel(n.Name)}
		rows[i] = &subjectTotal{labels: labels, has: ofNode(n)}
		copy(rows[i].sums[costSum][:], n.Idle[:])
	}
	return rows
}

func nodeTotals(s *Set) []*subjectTotal {
	rows := make([]*subjectTotal, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		spot := "false"
		if n.Spot {
			spot = "true"
		}
		labels := []string{cmp.Or(n.Cluster, UnallocatedName), n.Name, n.InstanceType, n.Region, n.Zone, n.ProviderID, spot}
		for l := range labels {
			labels[l] = validLabel(labels[l])
		}
		rows[i] = &subjectTotal{labels: labels, has: ofNode(n)}
		copy(rows[i].sums[costSum][:], n.Cost[:])
	}
	return rows
}

// residualTotals has every cluster that has nodes, so that what adds up says 0 rather than nothing.
func residualTotals(s *Set) []*subjectTotal {
	rows := make([]*subjectTotal, 0, len(s.Nodes)+len(s.Residuals))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		rows = append(rows, &subjectTotal{labels: []string{validLabel(cmp.Or(n.Cluster, UnallocatedName))}, has: ofNode(n)})
	}
	for _, residual := range s.Residuals {
		row := &subjectTotal{labels: []string{validLabel(cmp.Or(residual.Cluster, UnallocatedName))}}
		row.has[residual.Resource] = true
		row.sums[residualSum][residual.Resource] = residual.Cost
		row.sums[overcommitSum][residual.Resource] = residual.Overcommit
		rows = append(rows, row)
	}
	return rows
}
