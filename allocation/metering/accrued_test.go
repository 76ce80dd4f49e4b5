package metering_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// counterLines are the counters of what has accrued, one a line.
func counterLines(a *metering.Accrued) []string {
	var lines []string
	for _, s := range metering.Subjects() {
		for _, f := range familiesOf(&s, metering.Counter) {
			f.Emit(a.Totals(&s), func(_ int, labels []string, value float64) {
				lines = append(lines, fmt.Sprintf("%s{%s} %v", strings.TrimPrefix(f.Name, "promcost_"), strings.Join(labels, ","), value))
			})
		}
	}
	return lines
}

// accruedHour is the i-th hour of a month, with the cpu costs of namespaces.
func accruedHour(i int, costs map[string]float64) *allocation.Set {
	start := time.Date(2026, 3, 1, i, 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
	for _, namespace := range []string{"a", "b"} {
		if cost, ok := costs[namespace]; ok {
			s.Append(familyRow("c", namespace, "", "", map[allocation.Column]float64{allocation.Cost.Of(allocation.CPU): cost}))
		}
	}
	return s
}

func TestAccrued(t *testing.T) {
	month := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	a := metering.NewAccrued(month, nil)
	if lines := counterLines(a); len(lines) > 0 {
		t.Errorf("nothing has accrued, but %v", lines)
	}
	one := a.Add(accruedHour(0, map[string]float64{"a": 1, "b": 2}))
	two := one.Until(month.Add(3 * time.Hour)).Add(accruedHour(3, map[string]float64{"b": 0.5}))
	if want := (allocation.Window{Start: month, End: month.Add(4 * time.Hour)}); two.Window != want {
		t.Errorf("window %v, want %v", two.Window, want)
	}
	if diff := cmp.Diff([]string{
		"namespace_cost_total{c,a,cpu} 1", "namespace_cost_total{c,a,ram} 0",
		"namespace_cost_total{c,b,cpu} 2.5", "namespace_cost_total{c,b,ram} 0",
	}, counterLines(two)[:4]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := counterLines(one)[2]; got != "namespace_cost_total{c,b,cpu} 2" {
		t.Errorf("adding an hour has changed what was before: %s", got)
	}
}

// Whoever adds the same hours in the same order gets the same sums to the last bit.
func TestAccruedIsReproducible(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a := metering.NewAccrued(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), nil)
	b := a
	var hours []*allocation.Set
	for i := range 100 {
		hours = append(hours, accruedHour(i, map[string]float64{"a": rng.Float64(), "b": rng.Float64() * 1e6}))
		a = a.Add(hours[i])
	}
	for i := range hours {
		b = b.Add(hours[i])
	}
	if diff := cmp.Diff(counterLines(a), counterLines(b)); diff != "" {
		t.Error(diff)
	}
}
