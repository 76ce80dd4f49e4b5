package allocation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
)

// testStart is when windows of tests begin.
var testStart = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// TestProjectionUnion checks that a union has everything that either projection has.
func TestProjectionUnion(t *testing.T) {
	a := &allocation.Projection{
		Properties: []allocation.Property{allocation.Cluster, allocation.Pod}, Deferred: []allocation.Property{allocation.Labels, allocation.NodeName},
		Columns: []allocation.Column{allocation.PVCost}, WithoutAssets: true,
	}
	b := &allocation.Projection{
		Properties: []allocation.Property{allocation.Cluster, allocation.NodeName}, Deferred: []allocation.Property{allocation.Pod, allocation.Labels, allocation.Services},
		Columns: []allocation.Column{allocation.RunningSeconds, allocation.PVCost}, Volumes: true,
	}
	want := &allocation.Projection{
		Properties: []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Pod}, Deferred: []allocation.Property{allocation.Services, allocation.Labels},
		Columns: []allocation.Column{allocation.RunningSeconds, allocation.PVCost}, Volumes: true,
	}
	for name, got := range map[string]*allocation.Projection{"one way": a.Union(b), "the other way": b.Union(a)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	all := allocation.Everything()
	all.Levels, all.WithoutAssets = true, false
	if diff := cmp.Diff(all, (&allocation.Projection{Levels: true}).Union(nil)); diff != "" {
		t.Errorf("everything with levels of usage (-want +got):\n%s", diff)
	}
	if a.Union(nil) != nil || (*allocation.Projection)(nil).Union(a) != nil {
		t.Error("everything and something is not everything")
	}
}

// TestProjectionWithInstance checks that the properties by which sets are merged are read at once, and everything else that was asked
// for, too.
func TestProjectionWithInstance(t *testing.T) {
	p := (&allocation.Projection{Deferred: []allocation.Property{allocation.Labels}, Columns: []allocation.Column{allocation.PVCost}}).WithInstance()
	if len(p.Deferred) > 0 || !slices.Equal(p.Columns, []allocation.Column{allocation.PVCost}) {
		t.Errorf("%v are deferred, and of the columns %v are read", p.Deferred, p.Columns)
	}
	for _, want := range []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Namespace, allocation.Pod, allocation.PodUID, allocation.Container, allocation.Labels} {
		if !slices.Contains(p.Properties, want) {
			t.Errorf("%s is not read", want)
		}
	}
	if (*allocation.Projection)(nil).WithInstance() != nil {
		t.Error("everything and something is not everything")
	}
}

// TestSetsBytes checks that the estimate counts a shared dictionary once, and columns only if they are read.
func TestSetsBytes(t *testing.T) {
	dict := allocation.NewDict()
	sets := make([]*allocation.Set, 2)
	for i := range sets {
		sets[i] = allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, dict)
		sets[i].Append(&allocation.Row{Services: []string{"a", "b"}})
	}
	one, both := allocation.SetsBytes(sets[:1]), allocation.SetsBytes(sets)
	if want := allocation.SetBytes + allocation.RowBytes + dict.Memory(); one != want || both != 2*one-dict.Memory() {
		t.Errorf("a set takes %d bytes, want %d, and two of its dictionary %d", one, want, both)
	}
	narrow, wide := (&allocation.Projection{}), allocation.Everything()
	if a, b := narrow.MergedBytes(), wide.MergedBytes(); a <= 0 || a >= b {
		t.Errorf("a merged row takes %d bytes with no columns and %d with all", a, b)
	}
}
