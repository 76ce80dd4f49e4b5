package passes_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestPassesLeaveTheDictAlone merges rows whose GPUs differ, from several goroutines at once: what the rows have in common is
// new, and must not be added to the dictionary that all of them share.
func TestPassesLeaveTheDictAlone(t *testing.T) {
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	window := allocation.Window{Start: start, End: start.Add(time.Hour)}
	set := allocation.NewSet(window, allocation.NewDict())
	for i := range 6 {
		row := &allocation.Row{Start: window.Start, End: window.End, GPU: allocation.GPUDevice{Model: "A100", UUID: fmt.Sprint("GPU-", i/2), Device: fmt.Sprint("nvidia-", i)}}
		row.Text[allocation.Cluster], row.Text[allocation.Namespace], row.Text[allocation.Pod], row.Text[allocation.Container] = "c", fmt.Sprint("ns-", i/3), fmt.Sprint("pod-", i), "main"
		set.Append(row)
	}
	keys, err := allocation.ParseKeys("namespace", nil)
	if err != nil {
		t.Fatal(err)
	}
	sizes := func() [3]int {
		strs, lists, maps := set.Dict().Sizes()
		return [3]int{strs, lists, maps}
	}
	before := sizes()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			out, err := passes.Apply([]*allocation.Set{set}, passes.Options{Aggregate: keys})
			if err != nil {
				t.Error(err)
				return
			}
			for row := range out[0].Len() {
				if g := out[0].GPU(row); g.Model != "A100" || g.Device != "" {
					t.Errorf("the GPUs of %s have %+v in common, want their model", out[0].Name(row), g)
				}
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(before, sizes()); diff != "" {
		t.Errorf("strings, lists and maps of the dictionary (-before +after):\n%s", diff)
	}
}
