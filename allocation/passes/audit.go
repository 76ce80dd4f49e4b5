package passes

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// kindNames are the kinds of cost as errors name them.
var kindNames = [allocation.NumSharedKinds]string{
	allocation.SharedCPU: "cpu", allocation.SharedGPU: "gpu", allocation.SharedRAM: "ram", allocation.SharedPV: "volume", allocation.SharedNetwork: "network",
	allocation.SharedLoadBalancer: "load balancer", allocation.SharedExternal: "external", allocation.SharedOverhead: "shared",
}

// kindAssets are the assets that each kind of cost comes from, as errors name them.
var kindAssets = [allocation.NumSharedKinds]string{
	allocation.SharedCPU: "nodes", allocation.SharedGPU: "nodes", allocation.SharedRAM: "nodes", allocation.SharedPV: "volumes", allocation.SharedNetwork: "networks",
	allocation.SharedLoadBalancer: "load balancers", allocation.SharedExternal: "external costs", allocation.SharedOverhead: "overhead",
}

// audit verifies between passes that no money was lost or invented: what rows, idle and pools hold, with what the books say
// left the rows, is the cost of the assets.
func (w *work) audit(pass string) error {
	var live func(int) bool
	if w.filled && w.group == nil && w.taken != nil { // rows that were taken are in the pools
		live = func(row int) bool { return !w.isTaken(row) }
	}
	sum, size := moneyOf(w.Table, live)
	if !w.idled {
		idle := w.nodeIdle()
		sum.Add(&idle)
	}
	if w.idle != nil {
		idle, idleSize := moneyOf(w.idle.Table(), nil)
		sum.Add(&idle)
		size.Add(&idleSize)
	}
	for i := range w.pools {
		sum.Add(&w.pools[i].money)
		for kind, v := range w.pools[i].money {
			size[kind] += math.Abs(v)
		}
	}
	c := &checker{set: w.set, rows: w.Table}
	c.balance(&w.books, sum, size)
	if len(c.errs) == 0 {
		return nil
	}
	return fmt.Errorf("check set of %s: after pass %s: %w", w.set.Window.Text(), pass, errors.Join(c.errs...))
}

// checkTotals verifies, for a set that passes made, that all rows cost what the assets cost, and that no idle is missing.
func (c *checker) checkTotals() {
	sum, size := moneyOf(c.rows, nil)
	c.balance(c.rows.Books, sum, size)
	if c.rows.Books.Merged {
		return
	}
	for r := range allocation.NumResources {
		want, got := -c.rows.Books.Idle[r], 0.0
		for i := range c.set.Nodes {
			want += c.set.Nodes[i].Idle[r]
		}
		cost, costIdle := c.rows.Values[allocation.Cost.Of(r)], c.rows.Values[allocation.CostIdle.Of(r)]
		for row, kind := range c.rows.Special {
			got += costIdle[row]
			if kind == allocation.Idle {
				got += cost[row]
			}
		}
		if c.far(got, want, math.Abs(want)+c.rows.Books.Idle[r]) {
			c.add("all nodes: %s idle in rows is %v, of the nodes %v", r, got, want)
		}
	}
}

