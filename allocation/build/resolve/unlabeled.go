package resolve

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
)

// allNodesLabel is a label that kubelets give every node. If it is exported, all labels are.
var allNodesLabel = labelnames.NewName("kubernetes.io/hostname")

// warnUnlabeled warns about rules that cannot match the nodes of a cluster because labels are not exported: either none are, or some
// are missing and no rule prices some node.
func (rs *Resolver) warnUnlabeled() {
	type group struct {
		known   rates.NodeAttributes
		unruled bool
	}
	groups := map[[2]string]*group{}
	var order [][2]string
	for _, n := range observe.Each(&rs.Limits, slices.All(rs.SortedNodes())) {
		if len(n.Life) == 0 || !n.LacksPrice(allocation.CPU) && !n.LacksPrice(allocation.RAM) {
			continue
		}
		a := n.Asset(rs.Sampling.End)
		key := [2]string{a.Cluster, rates.Provider(a.ProviderID)}
		g := groups[key]
		if g == nil {
			g = &group{known: rates.NodeAttributes{Cluster: key[0], Provider: key[1], Labels: map[string]string{}}}
			groups[key], order = g, append(order, key)
		}
		k := &g.known
		k.Region, k.Zone, k.InstanceType = cmp.Or(k.Region, a.Region), cmp.Or(k.Zone, a.Zone), cmp.Or(k.InstanceType, a.InstanceType)
		k.GPUModel, k.Spot = cmp.Or(k.GPUModel, n.Label(labelnames.GPULabels)), k.Spot || n.ReportsSpot()
		maps.Copy(k.Labels, a.Labels)
		g.unruled = g.unruled || !n.RateAt(rs.Sampling.End).Ruled
	}
	for _, key := range order {
		g, at := groups[key], time.UnixMilli(rs.Sampling.End).UTC()
		for _, text := range prices.ClashWarnings(rs.Prices.Rates, &g.known, at) {
			rs.Warn(text)
		}
		if _, all := labelnames.Find(&allNodesLabel, g.known.Labels); all || len(g.known.Labels) > 0 && !g.unruled {
			continue
		}
		if text := prices.UnlabeledWarning(rs.Prices.Rates, g.known, at); text != "" {
			rs.Warn(text)
		}
	}
}
