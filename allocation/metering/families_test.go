package metering_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// familyHours is the length of the sets that families are tested over: not 1, so that dividing by it shows.
const familyHours = 2

// newFamilySet is an empty set of familyHours.
func newFamilySet() *allocation.Set {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	return allocation.NewSet(allocation.Window{Start: start, End: start.Add(familyHours * time.Hour)}, allocation.NewDict())
}

// familyRow is a container of the namespace and controller with values by column.
func familyRow(cluster, namespace, kind, controller string, values map[allocation.Column]float64) *allocation.Row {
	row := &allocation.Row{}
	row.Text[allocation.Cluster], row.Text[allocation.Namespace] = cluster, namespace
	row.Text[allocation.ControllerKind], row.Text[allocation.Controller] = kind, controller
	for c, v := range values {
		row.Values[c] = v
	}
	return row
}

// subjectNamed is the subject of a name.
func subjectNamed(t *testing.T, name string) *metering.Subject {
	t.Helper()
	for _, s := range metering.Subjects() {
		if s.Name == name {
			return &s
		}
	}
	t.Fatalf("there is no subject %q", name)
	return nil
}

// familiesOf are the families of a subject of one type.
func familiesOf(s *metering.Subject, kind metering.Type) []metering.Family {
	return slices.DeleteFunc(s.Families(), func(f metering.Family) bool { return f.Type != kind })
}

// familyLines are the gauges of totals, one a line, in the order emitted, without "promcost_".
func familyLines(s *metering.Subject, totals *metering.Totals) []string {
	var lines []string
	for _, f := range familiesOf(s, metering.Gauge) {
		f.Emit(totals, func(_ int, labels []string, value float64) {
			lines = append(lines, fmt.Sprintf("%s{%s} %g", strings.TrimPrefix(f.Name, "promcost_"), strings.Join(labels, ","), value))
		})
	}
	return lines
}