// balance verifies that the sum of rows, with what the books say of the rest, is the cost of the assets.
func (c *checker) balance(b *allocation.Books, sum, size allocation.Money) {
	owed, owedSize := owed(c.set, b)
	for kind, v := range sum {
		got, want := v+b.Out[kind], owed[kind]
		if allocation.SharedKind(kind) == allocation.SharedOverhead {
			want += b.Passed.Total()
		} else {
			got += b.Passed[kind]
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
func (c *checker) checkShares() {
	compare := func(row int, of string, col allocation.Column, got, size float64) {
		if want := c.rows.Values[col][row]; c.far(got, want, size) {
			c.add("row %d (%s): %s is %v, of its %s %v", row, c.set.Name(row), col, want, of, got)
		}
	}
	for row := range c.rows.Special {
		if c.full() {
			return
		}
		if list := c.set.Volumes(row); len(list) > 0 {
			var sum, size [3]float64
			for _, v := range list {
				addSizes(&sum, &size, [3]float64{v.ByteHours, v.Cost, v.Adjustment})
			}
			for i, col := range [...]allocation.Column{allocation.PVByteHours, allocation.PVCost, allocation.PVCostAdjustment} {
				compare(row, "volumes", col, sum[i], size[i])
			}
		}
		if list := c.set.LoadBalancerShares(row); len(list) > 0 {
			var sum, size [3]float64
			for _, l := range list {
				addSizes(&sum, &size, [3]float64{l.Cost, l.Adjustment})
			}
			for i, col := range [...]allocation.Column{allocation.LoadBalancerCost, allocation.LoadBalancerCostAdjustment} {
				compare(row, "load balancers", col, sum[i], size[i])
			}
		}
		if list := c.set.SharedParts(row); len(list) > 0 {
			var sum, size [3]float64
			for _, p := range list {
				addSizes(&sum, &size, [3]float64{p.Cost.Total()})
			}
			compare(row, "shared parts", allocation.SharedCost, sum[0], size[0])
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
var clusterAssets = [...]allocation.SharedKind{allocation.SharedPV, allocation.SharedNetwork, allocation.SharedLoadBalancer}

// checkAssets verifies, for a set before passes, that the rows of each cluster have the cost of its volumes, networks and
// load balancers, and no cost that only passes give.
func (c *checker) checkAssets() {
	rows, assets := map[string]*allocation.Money{}, map[string]*allocation.Money{}
	moneyOf := func(of map[string]*allocation.Money, cluster string) *allocation.Money {
		if of[cluster] == nil {
			of[cluster] = &allocation.Money{}
		}
		return of[cluster]
	}
	for row := range c.rows.Special {
		m := moneyOf(rows, c.set.Text(allocation.Cluster, row))
		m[allocation.SharedPV] += c.rows.Values[allocation.PVCost][row]
		m[allocation.SharedNetwork] += networkCost(c.rows, row)
		m[allocation.SharedLoadBalancer] += c.rows.Values[allocation.LoadBalancerCost][row]
		m[allocation.SharedOverhead] += c.rows.Values[allocation.SharedCost][row]
		m[allocation.SharedExternal] += c.rows.Values[allocation.ExternalCost][row]
	}
	for i := range c.set.Disks {
		if d := &c.set.Disks[i]; !d.Local {
			moneyOf(assets, d.Cluster)[allocation.SharedPV] += d.Cost
		}
	}
	for i := range c.set.Networks {
		moneyOf(assets, c.set.Networks[i].Cluster)[allocation.SharedNetwork] += c.set.Networks[i].TotalCost()
	}
	for i := range c.set.Balancers {
		moneyOf(assets, c.set.Balancers[i].Cluster)[allocation.SharedLoadBalancer] += c.set.Balancers[i].Cost
	}
	for _, cluster := range clustersOf(rows, assets) {
		got, want := moneyOf(rows, cluster), moneyOf(assets, cluster)
		for _, kind := range clusterAssets {
			if differ(got[kind], want[kind]) {
				c.add("cluster %q: %s cost of rows is %v, of assets %v", cluster, kindNames[kind], got[kind], want[kind])
			}
		}
		if got[allocation.SharedOverhead] != 0 || got[allocation.SharedExternal] != 0 {
			c.add("cluster %q: rows as built have shared cost %v and external cost %v: passes give those", cluster, got[allocation.SharedOverhead], got[allocation.SharedExternal])
		}
	}
}

// clustersOf returns the clusters of both maps, sorted.
func clustersOf(a, b map[string]*allocation.Money) (clusters []string) {
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
func moneyOf(t *allocation.Table, want func(row int) bool) (sum, size allocation.Money) {
	for kind := range allocation.NumSharedKinds {
		for _, col := range kind.Columns() {
			for row, v := range t.Values[col] {
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
func owed(s *allocation.Set, b *allocation.Books) (sum, size allocation.Money) {
	put := func(kind allocation.SharedKind, cost, adjustment float64) {
		sum[kind] += cost + adjustment
		size[kind] += math.Abs(cost) + math.Abs(adjustment)
	}
	for i := range s.Nodes {
		for r := range allocation.NumResources {
			put(r.Kind(), s.Nodes[i].Cost[r], s.Nodes[i].Adjustment[r])
		}
	}
	for i := range s.Residuals {
		put(s.Residuals[i].Resource.Kind(), s.Residuals[i].Cost, 0)
	}
	for i := range s.Disks {
		switch d := &s.Disks[i]; {
		case !d.Local:
			put(allocation.SharedPV, d.Cost, d.Adjustment)
		case b.Tenancy:
			put(allocation.SharedOverhead, d.Cost, d.Adjustment)
		}
	}
	for i := range s.Balancers {
		put(allocation.SharedLoadBalancer, s.Balancers[i].Cost, s.Balancers[i].Adjustment)
	}
	for i := range s.Networks {
		put(allocation.SharedNetwork, s.Networks[i].TotalCost(), s.Networks[i].Adjustment)
	}
	if b.Tenancy {
		for i := range s.Management {
			put(allocation.SharedOverhead, s.Management[i].Cost, s.Management[i].Adjustment)
		}
	}
	put(allocation.SharedExternal, b.External, 0)
	put(allocation.SharedOverhead, b.Flat, 0)
	return sum, size
}
