package parquet_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
)

// onAssets places random rows on the assets of a random set, so that passes have costs to divide.
func onAssets(rng *rand.Rand, n int) *allocation.Set {
	s := randomSet(rng, 0)
	for i := range n {
		r := randomRow(rng, s.Dict(), i)
		r.Text[allocation.Cluster], r.Text[allocation.NodeName] = "c1", fmt.Sprint("n", rng.IntN(5))
		for k := range r.Volumes {
			r.Volumes[k].Key = s.Dict().Add(allocation.VolumeKey("c1", fmt.Sprint("pv", 4*k)))
		}
		for k := range r.LoadBalancers {
			r.LoadBalancers[k].Key = s.Dict().Add(allocation.LoadBalancerKey("c1", "web", fmt.Sprint("s", k)))
		}
		for c, v := range r.Values {
			if r.Values[c] = math.Abs(v); math.IsNaN(v) {
				r.Values[c] = 0
			}
		}
		s.Append(r)
	}
	return s
}

// readAssets returns the set of a file of rows and a file of assets, each read by its own projection.
func readAssets(t *testing.T, dict *allocation.Dict, rows, assets []byte, p *allocation.Projection) *allocation.Set {
	t.Helper()
	s := allocation.NewSet(parquetWindow, dict)
	for _, of := range [...]struct {
		data []byte
		only *allocation.Projection
	}{{rows, nil}, {assets, p}} {
		f, err := new(parquet.Readers).Open(of.data, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Decode(of.only)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.AppendTo(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestFewOfAssets verifies that passes make the same rows of sets that have only the columns of assets that passes need. Merged parts are
// included.
func TestFewOfAssets(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		flip := func() bool { return rng.IntN(2) == 0 }
		keys, err := allocation.ParseKeys([]string{"namespace", "node", "nodePool", "pod"}[rng.IntN(4)], nil)
		if err != nil {
			t.Fatal(err)
		}
		o := passes.Options{
			Aggregate: keys, Idle: flip(), IdleByNode: flip(), SplitIdle: flip(), ShareTenancy: flip(), External: flip(),
			ShareIdle: passes.Split(rng.IntN(3)), ShareLoadBalancers: flip(), SharedBreakdown: flip(),
		}
		whole, few := allocation.NewDict(), allocation.NewDict()
		var sets [2][]*allocation.Set
		for range 1 + rng.IntN(2) {
			rows, assets := files(t, onAssets(rng, 20))
			sets[0] = append(sets[0], readAssets(t, whole, rows, assets, nil))
			sets[1] = append(sets[1], readAssets(t, few, rows, assets, &allocation.Projection{FewOfAssets: true}))
		}
		var got [2]resolvedSet
		for i, list := range sets {
			merged, err := passes.Merge(parquetWindow, list)
			if err != nil {
				t.Fatal(err)
			}
			out, err := passes.Apply([]*allocation.Set{merged}, o)
			if err != nil {
				t.Fatal(err)
			}
			all := resolvedSetOf(out[0])
			got[i] = resolvedSet{Window: all.Window, Resolution: all.Resolution, Warnings: all.Warnings, Rows: all.Rows}
		}
		if diff := cmp.Diff(got[0], got[1], cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("seed %d, %+v: -whole +few\n%s", seed, o, diff)
		}
	}
}
