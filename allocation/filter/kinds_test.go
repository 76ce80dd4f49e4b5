package filter_test

import (
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/filter"
)

// TestControllerKinds checks which kinds of controllers a kind selects, and that an inverse selects all others: the pods of a CronJob are
// those of Jobs, and where a filter is about owners of pods, those of a Deployment are of ReplicaSets.
func TestControllerKinds(t *testing.T) {
	kinds := strings.Fields("job cronjob replicaset deployment rollout daemonset")
	var rows []row
	for _, kind := range append(kinds, "") {
		rows = append(rows, row{kind: kind, pod: kind})
	}
	set := makeSet(rows)
	v2 := func(text string, opts ...filter.Option) *filter.Filter {
		f, err := filter.Parse(text, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	v1 := func(name, list string, opts ...filter.Option) *filter.Filter {
		e, err := filter.V1(name, list, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return filter.New(e, opts...)
	}
	fields := func(text string) *filter.Filter {
		e, err := filter.NewSelectable().Parse(filter.Allocations, text)
		if err != nil {
			t.Fatal(err)
		}
		return filter.New(e)
	}
	owners := filter.WithReplicaSets()
	for _, tt := range []struct {
		name   string
		filter *filter.Filter
		want   string
	}{
		{"v1", v1("filterControllerKinds", "job"), "job cronjob"},
		{"v1, of two", v1("filterControllerKinds", "DaemonSet, Job"), "job cronjob daemonset"},
		{"v1, a prefix", v1("filterControllerKinds", "job*"), "job"},
		{"v1, another kind", v1("filterControllerKinds", "cronjob"), "cronjob"},
		{"v1, replicaset", v1("filterControllerKinds", "replicaset"), "replicaset"},
		{"v2", v2(`controllerKind:"job"`), "job cronjob"},
		{"v2, in Kubernetes' spelling", v2(`controllerKind:"Job"`), "job cronjob"},
		{"v2, inverse", v2(`controllerKind!:"job"`), "replicaset deployment rollout daemonset "},
		{"v2, only Jobs", v2(`controllerKind:"job"+controllerKind!:"cronjob"`), "job"},
		{"v2, any of two", v2(`controllerKind:"daemonset"|controllerKind:"job"`), "job cronjob daemonset"},
		{"v2, none of two", v2(`controllerKind!:"daemonset"+controllerKind!:"job"`), "replicaset deployment rollout "},
		{"v2, another kind", v2(`controllerKind:"cronjob"`), "cronjob"},
		{"v2, a prefix", v2(`controllerKind<~:"job"`), "job"},
		{"v2, replicaset", v2(`controllerKind:"replicaset"`), "replicaset"},
		{"owners, replicaset", v2(`controllerKind:"replicaset"`, owners), "replicaset deployment rollout"},
		{"owners, inverse", v2(`controllerKind!:"ReplicaSet"`, owners), "job cronjob daemonset "},
		{"owners, job", v2(`controllerKind:"job"`, owners), "job cronjob"},
		{"owners, deployment", v2(`controllerKind:"deployment"`, owners), "deployment"},
		{"field selector", fields("spec.controllerKind=job"), "job"},
		{"field selector, inverse", fields("spec.controllerKind!=job"), "cronjob replicaset deployment rollout daemonset "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			match := bound(tt.filter, set)
			var got []string
			for i := range rows {
				if match(i) {
					got = append(got, rows[i].kind)
				}
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("%s selects %q, want %q", tt.filter, text, tt.want)
			}
		})
	}
}
