package allocation_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
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
func familySum(t *testing.T, s *allocation.Subject, kind allocation.FamilyType, totals *allocation.Totals) (sum float64) {
	t.Helper()
	f := familiesOf(s, kind)[0]
	if n := f.Emit(totals, func(_ int, _ []string, v float64) { sum += v }); n > 0 {
		t.Errorf("%s: %d values are not finite", f.Name, n)
	}
	return sum
}

// TestFamiliesCostWhatAssetsCost holds the law that everything is a metric: in each hour, families cost what the assets do
// before adjustments, and so do the counters of all hours.
func TestFamiliesCostWhatAssetsCost(t *testing.T) {
	sets := setsOf(randomModels(rand.New(rand.NewPCG(16, 14)), 6, 40))
	for i := range sets {
		sets[i].Window.End = sets[i].Window.Start.Add(familyHours * sets[i].Window.Duration()) // not 1, so that dividing by it shows
	}
	accrued := allocation.NewAccrued(sets[0].Window.Start, nil).Add(sets...)
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
					s := subjectNamed(t, name)
					got += familySum(t, s, allocation.GaugeFamily, s.Totals(set)) * set.Window.Duration().Hours()
				}
				if !near(got, want) || want == 0 {
					t.Errorf("%s: the families cost %v, the assets %v", set.Window.Start, got, want)
				}
				all += want
			}
			for _, name := range assetSubjects[kind] {
				s := subjectNamed(t, name)
				counted += familySum(t, s, allocation.CounterFamily, accrued.Totals(s))
			}
			if !near(counted, all) {
				t.Errorf("the counters say %v, the assets cost %v", counted, all)
			}
		})
	}
}

// TestResourcesOfFamilies: no value of the label resource is one that no hour can have.
func TestResourcesOfFamilies(t *testing.T) {
	set := newFamilySet()
	row := familyRow("c", "a", "", "", nil)
	for c := range allocation.NumColumns {
		row.Values[c] = 1
	}
	set.Append(row)
	s := subjectNamed(t, "namespace")
	var got []string
	f := familiesOf(s, allocation.CounterFamily)[0]
	f.Emit(s.Totals(set), func(_ int, labels []string, _ float64) { got = append(got, labels[len(labels)-1]) })
	if want := []string{"cpu", "ram", "gpu", "pv", "network", "load_balancer"}; !slices.Equal(got, want) {
		t.Errorf("resources are %q, want %q", got, want)
	}
}
