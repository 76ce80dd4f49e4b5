package passes_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/metering"
)

// assetSubjects are the subjects whose families together cost what the assets of a type cost.
var assetSubjects = map[allocation.AssetType][]string{
	allocation.NodeAsset:         {"node"},
	allocation.DiskAsset:         {"volume", "attacheddisk"},
	allocation.LoadBalancerAsset: {"loadbalancer"},
	allocation.NetworkAsset:      {"network"},
	allocation.ManagementAsset:   {"clustermanagement"},
}

// familySum is the sum of the series of a subject's first family of a type.
func familySum(t *testing.T, s *metering.Subject, kind metering.Type, totals *metering.Totals) (sum float64) {
	t.Helper()
	families := s.Families()
	f := families[slices.IndexFunc(families, func(f metering.Family) bool { return f.Type == kind })]
	if n := f.Emit(totals, func(_ int, _ []string, v float64) { sum += v }); n > 0 {
		t.Errorf("%s: %d values are not finite", f.Name, n)
	}
	return sum
}

// TestFamiliesCostWhatAssetsCost checks the law that metrics show everything: in each hour, families cost what the assets do before
// adjustments, and so do the counters of all hours.
func TestFamiliesCostWhatAssetsCost(t *testing.T) {
	sets := setsOf(randomModels(rand.New(rand.NewPCG(16, 14)), 6, 40))
	for i := range sets {
		sets[i].Window.End = sets[i].Window.Start.Add(2 * sets[i].Window.Duration()) // not 1, so that dividing by it shows
	}
	subjects := map[string]*metering.Subject{}
	for _, s := range metering.Subjects() {
		subjects[s.Name] = &s
	}
	accrued := metering.NewAccrued(sets[0].Window.Start, nil).Add(sets...)
	for kind := range allocation.NumAssetTypes {
		if kind == allocation.CloudAsset || kind == allocation.MixedAsset {
			continue
		}
		t.Run(kind.String(), func(t *testing.T) {
			if len(assetSubjects[kind]) == 0 {
				t.Fatal("no subject is of these assets")
			}
			all, counted := 0.0, 0.0
			for _, set := range sets {
				list := assets.List(set, assets.Options{WithoutAdjustments: true, Filter: func(a *allocation.Asset) bool { return a.Type == kind }})
				want, _ := list.TotalCost()
				got := 0.0
				for _, name := range assetSubjects[kind] {
					s := subjects[name]
					got += familySum(t, s, metering.Gauge, s.Totals(set)) * set.Window.Duration().Hours()
				}
				if !near(got, want) {
					t.Errorf("%s: the families cost %v, the assets %v", set.Window.Start, got, want)
				}
				all += want
			}
			for _, name := range assetSubjects[kind] {
				s := subjects[name]
				counted += familySum(t, s, metering.Counter, accrued.Totals(s))
			}
			if !near(counted, all) || all == 0 {
				t.Errorf("the counters say %v, the assets cost %v", counted, all)
			}
		})
	}
}
