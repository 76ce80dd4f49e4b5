package passes_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestAccumulation compares two ways: sets that go through the passes side by side, over dictionaries of their own, and one Apply of all
// sets. Both give the same, to the last bit.
func TestAccumulation(t *testing.T) {
	seed := randomSeed()
	for i := range soak.Of[uint64](500, 3000) {
		rng := rand.New(rand.NewPCG(seed, i))
		models := randomModels(rng, 1+rng.IntN(6), 1+rng.IntN(14))
		o := randomQuestion(t, rng).ask()
		o.Proportions, o.Check = false, false
		o.Accumulate = []allocation.Period{allocation.NoPeriod, allocation.All, allocation.Hour, allocation.Day}[rng.IntN(4)]
		where := fmt.Sprintf("seed %d, %d", seed, i)
		sets := setsOf(models)
		want, err := passes.Apply(sets, o)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		sum := passes.NewAccumulation(o, rng.IntN(30))
		passed, errs := make([][]*allocation.Set, len(models)), make([]error, len(models))
		var passing sync.WaitGroup
		for _, k := range rng.Perm(len(models)) {
			one := sets[k : k+1]
			if rng.IntN(2) == 0 {
				one = setsOf(models[k : k+1])
			}
			passing.Go(func() { passed[k], errs[k] = sum.Apply(one) })
		}
		passing.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		for _, out := range passed {
			sum.Add(out[0])
		}
		held := sum.Held()
		got := sum.Sets()
		if len(got) != len(want) {
			t.Fatalf("%s: %d sets, want %d", where, len(got), len(want))
		}
		rows := 0
		for k := range got {
			if diff := cmp.Diff(contents(want[k]), contents(got[k])); diff != "" {
				t.Fatalf("%s: set %d, accumulate %d (-at once +one by one):\n%s", where, k, o.Accumulate, diff)
			}
			rows += got[k].Len()
		}
		if sum.Rows() != rows || sum.Held() != rows || held < rows {
			t.Errorf("%s: Rows is %d and Held %d of %d, before the end %d", where, sum.Rows(), sum.Held(), rows, held)
		}
	}
}

// contents is everything that a set made by passes has, with texts in place of ids.
func contents(s *allocation.Set) []string {
	list := []string{fmt.Sprint(s.Window, s.Resolution, s.Warnings, s.Incomplete)}
	d := s.Dict()
	for row := range s.Len() {
		list = append(list, fmt.Sprint(s.Name(row), s.Special(row), s.Single(row), s.Start(row), s.End(row), s.Minutes(row), s.TotalCost(row)))
		add := func(of ...any) { list[len(list)-1] += " " + fmt.Sprint(of...) }
		for p := range allocation.NumProperties {
			switch id := idsOf(s, p)[row]; {
			case p.IsMap():
				for _, pair := range d.Map(id) {
					add(p, d.Text(pair.Key), d.Text(pair.Value))
				}
			case p.IsList():
				for _, id := range d.List(id) {
					add(p, d.Text(id))
				}
			default:
				add(p, d.Text(id))
			}
		}
		for c := range allocation.NumColumns {
			add(s.Value(c, row))
		}
		for _, v := range s.Volumes(row) {
			add(d.Text(v.Key), d.Text(v.ProviderID), v.ByteHours, v.Cost, v.Adjustment)
		}
		for _, b := range s.LoadBalancerShares(row) {
			add(d.Text(b.Key), d.Text(b.Service), d.Text(b.IP), b.Private, b.Hours, b.Cost, b.Adjustment)
		}
		for _, r := range allocation.LevelResources {
			add(s.Levels(r, row))
		}
		for _, p := range s.SharedParts(row) {
			add(d.Text(p.Name), p.Cost)
		}
	}
	return list
}
