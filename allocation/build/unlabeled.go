package build

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
)

// allNodesLabel is a label that kubelets give every node. If it is exported, all labels are.
var allNodesLabel = labelnames.NewName("kubernetes.io/hostname")

// UnlabeledWarning warns that pricing rules need labels of nodes that are not in known. It is "" if they need no others.
func UnlabeledWarning(pricer rates.Rates, known rates.NodeAttributes, at time.Time) string {
	ruled, ok := pricer.(rates.Ruled)
	if !ok {
		return ""
	}
	needs := ruled.NodeNeeds(known, at)
	labels := slices.DeleteFunc(slices.Clone(needs.Labels), func(label string) bool { return len(clash(label, known.Labels)) > 0 })
	for _, x := range [...]struct {
		needed bool
		names  []labelnames.Name
	}{
		{needs.InstanceType, labelnames.InstanceTypeLabels[:1]},
		{needs.Region, labelnames.RegionLabels[:1]},
		{needs.Zone, labelnames.ZoneLabels[:1]},
		{needs.GPUModel, labelnames.GPULabels},
		{needs.Spot, labelnames.SpotLabels(known.Provider)},
	} {
		if x.needed {
			for _, name := range x.names {
				labels = append(labels, name.String())
			}
		}
	}
	if len(labels) == 0 {
		return ""
	}
	slices.Sort(labels)
	list := strings.Join(slices.Compact(labels), ",")
	return fmt.Sprintf("cluster %s: %s labels of nodes that kube-state-metrics does not export, so these rules match no node, and others or the defaults price it: run kube-state-metrics with --metric-labels-allowlist=nodes=[%s]",
		cmp.Or(known.Cluster, "without a name"), notices.RulesNeed, list)
}

// clash returns the labels of a node that collide with a label and have different values.
func clash(label string, labels map[string]string) []string {
	name := labelnames.NewName(label)
	return labelnames.Clash(&name, labels)
}

// warnClashes warns about rules that need labels of nodes which collide with others.
func (b *Builder) warnClashes(known *rates.NodeAttributes, at time.Time) {
	ruled, ok := b.prices.rates.(rates.Ruled)
	if !ok {
		return
	}
	for _, label := range ruled.NodeNeeds(*known, at).Labels {
		if keys := clash(label, known.Labels); len(keys) > 0 {
			b.warn("cluster %s: %s the label %s of nodes: its name collides with others, which are exported as %s, and their values differ, so these rules match no node: name all that collide in rules, as they are in Kubernetes, or one of the exported ones",
				cmp.Or(known.Cluster, "without a name"), notices.RulesNeed, label, strings.Join(keys, " and "))
		}
	}
}

// warnUnlabeled warns about rules that cannot match the nodes of a cluster because labels are not exported: either none are, or some
// are missing and no rule prices some node.
func (b *Builder) warnUnlabeled() {
	type group struct {
		known   rates.NodeAttributes
		unruled bool
	}
	groups := map[[2]string]*group{}
	var order [][2]string
	for _, n := range each(b, slices.All(b.sortedNodes())) {
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
		b.warnClashes(&g.known, at)
		if _, all := labelnames.Find(&allNodesLabel, g.known.Labels); all || len(g.known.Labels) > 0 && !g.unruled {
			continue
		}
		if text := UnlabeledWarning(b.prices.rates, g.known, at); text != "" {
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
