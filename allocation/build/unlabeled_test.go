package build_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/signals"
)

// TestWarnsOfUnlabeledNodes checks when the rules of a price sheet are told to need labels that are not exported. The memory of
// the case's node is priced by the sheet.
func TestWarnsOfUnlabeledNodes(t *testing.T) {
	memory := given{signal: signals.NodeCapacity, key: "c/n", points: minutes(gib, 1, 121), resource: allocation.RAM}
	price := given{signal: signals.NodePrice, key: "c/n/m5.large/r/a/id", points: minutes(0.01, 1, 121), resource: allocation.RAM}
	labels := func(key string) given {
		return given{signal: signals.NodeLabels, key: "c|n" + key, points: minutes(1, 1, 121)}
	}
	for _, tt := range []struct {
		name, sheet string
		series      []given
		want        string // the labels that are told; "" is no warning
	}{
		{"no labels", "nodes: [{zone: z, ramPerGiBHour: 1}]", []given{memory}, "topology.kubernetes.io/zone"},
		{"a series without labels", "nodes: [{zone: z, ramPerGiBHour: 1}]", []given{memory, labels("")}, "topology.kubernetes.io/zone"},
		{"no rules", "defaults: {ramPerGiBHour: 1}", []given{memory}, ""},
		{"metrics price all", "nodes: [{zone: z, ramPerGiBHour: 1}]", []given{memory, price}, ""},
		{"the instance type is known by a price", "nodes: [{instanceType: x, ramPerGiBHour: 1}]", []given{memory}, ""},
		{"another rule matches", `nodes: [{labels: {pool: x}, ramPerGiBHour: 2}, {name: "n*", ramPerGiBHour: 1}]`, []given{memory}, "pool"},
		{"all labels are exported", "nodes: [{zone: z, ramPerGiBHour: 1}]", []given{memory, labels("|kubernetes_io_hostname|n")}, ""},
		{"some labels are exported, and no rule matches", "nodes: [{labels: {pool: x, tier: y}, ramPerGiBHour: 1}]", []given{memory, labels("|tier|z")}, "pool"},
		{"some labels are exported, and a rule matches", "nodes: [{labels: {pool: x}, ramPerGiBHour: 2}, {labels: {tier: z}, ramPerGiBHour: 1}]", []given{memory, labels("|tier|z")}, ""},
		{"a label of nodes that are not spot", "nodes: [{spot: true, ramPerGiBHour: 1}]", []given{memory, labels("|karpenter_sh_capacity_type|on-demand")}, ""},
		{"nothing says which nodes are spot", "nodes: [{spot: true, ramPerGiBHour: 1}]", []given{memory}, "cloud.google.com/gke-preemptible,cloud.google.com/gke-spot,eks.amazonaws.com/capacityType,karpenter.sh/capacity-type,kubernetes.azure.com/scalesetpriority"},
		{"a metric says which nodes are spot", "nodes: [{spot: true, ramPerGiBHour: 1}]", []given{memory, {signal: signals.NodeSpot, key: "c/n", points: minutes(0, 1, 121)}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sheet, err := pricing.Parse("p.yaml", []byte(tt.sheet))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range buildRated(t, allocation.Query{Resolution: time.Minute}, sheet, tt.series) {
				i := slices.IndexFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "rules of the price sheet need labels") })
				if i < 0 != (tt.want == "") || i >= 0 && !strings.HasSuffix(s.Warnings[i], "=nodes=["+tt.want+"]") {
					t.Errorf("warnings %q, want %q", s.Warnings, tt.want)
				}
			}
		})
	}
}
