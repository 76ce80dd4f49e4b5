package allocation_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

// TestLabels checks whose labels an allocation has: its node's, overwritten by its namespace's, overwritten by its pod's.
func TestLabels(t *testing.T) {
	labels := func(signal allocation.Signal, key string) given {
		return given{signal: signal, key: key, points: minutes(1, 1, 121)}
	}
	node := labels(allocation.NodeLabels, "c/n/a/node/b/node/c/node")
	namespace := labels(allocation.NamespaceLabelsInfo, "c/ns/b/namespace/c/namespace/d/namespace")
	pod := labels(allocation.PodLabels, "c/ns/p/uid/c/pod/e/pod")
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
		{"another node's are not", []given{labels(allocation.NodeLabels, "c/other/a/other")}, "map[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range buildGiven(t, allocation.Query{Resolution: time.Minute, Step: time.Hour}, tt.series) {
				if got := pairs(s, allocation.Labels, 0); got != tt.want {
					t.Errorf("labels %q, want %q", got, tt.want)
				}
			}
		})
	}
}
