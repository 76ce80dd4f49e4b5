package allocation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
)

// TestProjectionUnion holds that a union has all that either needs, and looks at what either looks at.
func TestProjectionUnion(t *testing.T) {
	a := &allocation.Projection{
		Properties: []allocation.Property{allocation.Cluster, allocation.Pod}, Late: []allocation.Property{allocation.Labels, allocation.NodeName},
		Columns: []allocation.Column{allocation.PVCost}, WithoutAssets: true,
	}
	b := &allocation.Projection{
		Properties: []allocation.Property{allocation.Cluster, allocation.NodeName}, Late: []allocation.Property{allocation.Pod, allocation.Labels, allocation.Services},
		Columns: []allocation.Column{allocation.RunningSeconds, allocation.PVCost}, Volumes: true,
	}
	want := &allocation.Projection{
		Properties: []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Pod}, Late: []allocation.Property{allocation.Services, allocation.Labels},
		Columns: []allocation.Column{allocation.RunningSeconds, allocation.PVCost}, Volumes: true,
	}
	for name, got := range map[string]*allocation.Projection{"one way": a.Union(b), "the other way": b.Union(a)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if a.Union(nil) != nil || (*allocation.Projection)(nil).Union(a) != nil {
		t.Error("everything and something is not everything")
	}
}
