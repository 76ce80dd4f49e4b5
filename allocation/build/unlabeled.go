package build

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
)

// allNodesLabel is a label that kubelets give every node. If it is exported, all labels are.
var allNodesLabel = labelnames.NewName("kubernetes.io/hostname")

// warnUnlabeled warns about rules that cannot match the nodes of a cluster because labels are not exported: either none are, or some
// are missing and no rule prices some node.
func (b *Builder) warnUnlabeled() {
	type group struct {
		known   rates.NodeAttributes
		unruled bool
	}
	groups := map[[2]string]*group{}
	var order [][2]string
	for _, n := range each(&b.limits, slices.All(b.sortedNodes())) {
		if len(n.life) == 0 || !n.lacksPrice(allocation.CPU) && !n.lacksPrice(allocation.RAM) {
			continue
		}
		a := n.asset(b.sampling.End)
		key := [2]string{a.Cluster, rates.Provider(a.ProviderID)}
		g := groups[key]
		if g == nil {
			g = &group{known: rates.NodeAttributes{Cluster: key[0], Provider: key[1], Labels: map[string]string{}}}
			groups[key], order = g, append(order, key)
		}
		k := &g.known
		k.Region, k.Zone, k.InstanceType = cmp.Or(k.Region, a.Region), cmp.Or(k.Zone, a.Zone), cmp.Or(k.InstanceType, a.InstanceType)
		k.GPUModel, k.Spot = cmp.Or(k.GPUModel, n.label(labelnames.GPULabels)), k.Spot || n.reportsSpot()
		maps.Copy(k.Labels, a.Labels)
		g.unruled = g.unruled || !n.rateAt(b.sampling.End).Ruled
	}
	for _, key := range order {
		g, at := groups[key], time.UnixMilli(b.sampling.End).UTC()
		for _, text := range prices.ClashWarnings(b.prices.rates, &g.known, at) {
			b.Warn(text)
		}
		if _, all := labelnames.Find(&allNodesLabel, g.known.Labels); all || len(g.known.Labels) > 0 && !g.unruled {
			continue
		}
		if text := prices.UnlabeledWarning(b.prices.rates, g.known, at); text != "" {
			b.Warn(text)
		}
	}
}

// lacksPrice reports whether no metric prices a resource that the node has.
func (n *node) lacksPrice(r allocation.Resource) bool {
	return len(n.amount[r]) > 0 && len(n.price[r]) == 0
}

// reportsSpot reports whether a metric or a label says whether the node is a spot node.
func (n *node) reportsSpot() bool {
	return len(n.reported.spot) > 0 || labelnames.TellsSpot(n.labelMap)
}
