package passes_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestNodePoolsAddUp verifies that a pool costs what ran on its nodes and what was idle on them, in each hour and in all of them.
func TestNodePoolsAddUp(t *testing.T) {
	seed := randomSeed()
	for i := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, i))
		models := randomModels(rng, 1+rng.IntN(3), 1+rng.IntN(14))
		accumulate := []allocation.Period{allocation.NoPeriod, allocation.All}[i%2]
		sets := apply(t, setsOf(models), passes.Options{Aggregate: keys(t, "nodePool"), Idle: true, IdleByNode: true, Accumulate: accumulate})
		for at, s := range sets {
			of := models[at : at+1]
			if accumulate == allocation.All {
				of = models
			}
			want, got := map[string]float64{}, map[string]float64{}
			for m := range of {
				of[m].addCosts(want)
			}
			for row := range s.Len() {
				for r := range allocation.NumResources {
					got[strings.TrimSuffix(s.Name(row), "/"+allocation.IdleName)] += s.Value(allocation.Cost.Of(r), row)
				}
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(alike)); diff != "" {
				t.Fatalf("seed %d, %d: pools and their idle cost %s", seed, i, diff)
			}
		}
	}
}

// addCosts adds what CPU, RAM and GPUs cost by pool: of rows, and what is idle.
func (m *model) addCosts(by map[string]float64) {
	for i := range m.rows {
		for r := range allocation.NumResources {
			by[orEmpty(poolOf(m.rows[i].Text[allocation.NodeName]), allocation.UnallocatedName)] += m.rows[i].Values[allocation.Cost.Of(r)]
		}
	}
	for i := range m.nodes {
		for _, idle := range m.nodes[i].Idle {
			by[orEmpty(m.nodes[i].Pool, allocation.UnallocatedName)] += idle
		}
	}
}
