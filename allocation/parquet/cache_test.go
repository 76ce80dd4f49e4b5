package parquet_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
)

// TestColumnCache reads files one after another with the same readers. Columns that are stored as in the file before, and columns that
// have changed, have the values that new readers find. Ids of maps belong to the Dict that they are added to.
func TestColumnCache(t *testing.T) {
	sets := [...]*allocation.Set{randomSet(rand.New(rand.NewPCG(5, 1)), 300), randomSet(rand.New(rand.NewPCG(5, 2)), 300)}
	var rows [len(sets)][]byte
	var want, merged [len(sets)]any
	deferred := &allocation.Projection{}
	for p := range allocation.NumProperties {
		if p != allocation.Pod && p != allocation.GPUDevices {
			deferred.Deferred = append(deferred.Deferred, p)
		}
	}
	deferred.Properties = []allocation.Property{allocation.Pod, allocation.GPUDevices}
	deferred.Volumes, deferred.Balancers, deferred.Levels, deferred.Columns = true, true, true, allocation.Everything().Columns
	keys, err := allocation.ParseKeys("pod", allocation.LabelMapping{})
	if err != nil {
		t.Fatal(err)
	}
	pods := func(s *allocation.Set) any {
		t.Helper()
		out, err := passes.Apply([]*allocation.Set{s}, passes.Options{Aggregate: keys})
		if err != nil {
			t.Fatal(err)
		}
		return resolvedSetOf(out[0])
	}
	read := func(readers *parquet.Readers, i int, p *allocation.Projection, d *allocation.Dict) *allocation.Set {
		t.Helper()
		f, err := readers.Open(rows[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := f.Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		s := allocation.NewSet(f.Footer.Window, d)
		if err := decoded.AppendTo(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for i, s := range sets {
		rows[i], _ = files(t, s)
		want[i] = resolvedSetOf(read(&parquet.Readers{}, i, nil, allocation.NewDict()))
		merged[i] = pods(read(&parquet.Readers{}, i, deferred, allocation.NewDict()))
	}
	readers, dict := &parquet.Readers{}, allocation.NewDict()
	for at, i := range [...]int{0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0} {
		if at%4 == 3 {
			dict = allocation.NewDict()
			dict.Add("something else")
		}
		if d := cmp.Diff(want[i], resolvedSetOf(read(readers, i, nil, dict)), cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("reading %d, of set %d (-want +got):\n%s", at, i, d)
		}
		if d := cmp.Diff(merged[i], pods(read(readers, i, deferred, dict)), cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("reading %d, of pods of set %d (-want +got):\n%s", at, i, d)
		}
	}
}
