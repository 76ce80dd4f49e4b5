package charge

import (
	"cmp"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// nodelessKey says where cost was allocated that belongs to no node asset.
type nodelessKey struct {
	cluster signals.Symbol
	set     int32
}

// addNodeless counts cost that was allocated while no known node lived.
func (ch *Charger) addNodeless(n *observe.Node, cluster signals.Symbol, set int32, r allocation.Resource, cost float64) {
	if n != nil {
		ch.nodeUse(n).nodeless.At(int(set))[r] += cost
		return
	}
	key := nodelessKey{cluster, set}
	sums := ch.uses.orphans[key]
	sums[r] += cost
	ch.uses.orphans[key] = sums
}

// reconcileNodes makes the node assets of every set, with their idle cost, and the residuals: cost that does not add up.
func (ch *Charger) reconcileNodes() {
	allocated := ch.allocatedByNode()
	for i := ch.First; i < ch.Last; i++ {
		s := ch.Sets[i]
		residuals := map[signals.Symbol]*[allocation.NumResources]allocation.Residual{}
		residualOf := func(cluster signals.Symbol, r allocation.Resource) *allocation.Residual {
			if residuals[cluster] == nil {
				residuals[cluster] = &[allocation.NumResources]allocation.Residual{}
			}
			return &residuals[cluster][r]
		}
		for _, n := range observe.Each(&ch.Limits, slices.All(ch.uses.nodes)) {
			if !ch.Owns(n.Node) {
				continue
			}
			asset, alive := ch.nodeAsset(n, i)
			nodeless, over, allocated := n.nodeless.Get(i), n.over.Get(i), &allocated[n.Index]
			for r := range allocation.NumResources {
				inside := allocated.Get(i).costs[r] - nodeless[r]
				if n.ByPods {
					asset.Cost[r], asset.Hours[r] = inside, allocated.Get(i).hours[r]
				}
				idle := asset.Cost[r] - inside
				if idle < 0 {
					residualOf(n.Cluster, r).Cost -= idle
					idle = 0
				}
				asset.Idle[r] = idle
				residualOf(n.Cluster, r).Cost += nodeless[r]
				residualOf(n.Cluster, r).Overcommit += over[r]
			}
			if alive {
				if ch.Draw(allocation.AssetBytes); ch.Stopped != nil {
					return
				}
				s.Nodes = append(s.Nodes, asset)
			}
			ch.warnOvercommit(n, i, asset.TotalCost())
		}
		for key, sums := range ch.uses.orphans {
			for r := range allocation.NumResources {
				if key.set == int32(i) && ch.Shard.Has(key.cluster.Value(), "") {
					residualOf(key.cluster, r).Cost += sums[r]
				}
			}
		}
		ch.reportResiduals(s, residuals)
	}
}

// warnOvercommit warns if more than 1 % of a node's cost was allocated beyond its capacity.
func (ch *Charger) warnOvercommit(n *nodeUse, set int, cost float64) {
	costs := n.over.Get(set)
	if over := costs[allocation.CPU] + costs[allocation.RAM] + costs[allocation.GPU]; over > cost/100 {
		ch.Warnf("node %s was allocated beyond its capacity: %.6g of cost was not charged (promcost_overcommit_cost)", ch.Placed(n.Cluster, n.Name.Value()), over)
	}
}

// residualSlack is the share of the cluster's cost below which a residual is rounding.
const residualSlack = 1e-9

// reportResiduals adds the residuals to the set, with a warning about large ones.
func (ch *Charger) reportResiduals(s *allocation.Set, residuals map[signals.Symbol]*[allocation.NumResources]allocation.Residual) {
	for _, cluster := range observe.SortedSymbols(residuals) {
		for r := range allocation.NumResources {
			x := residuals[cluster][r]
			total := 0.0
			for i := range s.Nodes {
				if s.Nodes[i].Cluster == cluster.Name() {
					total += s.Nodes[i].Cost[r]
				}
			}
			if x.Cost <= residualSlack*total && x.Overcommit == 0 {
				continue
			}
			x.Cluster, x.Resource = cluster.Name(), r
			s.Residuals = append(s.Residuals, x)
			if x.Cost > total/1000 {
				ch.Warnf("cluster %s: %s cost of %.6g was allocated outside of any known node's life (promcost_reconciliation_residual): are kube_node_info and kube_node_status_capacity there for all nodes?", x.Cluster, r, x.Cost)
			}
		}
	}
}

// allocatedCosts are the costs that are allocated on a node, and what for.
type allocatedCosts struct {
	costs, hours [allocation.NumResources]float64
}

// allocatedByNode sums what each node's containers are allocated, by the node's index and by set.
func (ch *Charger) allocatedByNode() []timeline.Numbered[allocatedCosts] {
	sums := make([]timeline.Numbered[allocatedCosts], len(ch.uses.nodes))
	for _, c := range observe.Each(&ch.Limits, slices.All(ch.Pods.Order)) {
		n := c.Node
		if n == nil {
			continue
		}
		for _, ref := range c.Rows {
			if ref.Row == observe.NoRow {
				continue
			}
			for r := range allocation.NumResources {
				cost := ch.Rows[ref.Set].Value(allocation.Cost.Of(r), int(ref.Row))
				if cost < 0 { // a correction may leave that by rounding
					ch.AddTo(ref, allocation.Cost.Of(r), -cost)
					cost = 0
				}
				sum := sums[n.Index].At(int(ref.Set))
				sum.costs[r] += cost
				sum.hours[r] += ch.Rows[ref.Set].Value(allocation.Hours.Of(r), int(ref.Row))
			}
		}
	}
	return sums
}

// nodeAsset returns the node's asset in a set, and whether the node lived in that set.
func (ch *Charger) nodeAsset(n *nodeUse, set int) (allocation.Node, bool) {
	from, to := ch.Borders[set], ch.Borders[set+1]
	life := n.Life.Clip(from, to)
	if len(life) == 0 {
		return allocation.Node{}, false
	}
	start, end := life.Bounds()
	asset := n.Asset(end)
	asset.Start, asset.End = time.UnixMilli(start).UTC(), time.UnixMilli(end).UTC()
	asset.RunningSeconds = float64(life.Length()) / 1000
	ch.breakDown(n, &asset, set, end)
	asset.Discount = n.DiscountAt(end)
	var list [allocation.NumResources]float64 // cost of CPU and RAM before the discount
	varies := false
	for r := range allocation.NumResources {
		asset.PriceSource[r] = n.PriceSource(r, end)
		n.EachStretch(r, from, to, nil, func(from, to int64, amount, price float64) {
			asset.Hours[r] += amount * observe.Hours(from, to)
			cost := amount * observe.Hours(from, to) * price / r.PerPriceUnit()
			asset.Cost[r] += cost
			d := n.DiscountAt(to)
			varies = varies || d != asset.Discount
			if r != allocation.GPU && d < 1 {
				list[r] += cost / (1 - d)
			}
		})
	}
	if sum := list[allocation.CPU] + list[allocation.RAM]; varies && sum > 0 {
		asset.Listed = list
		asset.Discount = max(0, 1-(asset.Cost[allocation.CPU]+asset.Cost[allocation.RAM])/sum)
	}
	return asset, true
}

// chargeAssets charges all assets except nodes, after all rows are known.
func (ch *Charger) chargeAssets() {
	pods := ch.sortedPods()
	ch.chargeTraffic(pods)
	ch.dropUsage()
	ch.chargeVolumes(pods)
	ch.chargeLocalDisks()
	ch.chargeBalancers(pods)
	ch.chargeManagement()
	ch.makeLeftOvers()
	for _, rows := range observe.Each(&ch.Limits, slices.All(ch.Rows)) {
		sortDisks(rows.Set().Disks)
	}
}

// sortDisks sorts disks by cluster, kind and name.
func sortDisks(disks []allocation.Disk) {
	kind := func(d *allocation.Disk) int {
		if d.Local {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(disks, func(x, y allocation.Disk) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(kind(&x), kind(&y)), cmp.Compare(x.Name, y.Name))
	})
}
