package passes_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestMergedGPUs checks that a merged row has the GPU labels that all merged rows with a GPU have in common.
func TestMergedGPUs(t *testing.T) {
	w := allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}
	set := allocation.NewSet(w, allocation.NewDict())
	for _, x := range []struct {
		namespace, pod, container string
		gpu                       allocation.GPUDevice
	}{
		{"a", "p", "main", allocation.GPUDevice{Device: "nvidia0", Model: "A100", UUID: "GPU-1"}},
		{"a", "p", "proxy", allocation.GPUDevice{}},
		{"a", "q", "main", allocation.GPUDevice{Device: "nvidia1", Model: "A100", UUID: "GPU-2"}},
		{"b", "r", "main", allocation.GPUDevice{Model: "A100", Shared: true}},
		{"b", "s", "main", allocation.GPUDevice{Model: "L4", Shared: true}},
	} {
		r := allocation.Row{Start: w.Start, End: w.End, GPU: x.gpu}
		r.Text[allocation.Cluster], r.Text[allocation.Namespace] = "c", x.namespace
		r.Text[allocation.Pod], r.Text[allocation.Container] = x.pod, x.container
		r.Values[allocation.Hours.Of(allocation.GPU)] = 1
		set.Append(&r)
	}
	for _, tt := range []struct {
		aggregate string
		want      map[string]allocation.GPUDevice
	}{
		{"pod", map[string]allocation.GPUDevice{
			"p": {Device: "nvidia0", Model: "A100", UUID: "GPU-1"}, "q": {Device: "nvidia1", Model: "A100", UUID: "GPU-2"},
			"r": {Model: "A100", Shared: true}, "s": {Model: "L4", Shared: true},
		}},
		{"namespace", map[string]allocation.GPUDevice{"a": {Model: "A100"}, "b": {Shared: true}}},
		{"cluster", map[string]allocation.GPUDevice{"c": {}}},
	} {
		t.Run(tt.aggregate, func(t *testing.T) {
			key, err := allocation.ParseKeys(tt.aggregate, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := passes.Apply([]*allocation.Set{set}, passes.Options{Aggregate: key})
			if err != nil {
				t.Fatal(err)
			}
			for row := range got[0].Len() {
				name := got[0].Name(row)
				if got[0].GPU(row) != tt.want[name] {
					t.Errorf("%s: got %+v, want %+v", name, got[0].GPU(row), tt.want[name])
				}
			}
			if got[0].Len() != len(tt.want) {
				t.Errorf("%d rows, want %d", got[0].Len(), len(tt.want))
			}
		})
	}
}
