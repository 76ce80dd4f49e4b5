package build_test

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// defaultItems are rates under which everything besides nodes has the built-in price, and nothing changes.
type defaultItems struct{}

func (defaultItems) Item(i rates.Item, at time.Time) rates.Rate {
	return pricing.Default().Item(i, at)
}

func (defaultItems) Changes(time.Time, time.Time) []time.Time { return nil }

// TestPricesThatChange computes two hours from 10:00 to 12:00 in which the price of a core-hour changes from 1 to 3 by the
// sheet, at 10:45 of the node's 4 cores, of which the pod has 1.
func TestPricesThatChange(t *testing.T) {
	const sheet = `
defaults: {ramPerGiBHour: 0, gpuPerDeviceHour: 0, spotCPUPerCoreHour: 0.5, spotRAMPerGiBHour: 0}
nodes:
- {to: 2026-03-02T10:45:00Z, spot: false, cpuPerCoreHour: 1}
- {from: 2026-03-02T11:45:00+01:00, spot: false, cpuPerCoreHour: 3}
`
	for _, tt := range []struct {
		name      string
		sheet     string
		change    map[string]*timeline.Points
		spot      bool // from 11:00 on
		pod, node float64
		warning   string
	}{
		{name: "inside the window", sheet: sheet, pod: .75 + 1.25*3, node: 4 * (.75 + 1.25*3)},
		{name: "a price of the node's own wins", sheet: sheet, change: map[string]*timeline.Points{"price": minutes(2, 1, 121)}, pod: 4, node: 16},
		{
			name: "spot from 11:00", sheet: sheet, spot: true, pod: .75 + .25*3 + .5, node: 4 * (.75 + .25*3 + .5),
		},
		{
			name: "node unknown", sheet: sheet, change: map[string]*timeline.Points{"node": nil, "created": nil, "capacity": nil},
			pod: .75 + 1.25*3, warning: "outside of any known node's life",
		},
		{
			name: "inside a cell", sheet: strings.NewReplacer("10:45:00", "10:45:18", "11:45:00", "11:45:18").Replace(sheet),
			pod: .755 + 1.245*3, node: 4 * (.755 + 1.245*3),
		},
		{
			name: "at the window's start", sheet: strings.NewReplacer("10:45", "10:00", "11:45", "11:00").Replace(sheet), pod: 6, node: 24,
		},
		{
			name: "at the window's end", sheet: strings.NewReplacer("10:45", "12:00", "11:45", "13:00").Replace(sheet), pod: 2, node: 8,
		},
		{
			name:  "built-in prices after the rule has ended",
			sheet: "defaults: {ramPerGiBHour: 0}\nnodes: [{to: 2026-03-02T10:45:00Z, cpuPerCoreHour: 1}]",
			pod:   .75 + 1.25*.031611, node: 4 * (.75 + 1.25*.031611), warning: "lacks a price",
		},
	} {
		for _, exact := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: "/exact"}[exact], func(t *testing.T) {
				s, err := pricing.Parse("prices.yaml", []byte(tt.sheet))
				if err != nil {
					t.Fatal(err)
				}
				inputs := caseSignals()
				delete(inputs, "price")
				maps.Copy(inputs, tt.change)
				if first := map[bool]int{false: 61, true: 60}[exact]; tt.spot { // a sample is the end of its cell, or the start of what it says
					inputs["spot"] = join(minutes(0, 0, first-1), minutes(1, first, 121))
				}
				set := buildCase(t, exact, s, inputs, nil)
				pod, node := 0.0, 0.0
				for row := range set.Len() {
					if set.Special(row) == allocation.Workload {
						pod += set.Value(allocation.Cost.Of(allocation.CPU), row)
					}
				}
				for i := range set.Nodes {
					n := &set.Nodes[i]
					node += n.Cost[allocation.CPU]
					if sum := pod + n.Idle[allocation.CPU]; math.Abs(sum-n.Cost[allocation.CPU]) > 1e-9*sum {
						t.Errorf("the pod's %v and idle %v are not the node's %v", pod, n.Idle[allocation.CPU], n.Cost[allocation.CPU])
					}
				}
				if math.Abs(pod-tt.pod) > 1e-9 || math.Abs(node-tt.node) > 1e-9 {
					t.Errorf("pod %v, node %v; want %v, %v", pod, node, tt.pod, tt.node)
				}
				if text := strings.Join(set.Warnings, "\n"); !strings.Contains(text, tt.warning) || tt.warning == "" && text != "" {
					t.Errorf("warnings %q, want %q", text, tt.warning)
				}
			})
		}
	}
}
