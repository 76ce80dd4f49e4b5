package metering

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// propertyTotals sums the allocations of a set by the subject's properties. It leaves out idle rows: idle is a subject of its own.
func propertyTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	groups := groupBy(s, isAllocated, subject.by, nil)
	return subject.sumAll(s, groups, func(g int) []string { return propertyLabels(s, int(groups.First[g]), subject.by) })
}

// labelTotals sums the allocations of a set by the values of each label.
func labelTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	var rows []subjectTotal
	for _, name := range subject.names {
		groups := groupBy(s, isAllocated, []allocation.Property{allocation.Cluster}, name.keys)
		rows = append(rows, subject.sumAll(s, groups, func(g int) []string {
			cluster := cmp.Or(s.Text(allocation.Cluster, int(groups.First[g])), allocation.UnallocatedName)
			return []string{validLabel(cluster), validLabel(name.name), validLabel(groups.Name(g))}
		})...)
	}
	return rows
}

// groupBy groups rows of a set. Everything that the subject's Projection names must have been read.
func groupBy(s *allocation.Set, keep func(allocation.Special) bool, by []allocation.Property, keys []allocation.Key) *allocation.Groups {
	groups, err := allocation.GroupBy(s, keep, by, keys)
	if err != nil {
		panic(err)
	}
	return groups
}

func isWorkload(kind allocation.Special) bool { return kind == allocation.Workload }

func isAllocated(kind allocation.Special) bool { return kind != allocation.Idle }

// values returns the values of a column, nil if it was not read: then nobody asks for families that need it.
func values(s *allocation.Set, c allocation.Column) []float64 {
	all, err := s.Column(c)
	if err != nil {
		return nil
	}
	return all
}

// sumHours sums the allocated hours of a set's workloads by the subject's properties.
func (s *Subject) sumHours(set *allocation.Set, labels func(row int) []string) []subjectTotal {
	groups := groupBy(set, isWorkload, s.by, nil)
	rows := make([]subjectTotal, len(groups.First)+1) // the last is of what is not kept
	for g, row := range groups.First {
		rows[g].labels = labels(int(row))
	}
	for r := range allocation.NumResources {
		for row, v := range values(set, allocation.Hours.Of(r)) {
			rows[groups.Of[row]].hours[r] += v
		}
	}
	rows = rows[:len(groups.First)]
	for g := range rows {
		rows[g].has = always
	}
	return rows
}

// sumAll sums the costs, usage and requests of a set's allocations by groups.
func (s *Subject) sumAll(set *allocation.Set, groups *allocation.Groups, labels func(group int) []string) []subjectTotal {
	rows := make([]subjectTotal, len(groups.First)+1) // the last is of what is not kept
	has := s.presentResources(set)
	for g := range groups.First {
		rows[g] = subjectTotal{labels: labels(g), has: has}
	}
	for r := range familyResources {
		for _, c := range s.costColumns(familyResource(r)) {
			for row, v := range values(set, c) {
				rows[groups.Of[row]].cost[r] += v
			}
		}
	}
	for r := range allocation.NumResources {
		for row, v := range values(set, allocation.UsageHours.Of(r)) {
			rows[groups.Of[row]].used[r] += v
		}
		for row, v := range values(set, allocation.RequestHours.Of(r)) {
			rows[groups.Of[row]].requested[r] += v
		}
		for row, v := range values(set, allocation.UnknownRequestHours.Of(r)) {
			rows[groups.Of[row]].unknownRequests[r] += v
		}
	}
	rows = rows[:len(groups.First)]
	for g := range rows {
		rows[g].hasNonZero()
	}
	return rows
}

// hasNonZero adds the resources with a cost.
func (t *subjectTotal) hasNonZero() {
	for r, c := range t.cost {
		if c != 0 {
			t.has |= 1 << r
		}
	}
}

// presentResources returns the resources for which all allocations of the set have series. CPU and RAM always are; others only
// if the subject is not sparse and some allocation of the set has them.
func (s *Subject) presentResources(set *allocation.Set) resourceSet {
	if s.sparse {
		return always
	}
	nonZero := func(c allocation.Column) bool {
		return slices.ContainsFunc(values(set, c), func(v float64) bool { return v != 0 })
	}
	has := always
	for r := range familyResources {
		if slices.ContainsFunc(s.costColumns(familyResource(r)), nonZero) {
			has |= 1 << r
		}
	}
	if nonZero(allocation.Hours.Of(allocation.GPU)) {
		has |= 1 << allocation.GPU
	}
	return has
}

// propertyLabels returns the values of properties of a row. A missing one is __unallocated__, as in every answer.
func propertyLabels(s *allocation.Set, row int, by []allocation.Property) []string {
	labels := make([]string, len(by))
	for i, p := range by {
		missing := allocation.UnallocatedName
		if p != allocation.Cluster && s.Special(row) == allocation.Unmounted {
			missing = allocation.UnmountedName
		}
		labels[i] = validLabel(cmp.Or(s.Text(p, row), missing))
	}
	return labels
}

