package allocation

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// kindNames are the kinds of cost as errors name them.
var kindNames = [NumSharedKinds]string{
	SharedCPU: "cpu", SharedGPU: "gpu", SharedRAM: "ram", SharedPV: "volume", SharedNetwork: "network",
	SharedLoadBalancer: "load balancer", SharedExternal: "external", SharedOverhead: "shared",
}

// kindAssets are the assets that each kind of cost comes from, as errors name them.
var kindAssets = [NumSharedKinds]string{
	SharedCPU: "nodes", SharedGPU: "nodes", SharedRAM: "nodes", SharedPV: "volumes", SharedNetwork: "networks",
	SharedLoadBalancer: "load balancers", SharedExternal: "external costs", SharedOverhead: "overhead",
}

// audit verifies between passes that no money was lost or invented: what rows, idle and pools hold, with what the books say
// left the rows, is the cost of the assets.
func (w *work) audit(pass string) error {
	var live func(int) bool
	if w.filled && w.group == nil && w.taken != nil { // rows that were taken are in the pools
		live = func(row int) bool { return !w.isTaken(row) }
	}
	sum, size := w.set.moneyOf(live)
	if !w.idled {
		idle := w.nodeIdle()
		sum.add(&idle)
	}
	if w.idle != nil {
		idle, idleSize := w.idle.moneyOf(nil)
		sum.add(&idle)
		size.add(&idleSize)
	}
	for i := range w.pools {
		sum.add(&w.pools[i].money)
		for kind, v := range w.pools[i].money {
			size[kind] += math.Abs(v)
		}
	}
	c := &checker{}
	c.balance(w.set, &w.books, sum, size)
	if len(c.errs) == 0 {
		return nil
	}
	return fmt.Errorf("check set of %s: after pass %s: %w", w.set.span(), pass, errors.Join(c.errs...))
}

// checkTotals verifies, for a set that passes made, that all rows cost what the assets cost, and that no idle is missing.
func (s *Set) checkTotals(c *checker) {
	sum, size := s.moneyOf(nil)
	c.balance(s, s.books, sum, size)
	if s.books.merged {
		return
	}
	for r := range NumResources {
		want, got := -s.books.idle[r], 0.0
		for i := range s.Nodes {
			want += s.Nodes[i].Idle[r]
		}
		cost, costIdle := s.values[Cost.Of(r)], s.values[CostIdle.Of(r)]
		for row, kind := range s.special {
			got += costIdle[row]
			if kind == Idle {
				got += cost[row]
			}
		}
		if c.far(got, want, math.Abs(want)+s.books.idle[r]) {
			c.add("all nodes: %s idle in rows is %v, of the nodes %v", r, got, want)
		}
	}
}

// balance verifies that the sum of rows, with what the books say of the rest, is the cost of the assets.
func (c *checker) balance(s *Set, b *books, sum, size money) {
	owed, owedSize := s.owed(b)
	for kind, v := range sum {
		got, want := v+b.out[kind], owed[kind]
		if SharedKind(kind) == SharedOverhead {
			want += b.passed.total()
		} else {
			got += b.passed[kind]
		}
		if c.far(got, want, size[kind]+owedSize[kind]) {
			c.add("all %s: %s cost of rows is %v, of assets %v: it differs by %v", kindAssets[kind], kindNames[kind], got, want, got-want)
		}
	}
}

// far reports whether two sums differ by more than rounding can explain. size is the sum of the absolute values that were
// summed.
func (c *checker) far(got, want, size float64) bool {
	return !(math.Abs(got-want) <= tolerance*max(math.Abs(got), math.Abs(want), size, tolerance))
}

// checkShares verifies that a row's shares of volumes, load balancers and shared costs add up to its columns.
func (s *Set) checkShares(c *checker) {
	compare := func(row int, of string, col Column, got, size float64) {
		if want := s.values[col][row]; c.far(got, want, size) {
			c.add("row %d (%s): %s is %v, of its %s %v", row, s.Name(row), col, want, of, got)
		}
	}
	for row := range s.special {
		if c.full() {
			return
		}
		if list := s.Volumes(row); len(list) > 0 {
			var sum, size [3]float64
			for _, v := range list {
				addSizes(&sum, &size, [3]float64{v.ByteHours, v.Cost, v.Adjustment})
			}
			for i, col := range [...]Column{PVByteHours, PVCost, PVCostAdjustment} {
				compare(row, "volumes", col, sum[i], size[i])
			}
		}
		if list := s.LoadBalancerShares(row); len(list) > 0 {
			var sum, size [3]float64
			for _, l := range list {
				addSizes(&sum, &size, [3]float64{l.Cost, l.Adjustment})
			}
			for i, col := range [...]Column{LoadBalancerCost, LoadBalancerCostAdjustment} {
				compare(row, "load balancers", col, sum[i], size[i])
			}
		}
		if list := s.SharedParts(row); len(list) > 0 {
			var sum, size [3]float64
			for _, p := range list {
				addSizes(&sum, &size, [3]float64{(*money)(&p.Cost).total()})
			}
			compare(row, "shared parts", SharedCost, sum[0], size[0])
		}
	}
}

