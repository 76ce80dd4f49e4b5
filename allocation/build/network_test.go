package build_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"

	"github.com/promcost/promcost/allocation/signals"
)

// TestNetworkWithoutPrices reconciles the traffic of a cluster if only a bill says what it costs.
func TestNetworkWithoutPrices(t *testing.T) {
	s := buildGiven(t, allocation.Query{Resolution: time.Minute}, []given{{signal: signals.PodTransmitted, key: "c/ns/p/uid/eth0/", points: counted(gib, 1, 121)}})[0]
	if len(s.Networks) != 1 || s.Networks[0].TotalCost() != 0 {
		t.Fatalf("networks %+v, want one that costs nothing", s.Networks)
	}
	billed, err := passes.Reconcile(s, passes.Adjustments{Networks: map[string]float64{"c": 3}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := passes.Apply([]*allocation.Set{billed}, passes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	compareRows(t, got, map[string]float64{"p/main": 3}, 1e-9, allocation.NetworkCostAdjustment)
}