// validLabel replaces invalid UTF-8, which would make a whole scrape fail.
func validLabel(v string) string { return strings.ToValidUTF8(v, "\uFFFD") }

// assetLabels returns the label values of an asset, the cluster first.
func assetLabels(cluster string, more ...string) []string {
	labels := append([]string{cmp.Or(cluster, allocation.UnallocatedName)}, more...)
	for i := range labels {
		labels[i] = validLabel(labels[i])
	}
	return labels
}

// nodeResources are the resources that a node has. A node without GPUs has no series for them.
func nodeResources(n *allocation.Node) (has resourceSet) {
	for r := range allocation.NumResources {
		if n.Hours[r] != 0 || n.Cost[r] != 0 {
			has |= 1 << r
		}
	}
	return has
}

// eachTotal makes a total of each element of list, except those with nil labels.
func eachTotal[T any](list []T, total func(*T) (labels []string, has resourceSet, cost []float64)) []subjectTotal {
	rows := make([]subjectTotal, 0, len(list))
	for i := range list {
		labels, has, cost := total(&list[i])
		if labels == nil {
			continue
		}
		rows = append(rows, subjectTotal{labels: labels, has: has})
		copy(rows[len(rows)-1].cost[:], cost)
	}
	return rows
}

// wholeAsset is the set of resources of assets that are not divided by resource.
const wholeAsset resourceSet = 1

// price is the cost of an asset that the subject has: with the adjustment that a bill makes, or without.
func (s *Subject) price(cost, adjustment float64) float64 {
	if s.Billed {
		return cost + adjustment
	}
	return cost
}

// prices is price by resource.
func (s *Subject) prices(cost, adjustment [allocation.NumResources]float64) []float64 {
	for r, v := range adjustment {
		cost[r] = s.price(cost[r], v)
	}
	return cost[:]
}

func idleTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Nodes, func(n *allocation.Node) ([]string, resourceSet, []float64) {
		return assetLabels(n.Cluster, n.Name), nodeResources(n), subject.prices(n.Idle, n.IdleAdjustment)
	})
}

// nodeLabels are the label values of a node.
func nodeLabels(n *allocation.Node) []string {
	return assetLabels(n.Cluster, n.Name, n.InstanceType, n.Region, n.Zone, n.ProviderID, strconv.FormatBool(n.Spot))
}

func nodeTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Nodes, func(n *allocation.Node) ([]string, resourceSet, []float64) {
		return nodeLabels(n), nodeResources(n), subject.prices(n.Cost, n.Adjustment)
	})
}

// volumeTotals leaves out the nodes' own disks: attachedDiskTotals has them.
func volumeTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Disks, func(d *allocation.Disk) ([]string, resourceSet, []float64) {
		if d.Local {
			return nil, 0, nil
		}
		return assetLabels(d.Cluster, d.Name, d.StorageClass, d.ClaimNamespace, d.ClaimName), wholeAsset, []float64{subject.price(d.Cost, d.Adjustment)}
	})
}

func balancerTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Balancers, func(b *allocation.LoadBalancer) ([]string, resourceSet, []float64) {
		return assetLabels(b.Cluster, b.Namespace, b.Service, b.IP), wholeAsset, []float64{subject.price(b.Cost, b.Adjustment)}
	})
}

// networkTotals have a row for each kind of traffic that has a price or a cost.
func networkTotals(_ *Subject, s *allocation.Set) (rows []subjectTotal) {
	for i := range s.Networks {
		n := &s.Networks[i]
		for kind, cost := range [...]float64{n.CrossZone, n.CrossRegion, n.Internet} {
			if cost == 0 && n.PriceSource[kind] == "" {
				continue
			}
			row := subjectTotal{labels: assetLabels(n.Cluster, [...]string{"zone", "region", "internet"}[kind]), has: 1 << networkResource}
			row.cost[networkResource] = cost
			rows = append(rows, row)
		}
	}
	return rows
}

func attachedDiskTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Disks, func(d *allocation.Disk) ([]string, resourceSet, []float64) {
		if !d.Local {
			return nil, 0, nil
		}
		return assetLabels(d.Cluster, d.Name), wholeAsset, []float64{subject.price(d.Cost, d.Adjustment)}
	})
}

func managementTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Management, func(m *allocation.Management) ([]string, resourceSet, []float64) {
		return assetLabels(m.Cluster), wholeAsset, []float64{subject.price(m.Cost, m.Adjustment)}
	})
}

// residualTotals has every cluster with nodes, so that a cluster without a residual has the value 0.
func residualTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	rows := eachTotal(s.Nodes, func(n *allocation.Node) ([]string, resourceSet, []float64) {
		return assetLabels(n.Cluster), nodeResources(n), nil
	})
	for _, residual := range s.Residuals {
		row := subjectTotal{labels: assetLabels(residual.Cluster), has: 1 << residual.Resource}
		row.cost[residual.Resource], row.figures[residual.Resource] = residual.Cost, residual.Overcommit
		rows = append(rows, row)
	}
	return rows
}
