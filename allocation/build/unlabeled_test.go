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

// TestWarnsOfUnlabeledNodes checks when there is a warning that the rules of a price sheet need labels that are not exported. The sheet
// prices the memory of the case's node.
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
		{"nothing says which nodes are spot", "nodes: [{spot: true, ramPerGiBHour: 1}]", []given{memory}, "alibabacloud.com/spot-instance,cloud.google.com/gke-preemptible,cloud.google.com/gke-provisioning,cloud.google.com/gke-spot,eks.amazonaws.com/capacityType,karpenter.sh/capacity-type,kubernetes.azure.com/scalesetpriority,lifecycle,node-role.kubernetes.io/spot-worker,node.kubernetes.io/lifecycle,oci.oraclecloud.com/oke-is-preemptible,scheduling.cast.ai/spot,spotinst.io/node-lifecycle"},
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

// TestWarnsOfCollidingNodeLabels checks that there is a warning about rules that may or may not match, because the label that they need
// collides with another one.
func TestWarnsOfCollidingNodeLabels(t *testing.T) {
	labels := func(first, second string) []given {
		key := "c|n|kubernetes_io_hostname|n|cost_center_conflict1|" + first + "|cost_center_conflict2|" + second
		return []given{
			{signal: signals.NodeCapacity, key: "c/n", points: minutes(gib, 1, 121), resource: allocation.RAM},
			{signal: signals.NodeLabels, key: key, points: minutes(1, 1, 121)},
		}
	}
	const warning = "cluster c: rules of the price sheet need the label costCenter of nodes: its name collides with others, which are exported as cost_center_conflict1 and cost_center_conflict2, and their values differ, so these rules match no node: name all that collide in rules, as they are in Kubernetes, or one of the exported ones"
	for _, tt := range []struct {
		name, sheet   string
		first, second string
		want          string
	}{
		{"their values differ", "nodes: [{labels: {costCenter: a}, ramPerGiBHour: 1}]", "a", "b", warning},
		{"their values are equal", "nodes: [{labels: {costCenter: a}, ramPerGiBHour: 1}]", "a", "a", ""},
		{"rules name both", "nodes: [{labels: {costCenter: b, CostCenter: a}, ramPerGiBHour: 1}]", "a", "b", ""},
		{"a rule names an exported one", "nodes: [{labels: {cost_center_conflict1: a}, ramPerGiBHour: 1}]", "a", "b", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sheet, err := pricing.Parse("p.yaml", []byte(tt.sheet))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range buildRated(t, allocation.Query{Resolution: time.Minute}, sheet, labels(tt.first, tt.second)) {
				i := slices.IndexFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "rules of the price sheet need") })
				if i < 0 != (tt.want == "") || i >= 0 && s.Warnings[i] != tt.want {
					t.Errorf("warnings %q, want %q", s.Warnings, tt.want)
				}
			}
		})
	}
}
