package build

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// nodelessKey says where cost was allocated that belongs to no node asset.
type nodelessKey struct {
	cluster signals.Symbol
	set     int32
}

// addNodeless counts cost that was allocated while no known node lived.
func (b *Builder) addNodeless(n *node, cluster signals.Symbol, set int32, r allocation.Resource, cost float64) {
	if n != nil {
		b.nodeUse(n).nodeless.At(int(set))[r] += cost
		return
	}
	key := nodelessKey{cluster, set}
	sums := b.nodes.orphans[key]
	sums[r] += cost
	b.nodes.orphans[key] = sums
}

// eachStretch calls f for every stretch of the node's life in (from, to] in which capacity and price of a resource
// are constant. It cuts at the instants in more, too.
func (n *node) eachStretch(r allocation.Resource, from, to int64, more []int64, f func(from, to int64, amount, price float64)) {
	edges := n.priceEdges(r, n.amount[r].Edges(slices.Clone(more)))
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for _, life := range n.life.Clip(from, to) {
		for at := life.From; at < life.To; {
			next := timeline.NextEdge(edges, at, life.To)
			f(at, next, max(0, n.amount[r].Value(next)), n.priceAt(r, next))
			at = next
		}
	}
}

// reconcileNodes makes the node assets of every set, with their idle cost, and the residuals: cost that does not add up.
func (b *Builder) reconcileNodes() {
	allocated := b.allocatedByNode()
	for i := b.first; i < b.last; i++ {
		s := b.sets[i]
		residuals := map[signals.Symbol]*[allocation.NumResources]allocation.Residual{}
		of := func(cluster signals.Symbol, r allocation.Resource) *allocation.Residual {
			if residuals[cluster] == nil {
				residuals[cluster] = &[allocation.NumResources]allocation.Residual{}
			}
			return &residuals[cluster][r]
		}
		for _, n := range each(&b.limits, slices.All(b.uses.nodes)) {
			if !b.owns(n.node) {
				continue
			}
			asset, alive := b.nodeAsset(n, i)
			nodeless, over, allocated := n.nodeless.Get(i), n.over.Get(i), &allocated[n.index]
			for r := range allocation.NumResources {
				inside := allocated.Get(i)[r] - nodeless[r]
				idle := asset.Cost[r] - inside
				if idle < 0 {
					of(n.cluster, r).Cost -= idle
					idle = 0
				}
				asset.Idle[r] = idle
				of(n.cluster, r).Cost += nodeless[r]
				of(n.cluster, r).Overcommit += over[r]
			}
			if alive {
				if b.draw(allocation.AssetBytes); b.stopped != nil {
					return
				}
				s.Nodes = append(s.Nodes, asset)
			}
			b.warnOvercommit(n, i, asset.TotalCost())
		}
		for key, sums := range b.nodes.orphans {
			for r := range allocation.NumResources {
				if key.set == int32(i) && b.shard.Has(key.cluster.Value(), "") {
					of(key.cluster, r).Cost += sums[r]
				}
			}
		}
		b.reportResiduals(s, residuals)
	}
}

// warnOvercommit warns if more than 1 % of a node's cost was allocated beyond its capacity.
func (b *Builder) warnOvercommit(n *nodeUse, set int, cost float64) {
	costs := n.over.Get(set)
	if over := costs[allocation.CPU] + costs[allocation.RAM] + costs[allocation.GPU]; over > cost/100 {
		b.warn("node %s was allocated beyond its capacity: %.6g of cost was not charged (promcost_overcommit_cost)", b.placed(n.cluster, n.name.Value()), over)
	}
}

// residualSlack is the share of the cluster's cost below which a residual is rounding.
const residualSlack = 1e-9

// reportResiduals adds the residuals to the set, with a warning about large ones.
func (b *Builder) reportResiduals(s *allocation.Set, residuals map[signals.Symbol]*[allocation.NumResources]allocation.Residual) {
	for _, cluster := range sortedSymbols(residuals) {
		for r := range allocation.NumResources {
			x := residuals[cluster][r]
			total := 0.0
			for i := range s.Nodes {
				if s.Nodes[i].Cluster == cluster.Value() {
					total += s.Nodes[i].Cost[r]
				}
			}
			if x.Cost <= residualSlack*total && x.Overcommit == 0 {
				continue
			}
			x.Cluster, x.Resource = cluster.Value(), r
			s.Residuals = append(s.Residuals, x)
			if x.Cost > total/1000 {
				b.warn("cluster %s: %s cost of %.6g was allocated outside of any known node's life (promcost_reconciliation_residual): are kube_node_info and kube_node_status_capacity there for all nodes?", x.Cluster, r, x.Cost)
			}
		}
	}
}

// allocatedByNode sums the cost of each node's containers, by the node's index and by set.
func (b *Builder) allocatedByNode() []timeline.Numbered[resourceCosts] {
	sums := make([]timeline.Numbered[resourceCosts], len(b.uses.nodes))
	for _, c := range each(&b.limits, slices.All(b.pods.order)) {
		n := c.node
		if n == nil {
			continue
		}
		for _, ref := range c.rows {
			if ref.row == noRow {
				continue
			}
			for r := range allocation.NumResources {
				cost := b.rows[ref.set].Value(allocation.Cost.Of(r), int(ref.row))
				if cost < 0 { // a correction may leave that by rounding
					b.add(ref, allocation.Cost.Of(r), -cost)
					cost = 0
				}
				sums[n.index].At(int(ref.set))[r] += cost
			}
		}
	}
	return sums
}

// nodeAsset returns the node's asset in a set, and whether the node lived in that set.
func (b *Builder) nodeAsset(n *nodeUse, set int) (allocation.Node, bool) {
	from, to := b.borders[set], b.borders[set+1]
	life := n.life.Clip(from, to)
	if len(life) == 0 {
		return allocation.Node{}, false
	}
	start, end := life.Bounds()
	asset := n.asset(end)
	asset.Start, asset.End = time.UnixMilli(start).UTC(), time.UnixMilli(end).UTC()
	asset.RunningSeconds = float64(life.Length()) / 1000
	b.breakDown(n, &asset, set, end)
	asset.Discount = n.discountAt(end)
	var list [allocation.NumResources]float64 // cost of CPU and RAM before the discount
	varies := false
	for r := range allocation.NumResources {
		asset.PriceSource[r] = n.priceSource(r, end)
		n.eachStretch(r, from, to, nil, func(from, to int64, amount, price float64) {
			asset.Hours[r] += amount * hours(from, to)
			cost := amount * hours(from, to) * price / r.PerPriceUnit()
			asset.Cost[r] += cost
			d := n.discountAt(to)
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