func TestFamiliesOfAllocations(t *testing.T) {
	const (
		cost    = allocation.Cost
		usage   = allocation.UsageHours
		request = allocation.RequestHours
	)
	cpu, ram, gpu := allocation.CPU, allocation.RAM, allocation.GPU
	type values = map[allocation.Column]float64
	for _, test := range []struct {
		name    string
		subject string
		rows    []*allocation.Row
		want    []string
	}{
		{name: "nothing", subject: "namespace"},
		{
			name: "sums rows and divides by the hours", subject: "namespace",
			rows: []*allocation.Row{
				familyRow("c", "b", "", "", values{cost.Of(cpu): 1, cost.Of(ram): 2, usage.Of(cpu): 3, request.Of(cpu): 4}),
				familyRow("c", "a", "", "", values{cost.Of(cpu): 4}),
				familyRow("c", "b", "", "", values{cost.Of(cpu): 2, usage.Of(cpu): 1, request.Of(cpu): 4}),
			},
			want: []string{
				"namespace_hourly_cost{c,a,cpu} 2", "namespace_hourly_cost{c,a,ram} 0",
				"namespace_hourly_cost{c,b,cpu} 1.5", "namespace_hourly_cost{c,b,ram} 1",
				"namespace_efficiency_ratio{c,b,cpu} 0.5",
			},
		},
		{
			name: "efficiency without a request is 1 if used at a cost", subject: "namespace",
			rows: []*allocation.Row{familyRow("c", "a", "", "", values{cost.Of(cpu): 2, usage.Of(cpu): 3, usage.Of(ram): 3})},
			want: []string{
				"namespace_hourly_cost{c,a,cpu} 1", "namespace_hourly_cost{c,a,ram} 0",
				"namespace_efficiency_ratio{c,a,cpu} 1", "namespace_efficiency_ratio{c,a,ram} 0", // costs nothing
			},
		},
		{
			name: "a resource that some allocation has is there for all, but efficiency only where usage was measured", subject: "namespace",
			rows: []*allocation.Row{
				familyRow("c", "a", "", "", values{cost.Of(gpu): 2, allocation.Hours.Of(gpu): 2, request.Of(gpu): 2, usage.Of(gpu): 1}),
				familyRow("c", "b", "", "", values{allocation.PVCost: 4}),
			},
			want: []string{
				"namespace_hourly_cost{c,a,cpu} 0", "namespace_hourly_cost{c,a,ram} 0", "namespace_hourly_cost{c,a,gpu} 1", "namespace_hourly_cost{c,a,pv} 0",
				"namespace_hourly_cost{c,b,cpu} 0", "namespace_hourly_cost{c,b,ram} 0", "namespace_hourly_cost{c,b,gpu} 0", "namespace_hourly_cost{c,b,pv} 2",
				"namespace_efficiency_ratio{c,a,gpu} 0.5",
			},
		},
		{
			name: "efficiency is that of requests whose usage is known, and there is none where none is", subject: "namespace",
			rows: []*allocation.Row{
				familyRow("c", "a", "", "", values{request.Of(cpu): 10, allocation.UnknownRequestHours.Of(cpu): 10, request.Of(ram): 2, allocation.UnknownRequestHours.Of(ram): 2}),
				familyRow("c", "a", "", "", values{request.Of(cpu): 4, usage.Of(cpu): 1}),
			},
			want: []string{
				"namespace_hourly_cost{c,a,cpu} 0", "namespace_hourly_cost{c,a,ram} 0",
				"namespace_efficiency_ratio{c,a,cpu} 0.25",
			},
		},
		{
			name: "controllers, missing ones and their literal name are one", subject: "controller",
			rows: []*allocation.Row{
				familyRow("c", "a", "", "", values{cost.Of(cpu): 2}),
				familyRow("c", "a", "deployment", "web", values{cost.Of(cpu): 4}),
				familyRow("c", "a", "statefulset", "web", values{cost.Of(cpu): 6}),
				familyRow("c", "a", allocation.UnallocatedName, allocation.UnallocatedName, values{cost.Of(cpu): 2}),
			},
			want: []string{
				"controller_hourly_cost{c,a,__unallocated__,__unallocated__,cpu} 2", "controller_hourly_cost{c,a,__unallocated__,__unallocated__,ram} 0",
				"controller_hourly_cost{c,a,deployment,web,cpu} 2", "controller_hourly_cost{c,a,deployment,web,ram} 0",
				"controller_hourly_cost{c,a,statefulset,web,cpu} 3", "controller_hourly_cost{c,a,statefulset,web,ram} 0",
			},
		},
		{
			name: "idle is no namespace, unmounted is one", subject: "namespace",
			rows: []*allocation.Row{
				{Special: allocation.Idle, Values: [allocation.NumColumns]float64{allocation.PVCost: 1}},
				{Special: allocation.Unmounted, Values: [allocation.NumColumns]float64{allocation.PVCost: 1}},
			},
			want: []string{
				"namespace_hourly_cost{__unallocated__,__unmounted__,cpu} 0", "namespace_hourly_cost{__unallocated__,__unmounted__,ram} 0",
				"namespace_hourly_cost{__unallocated__,__unmounted__,pv} 0.5",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := newFamilySet()
			for _, row := range test.rows {
				set.Append(row)
			}
			subject := subjectNamed(t, test.subject)
			if diff := cmp.Diff(test.want, familyLines(subject, subject.Totals(set))); diff != "" {
				t.Errorf("series differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFamiliesOfNodes(t *testing.T) {
	set := newFamilySet()
	plain := allocation.Node{
		Cluster: "c", Name: "n1", InstanceType: "m5.large", Region: "r", Zone: "z", ProviderID: "aws:///z/i-1",
		Hours: [allocation.NumResources]float64{4, 8, 0}, Cost: [allocation.NumResources]float64{2, 4, 0}, Idle: [allocation.NumResources]float64{1, 3, 0},
	}
	withGPU := allocation.Node{
		Cluster: "c", Name: "n2", Spot: true,
		Hours: [allocation.NumResources]float64{2, 2, 2}, Cost: [allocation.NumResources]float64{2, 2, 20}, Idle: [allocation.NumResources]float64{0, 0, 20},
	}
	set.Nodes = []allocation.Node{plain, withGPU, plain} // the first one left and came back
	set.Residuals = []allocation.Residual{{Cluster: "c", Resource: allocation.RAM, Cost: 0.5, Overcommit: 0.25}}
	want := map[string][]string{
		"node": {
			"node_hourly_cost{c,n1,m5.large,r,z,aws:///z/i-1,false,cpu} 2", "node_hourly_cost{c,n1,m5.large,r,z,aws:///z/i-1,false,ram} 4",
			"node_hourly_cost{c,n2,,,,,true,cpu} 1", "node_hourly_cost{c,n2,,,,,true,ram} 1", "node_hourly_cost{c,n2,,,,,true,gpu} 10",
		},
		"idle": {
			"idle_hourly_cost{c,n1,cpu} 1", "idle_hourly_cost{c,n1,ram} 3",
			"idle_hourly_cost{c,n2,cpu} 0", "idle_hourly_cost{c,n2,ram} 0", "idle_hourly_cost{c,n2,gpu} 10",
		},
		"reconciliation": {
			"reconciliation_residual{c,cpu} 0", "reconciliation_residual{c,ram} 0.5", "reconciliation_residual{c,gpu} 0",
			"overcommit_cost{c,cpu} 0", "overcommit_cost{c,ram} 0.25", "overcommit_cost{c,gpu} 0",
		},
	}
	for name, lines := range want {
		subject := subjectNamed(t, name)
		if diff := cmp.Diff(lines, familyLines(subject, subject.Totals(set))); diff != "" {
			t.Errorf("series of %s differ (-want +got):\n%s", name, diff)
		}
	}
}

func TestFamiliesLeaveOutWhatCannotBeServed(t *testing.T) {
	subject := subjectNamed(t, "namespace")
	t.Run("not finite", func(t *testing.T) {
		set := newFamilySet()
		set.Append(familyRow("c", "a", "", "", map[allocation.Column]float64{allocation.Cost.Of(allocation.CPU): math.NaN()}))
		set.Append(familyRow("c", "b", "", "", map[allocation.Column]float64{allocation.Cost.Of(allocation.RAM): math.Inf(1)}))
		totals, notFinite := subject.Totals(set), 0
		for _, f := range familiesOf(subject, metering.Gauge) {
			notFinite += f.Emit(totals, func(_ int, _ []string, value float64) {
				if math.IsNaN(value) || math.IsInf(value, 0) {
					t.Errorf("%s has the value %g", f.Name, value)
				}
			})
		}
		if notFinite != 2 {
			t.Errorf("%d values were left out as not finite, want 2", notFinite)
		}
	})
	t.Run("label that is not UTF-8", func(t *testing.T) {
		set := newFamilySet()
		set.Append(familyRow("c", "a\xff", "", "", nil))
		for _, label := range subject.Totals(set).Labels(0) {
			if !utf8.ValidString(label) {
				t.Errorf("label %q is not UTF-8", label)
			}
		}
	})
	t.Run("set without a length", func(t *testing.T) {
		set := allocation.NewSet(allocation.Window{}, allocation.NewDict())
		set.Append(familyRow("c", "a", "", "", nil))
		if n := subject.Totals(set).Len(); n != 0 {
			t.Errorf("there are %d subjects, want none", n)
		}
	})
}

func TestFamilyTableIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range metering.Subjects() {
		if s.Labels[0] != "cluster" && s.Name != "budget" {
			t.Errorf("first label of subject %s is %q, want cluster", s.Name, s.Labels[0])
		}
		if len(s.Families()) == 0 {
			t.Errorf("subject %s has no family", s.Name)
		}
		for _, f := range s.Families() {
			if names[f.Name] {
				t.Errorf("family %s is there twice", f.Name)
			}
			names[f.Name] = true
			if want := append(slices.Clone(s.Labels), "resource"); !slices.Equal(f.Labels, want) && !slices.Equal(f.Labels, s.Labels) {
				t.Errorf("labels of %s are %q, want %q", f.Name, f.Labels, want)
			}
			if strings.HasPrefix(f.Name, "promcost_") == strings.HasPrefix(s.Collector(), "opencost") || !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s: the name must begin with promcost_, the help %q be a sentence", f.Name, f.Help)
			}
			if counter := f.Type == metering.Counter; counter != strings.HasSuffix(f.Name, "_total") {
				t.Errorf("%s: counters, and nothing else, end in _total", f.Name)
			}
		}
	}
}

// TestResourcesOfFamilies checks that an hour can have each value of the label resource.
func TestResourcesOfFamilies(t *testing.T) {
	set := newFamilySet()
	row := familyRow("c", "a", "", "", nil)
	for c := range allocation.NumColumns {
		row.Values[c] = 1
	}
	set.Append(row)
	s := subjectNamed(t, "namespace")
	var got []string
	f := familiesOf(s, metering.Counter)[0]
	f.Emit(s.Totals(set), func(_ int, labels []string, _ float64) { got = append(got, labels[len(labels)-1]) })
	if want := []string{"cpu", "ram", "gpu", "pv", "network", "load_balancer"}; !slices.Equal(got, want) {
		t.Errorf("resources are %q, want %q", got, want)
	}
}
