package metering_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

func TestNewMeteringErrors(t *testing.T) {
	const known = "namespace, controller, pod, container, label, idle, node, volume, loadbalancer, network, attacheddisk, clustermanagement, budget, expected, recommended, opencost, opencost-kube"
	for _, test := range []struct {
		name string
		o    metering.Options
		want string
	}{
		{"unknown collector", metering.Options{Enabled: []string{"namespace", "pods"}}, `enable collector "pods": there is none of that name, there are ` + known},
		{"always on is no switch", metering.Options{Enabled: []string{"reconciliation"}}, `enable collector "reconciliation": there is none of that name, there are ` + known},
		{"few series", metering.Options{MaxSeries: 99}, "read collector.max-series 99: at least 100 are needed"},
		{"negative series", metering.Options{MaxSeries: -1}, "read collector.max-series -1: at least 100 are needed"},
		{"label without a name", metering.Options{LabelNames: []string{"app", " "}}, `read collector.label.names: label "": give the name of one label, such as team`},
		{"several labels in one", metering.Options{LabelNames: []string{"app,team"}}, `read collector.label.names: label "app,team": give the name of one label, such as team`},
		{"label twice", metering.Options{LabelNames: []string{"app", " app"}}, `read collector.label.names: label "app" is there twice: name it once`},
		{
			"alias of nothing",
			metering.Options{LabelNames: []string{"team"}, Mapping: allocation.LabelMapping{}},
			`read collector.label.names: label "team": parse aggregate "team": field 1: "team" stands for no label: map it to one in the configuration`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := metering.New(test.o); err == nil || err.Error() != test.want {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

func TestMeteringSubjects(t *testing.T) {
	names := func(m *metering.Metering) (names []string) {
		for _, s := range m.Subjects() {
			names = append(names, s.Name)
		}
		return names
	}
	only, err := metering.New(metering.Options{Enabled: []string{"pod"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"pod", "reconciliation"}, names(only)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	defaults, err := metering.New(metering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"namespace", "controller", "idle", "node", "volume", "loadbalancer", "network", "attacheddisk", "clustermanagement", "budget", "expected namespace", "expected controller", "reconciliation"}
	for _, m := range []*metering.Metering{defaults, metering.Default()} {
		if diff := cmp.Diff(want, names(m)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if got := m.MaxSeries(); got != metering.DefaultMaxSeries {
			t.Errorf("a subject may have %d series", got)
		}
	}
	for _, s := range defaults.WithoutCounters().Subjects() {
		if slices.ContainsFunc(s.Families(), func(f metering.Family) bool { return f.Type == metering.Counter }) {
			t.Errorf("%s has counters, but there are none", s.Name)
		}
	}
}

// TestProjections checks that projections read only what is needed.
func TestProjections(t *testing.T) {
	costs := []allocation.Column{
		allocation.Cost.Of(allocation.CPU), allocation.Cost.Of(allocation.RAM), allocation.Hours.Of(allocation.GPU), allocation.Cost.Of(allocation.GPU),
		allocation.PVCost, allocation.NetworkCrossZoneCost, allocation.NetworkCrossRegionCost, allocation.NetworkInternetCost,
		allocation.LoadBalancerCost,
	}
	both := slices.Clone(costs)
	for r := range allocation.NumResources {
		both = append(both, allocation.UsageHours.Of(r), allocation.RequestHours.Of(r), allocation.UnknownRequestHours.Of(r))
	}
	slices.Sort(both)
	labels, err := metering.New(metering.Options{Enabled: []string{"label"}, LabelNames: []string{"app", "team"}})
	if err != nil {
		t.Fatal(err)
	}
	namespace, node, label := subjectNamed(t, "namespace"), subjectNamed(t, "node"), labels.Subjects()[0]
	for _, tt := range []struct {
		name string
		got  *allocation.Projection
		want allocation.Projection
	}{
		{"all of namespaces", namespace.Projection(), allocation.Projection{Properties: []allocation.Property{allocation.Cluster, allocation.Namespace}, Columns: both}},
		{"costs of namespaces", namespace.Projection(namespace.Families()[0]), allocation.Projection{Properties: []allocation.Property{allocation.Cluster, allocation.Namespace}, Columns: costs}},
		{"nodes", node.Projection(), allocation.Projection{}},
		{"labels", label.Projection(), allocation.Projection{Properties: []allocation.Property{allocation.Cluster, allocation.Labels, allocation.Annotations}, Columns: both}},
		{"counters", metering.Default().Projection(), allocation.Projection{
			Properties: []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller}, Columns: costs,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(&tt.want, tt.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
