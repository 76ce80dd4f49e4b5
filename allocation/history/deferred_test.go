package history_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/passes"
)

// TestDeferred compares answers of sets whose properties get ids where they are needed with those of sets that have them all.
func TestDeferred(t *testing.T) {
	s, _ := directory(t, history.Options{})
	for i, w := range hours(3) {
		set := soundSet(uint64(i), w, 300, "c1", "c2")
		for k, uid := range []string{"", "not-a-uuid", "0"} { // some hours have others than UUIDs
			if i > 0 {
				set.Append(&allocation.Row{Start: w.Start, End: w.End, Text: [allocation.Services]string{"c1", "n", "ns-x", "pod", uid}, Labels: map[string]string{"k": string(rune('a' + k))}})
			}
		}
		write(t, s, set, history.WriteOptions{Period: history.Hourly})
	}
	stored := list(t, s, history.Hourly, allocation.Window{})
	for _, tc := range []struct {
		aggregate string
		eager     []allocation.Property
		options   passes.Options
	}{
		{"namespace", []allocation.Property{allocation.Namespace}, passes.Options{Idle: true}},
		{"controller", []allocation.Property{allocation.Controller, allocation.ControllerKind}, passes.Options{ShareIdle: passes.Weighted, ShareTenancy: true}},
		{"label:team", []allocation.Property{allocation.Labels}, passes.Options{Accumulate: allocation.All}},
		{"pod", []allocation.Property{allocation.Pod}, passes.Options{Idle: true, IdleByNode: true, Accumulate: allocation.All}},
		{"node", []allocation.Property{allocation.Namespace}, passes.Options{Filter: inNamespace("ns-1"), Idle: true}},
		{"pod", []allocation.Property{allocation.Namespace}, passes.Options{Filter: inNamespace("ns-1"), Idle: true, Accumulate: allocation.All}},
		{"controller,label:team", []allocation.Property{allocation.Namespace}, passes.Options{Filter: inNamespace("ns-1")}},
		{"cluster", nil, passes.Options{SharedCost: 3}},
	} {
		t.Run(tc.aggregate, func(t *testing.T) {
			keys, err := allocation.ParseKeys(tc.aggregate, nil)
			if err != nil {
				t.Fatal(err)
			}
			tc.options.Aggregate = keys
			p := &allocation.Projection{Properties: append(tc.eager, allocation.Cluster, allocation.NodeName, allocation.GPUDevices), Columns: allColumns(), Volumes: true, Balancers: true}
			for x := range allocation.NumProperties {
				if !slices.Contains(p.Properties, x) {
					p.Deferred = append(p.Deferred, x)
				}
			}
			var texts [2]bytes.Buffer
			for i, p := range []*allocation.Projection{nil, p} {
				sets, err := s.Read(t.Context(), stored, p)
				if err != nil {
					t.Fatal(err)
				}
				out, err := passes.Apply(sets, tc.options)
				if err != nil {
					t.Fatal(err)
				}
				if err := encode.Allocations(&texts[i], out, encode.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(texts[0].String(), texts[1].String()); diff != "" || texts[0].Len() < 1000 {
				t.Errorf("with all ids, and deferred (-all +deferred):\n%s", diff)
			}
		})
	}
}
