package build_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
)

// TestLabels checks whose labels an allocation has: its node's, overwritten by its namespace's, overwritten by its pod's.
func TestLabels(t *testing.T) {
	labels := func(signal signals.Signal, key string) given {
		return given{signal: signal, key: key, points: minutes(1, 1, 121)}
	}
	node := labels(signals.NodeLabels, "c/n/a/node/b/node/c/node")
	namespace := labels(signals.NamespaceLabelsInfo, "c/ns/b/namespace/c/namespace/d/namespace")
	pod := labels(signals.PodLabels, "c/ns/p/uid/c/pod/e/pod")
	for _, tt := range []struct {
		name   string
		series []given
		want   string
	}{
		{"none", nil, "map[]"},
		{"node", []given{node}, "map[a:node b:node c:node]"},
		{"namespace", []given{namespace}, "map[b:namespace c:namespace d:namespace]"},
		{"pod", []given{pod}, "map[c:pod e:pod]"},
		{"node and pod", []given{node, pod}, "map[a:node b:node c:pod e:pod]"},
		{"all", []given{node, namespace, pod}, "map[a:node b:namespace c:pod d:namespace e:pod]"},
		{
			"colliding names of the namespace, replaced by one of the pod",
			[]given{labels(signals.NamespaceLabelsInfo, "c/ns/a/x/team_conflict1/A/team_conflict2/a"), labels(signals.PodLabels, "c/ns/p/uid/team/pod")},
			"map[a:x team:pod]",
		},
		{
			"a name of the namespace, replaced by colliding ones of the pod",
			[]given{labels(signals.NamespaceLabelsInfo, "c/ns/a/x/team/namespace"), labels(signals.PodLabels, "c/ns/p/uid/team_conflict1/A/team_conflict2/a")},
			"map[a:x team_conflict1:A team_conflict2:a]",
		},
		{
			"three colliding names of the namespace, replaced by two of the pod",
			[]given{
				labels(signals.NamespaceLabelsInfo, "c/ns/team_conflict1/A/team_conflict2/a/team_conflict3/b"),
				labels(signals.PodLabels, "c/ns/p/uid/team_conflict1/C/team_conflict2/c"),
			},
			"map[team_conflict1:C team_conflict2:c]",
		},
		{"another node's are not", []given{labels(signals.NodeLabels, "c/other/a/other")}, "map[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range buildGiven(t, allocation.Query{Resolution: time.Minute, Step: time.Hour}, tt.series) {
				labels := map[string]string{}
				for _, pair := range s.Pairs(allocation.Labels, 0) {
					labels[s.Dict().Text(pair.Key)] = s.Dict().Text(pair.Value)
				}
				if got := fmt.Sprint(labels); got != tt.want {
					t.Errorf("labels %q, want %q", got, tt.want)
				}
			}
		})
	}
}

// TestSpotByLabel checks that spot nodes are found by the labels of their providers, in every spelling.
func TestSpotByLabel(t *testing.T) {
	for _, tt := range []struct {
		label string
		spot  bool
	}{
		{"eks.amazonaws.com/capacityType|SPOT", true},
		{"eks_amazonaws_com_capacityType|SPOT", true},
		{"eks_amazonaws_com_capacity_type|SPOT", true},
		{"eks_amazonaws_com_capacity_type|ON_DEMAND", false},
		{"karpenter_sh_capacity_type|spot", true},
		{"karpenter_sh_capacity_type|on-demand", false},
		{"cloud_google_com_gke_spot|true", true},
		{"cloud_google_com_gke_preemptible|true", true},
		{"kubernetes_azure_com_scalesetpriority|spot", true},
		{"kubernetes_azure_com_scalesetpriority|regular", false},
		{"capacity_type|SPOT", false},
	} {
		t.Run(tt.label, func(t *testing.T) {
			list := []given{{signal: signals.NodeLabels, key: "c|n|" + tt.label, points: minutes(1, 1, 121)}}
			for _, s := range buildGiven(t, allocation.Query{Resolution: time.Minute}, list) {
				if got := s.Nodes[0].Spot; got != tt.spot {
					t.Errorf("spot %v, want %v", got, tt.spot)
				}
			}
		})
	}
}
