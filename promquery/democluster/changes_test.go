package democluster_test

import (
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// largest is the largest effect, by size.
func largest(e democluster.Effects) (name string) {
	for n, v := range e {
		if math.Abs(v) > math.Abs(e[name]) || math.Abs(v) == math.Abs(e[name]) && n < name {
			name = n
		}
	}
	return name
}

// TestChangeTruth checks that each event has the effect that it is made for, and that effects add up to the differences of the truth.
func TestChangeTruth(t *testing.T) {
	for name, cfg := range map[string]democluster.Config{
		"default":       {},
		"as the demo":   {Duration: 8 * 24 * time.Hour, Changes: end().Truncate(24 * time.Hour).Add(-24 * time.Hour)},
		"small":         {Nodes: 4, Pods: 40, Duration: 26 * time.Hour, Seed: 3},
		"several teams": {Nodes: 30, Pods: 600, Duration: 30 * time.Hour, Seed: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := plan(t, cfg)
			start, end := c.ChangeWindow()
			got := c.ChangeTruth(start, end)
			if length := end.Sub(start); length > 24*time.Hour || length < time.Hour || start.Add(-length).Before(c.Start()) || end.After(c.End()) {
				t.Errorf("the window is %s to %s", start, end)
			}
			want := map[string]struct {
				effect string
				sign   float64
			}{democluster.PriceEvent: {"price", 1}, democluster.RolloutEvent: {"sizeRequest", 1}, democluster.SpotEvent: {"placement", -1}, democluster.TeamEvent: {"new", 1}}
			if len(got.Events) != len(want) {
				t.Fatalf("%d events", len(got.Events))
			}
			for _, e := range got.Events {
				w := want[e.Kind]
				if largest(e.Effects) != w.effect || e.Effects[w.effect]*w.sign <= 0 {
					t.Errorf("%s has the effects %v", e.Kind, e.Effects)
				}
			}
			checkNamespaces(t, got, [2]*democluster.Truth{c.Truth(got.BaselineStart, start), c.Truth(start, end)})
		})
	}
}

// checkNamespaces compares costs with those of the containers, and the difference with the sum of the effects.
func checkNamespaces(t *testing.T, got *democluster.ChangeTruth, sides [2]*democluster.Truth) {
	t.Helper()
	costs := map[string]*[2]float64{}
	for side, tr := range sides {
		for i := range tr.Containers {
			row := &tr.Containers[i]
			if costs[row.Namespace] == nil {
				costs[row.Namespace] = &[2]float64{}
			}
			costs[row.Namespace][side] += row.CPUCost + row.RAMCost + row.GPUCost + row.PVCost + row.NetworkCost + row.LoadBalancerCost
		}
	}
	for _, row := range got.Namespaces {
		sum := 0.0
		for _, v := range row.Effects {
			sum += v
		}
		if size := 1e-9 * (row.Baseline + row.Cost); math.Abs(sum-(row.Cost-row.Baseline)) > size {
			t.Errorf("%s: effects add up to %v, the change is %v", row.Namespace, sum, row.Cost-row.Baseline)
		}
		want := costs[row.Namespace]
		if want == nil || math.Abs(want[0]-row.Baseline) > 1e-9*want[0] || math.Abs(want[1]-row.Cost) > 1e-9*want[1] {
			t.Errorf("%s: cost %v and %v, want %v", row.Namespace, row.Baseline, row.Cost, want)
		}
		delete(costs, row.Namespace)
	}
	if len(costs) > 0 {
		t.Errorf("no rows of %v", costs)
	}
}
