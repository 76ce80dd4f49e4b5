package prices

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
)

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

// ClashWarnings warn about rules that need labels of nodes which collide with others.
func ClashWarnings(pricer rates.Rates, known *rates.NodeAttributes, at time.Time) (warnings []string) {
	ruled, ok := pricer.(rates.Ruled)
	if !ok {
		return nil
	}
	for _, label := range ruled.NodeNeeds(*known, at).Labels {
		if keys := clash(label, known.Labels); len(keys) > 0 {
			warnings = append(warnings, fmt.Sprintf("cluster %s: %s the label %s of nodes: its name collides with others, which are exported as %s, and their values differ, so these rules match no node: name all that collide in rules, as they are in Kubernetes, or one of the exported ones",
				cmp.Or(known.Cluster, "without a name"), notices.RulesNeed, label, strings.Join(keys, " and ")))
		}
	}
	return warnings
}
