package passes_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestProportionNames checks the names of assets in proportions.
func TestProportionNames(t *testing.T) {
	const cluster = "arn:aws:eks:eu/c2"
	s := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, allocation.NewDict())
	r := allocation.Row{Start: testStart, End: testStart.Add(time.Hour)}
	r.Text[allocation.Cluster], r.Text[allocation.NodeName] = cluster, "n"
	r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.Container] = "ns", "p", "main"
	r.Values[allocation.Cost.Of(allocation.CPU)] = 1
	s.Append(&r)
	s.Nodes = []allocation.Node{{
		Cluster: cluster, Name: "n", ProviderID: "aws:///eu-1a/i-0abc", Start: testStart, End: testStart.Add(time.Hour),
		Cost: [allocation.NumResources]float64{allocation.CPU: 2}, Idle: [allocation.NumResources]float64{allocation.CPU: 1},
	}}
	for _, tt := range []struct {
		name    string
		byNode  bool
		key, id string
	}{
		{"node", true, "arn_aws_eks_eu_c2,n", "i-0abc"},
		{"cluster", false, "arn_aws_eks_eu_c2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := apply(t, []*allocation.Set{s}, passes.Options{Proportions: true, IdleByNode: tt.byNode})[0]
			list := got.Proportions(0)
			if len(list) != 1 {
				t.Fatalf("%d proportions", len(list))
			}
			if diff := cmp.Diff([]any{tt.key, tt.id, 0.5}, []any{list[0].Key(), list[0].ProviderID, list[0].CPU}); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}