// addSizes adds values to sum and their absolute values to size.
func addSizes(sum, size *[3]float64, values [3]float64) {
	for i, v := range values {
		sum[i] += v
		size[i] += math.Abs(v)
	}
}

// clusterAssets are the kinds of cost that rows have from assets other than nodes, before passes.
var clusterAssets = [...]SharedKind{SharedPV, SharedNetwork, SharedLoadBalancer}

// checkAssets verifies, for a set before passes, that the rows of each cluster have the cost of its volumes, networks and
// load balancers, and no cost that only passes give.
func (s *Set) checkAssets(c *checker) {
	rows, assets := map[string]*money{}, map[string]*money{}
	at := func(of map[string]*money, cluster string) *money {
		if of[cluster] == nil {
			of[cluster] = &money{}
		}
		return of[cluster]
	}
	for row := range s.special {
		m := at(rows, s.Text(Cluster, row))
		m[SharedPV] += s.values[PVCost][row]
		m[SharedNetwork] += s.networkCost(row)
		m[SharedLoadBalancer] += s.values[LoadBalancerCost][row]
		m[SharedOverhead] += s.values[SharedCost][row]
		m[SharedExternal] += s.values[ExternalCost][row]
	}
	for i := range s.Disks {
		if d := &s.Disks[i]; !d.Local {
			at(assets, d.Cluster)[SharedPV] += d.Cost
		}
	}
	for i := range s.Networks {
		at(assets, s.Networks[i].Cluster)[SharedNetwork] += s.Networks[i].TotalCost()
	}
	for i := range s.Balancers {
		at(assets, s.Balancers[i].Cluster)[SharedLoadBalancer] += s.Balancers[i].Cost
	}
	for _, cluster := range clustersOf(rows, assets) {
		got, want := at(rows, cluster), at(assets, cluster)
		for _, kind := range clusterAssets {
			if differ(got[kind], want[kind]) {
				c.add("cluster %q: %s cost of rows is %v, of assets %v", cluster, kindNames[kind], got[kind], want[kind])
			}
		}
		if got[SharedOverhead] != 0 || got[SharedExternal] != 0 {
			c.add("cluster %q: rows as built have shared cost %v and external cost %v: passes give those", cluster, got[SharedOverhead], got[SharedExternal])
		}
	}
}

// clustersOf returns the clusters of both maps, sorted.
func clustersOf(a, b map[string]*money) (clusters []string) {
	for cluster := range a {
		clusters = append(clusters, cluster)
	}
	for cluster := range b {
		if a[cluster] == nil {
			clusters = append(clusters, cluster)
		}
	}
	slices.Sort(clusters)
	return clusters
}

// moneyOf returns the money of the rows that want accepts, and the sum of its absolute values, which bounds rounding errors.
func (s *Set) moneyOf(want func(row int) bool) (sum, size money) {
	for kind, cols := range sharedKinds {
		for _, col := range cols {
			for row, v := range s.values[col] {
				if want == nil || want(row) {
					sum[kind] += v
					size[kind] += math.Abs(v)
				}
			}
		}
	}
	return sum, size
}

// owed returns what rows must cost by the assets and the books, and the sum of its absolute values.
func (s *Set) owed(b *books) (sum, size money) {
	put := func(kind SharedKind, cost, adjustment float64) {
		sum[kind] += cost + adjustment
		size[kind] += math.Abs(cost) + math.Abs(adjustment)
	}
	for i := range s.Nodes {
		for r, kind := range nodeKinds {
			put(kind, s.Nodes[i].Cost[r], s.Nodes[i].Adjustment[r])
		}
	}
	for i := range s.Residuals {
		put(nodeKinds[s.Residuals[i].Resource], s.Residuals[i].Cost, 0)
	}
	for i := range s.Disks {
		switch d := &s.Disks[i]; {
		case !d.Local:
			put(SharedPV, d.Cost, d.Adjustment)
		case b.tenancy:
			put(SharedOverhead, d.Cost, d.Adjustment)
		}
	}
	for i := range s.Balancers {
		put(SharedLoadBalancer, s.Balancers[i].Cost, s.Balancers[i].Adjustment)
	}
	for i := range s.Networks {
		put(SharedNetwork, s.Networks[i].TotalCost(), s.Networks[i].Adjustment)
	}
	if b.tenancy {
		for i := range s.Management {
			put(SharedOverhead, s.Management[i].Cost, s.Management[i].Adjustment)
		}
	}
	put(SharedExternal, b.external, 0)
	put(SharedOverhead, b.flat, 0)
	return sum, size
}
