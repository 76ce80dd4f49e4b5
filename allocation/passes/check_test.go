package passes_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestCheckFinds breaks a sound set in one way at a time: Check must say which.
func TestCheckFinds(t *testing.T) {
	cost := allocation.Cost.Of(allocation.CPU)
	for name, tc := range map[string]struct {
		spoil func(m *model)
		want  string
	}{
		"infinite":        {func(m *model) { m.rows[0].Values[allocation.PVCost] = math.Inf(1) }, "pvCost is +Inf, not a finite amount of at least 0"},
		"not a number":    {func(m *model) { m.rows[0].Values[allocation.SharedCost] = math.NaN() }, "sharedCost is NaN"},
		"negative":        {func(m *model) { m.rows[0].Values[allocation.UsageHours.Of(allocation.RAM)] = -1 }, "ramUsageHours is -1"},
		"before it":       {func(m *model) { m.rows[0].Start = testStart.Add(-time.Second) }, "not within the window"},
		"after it":        {func(m *model) { m.rows[0].End = testStart.Add(2 * time.Hour) }, "not within the window"},
		"ends first":      {func(m *model) { m.rows[0].Start, m.rows[0].End = m.rows[0].End, m.rows[0].Start }, "not within the window"},
		"bounds":          {func(m *model) { m.rows[0].Values[allocation.MostSeconds] = 0 }, "more than the 0 of mostSeconds"},
		"runs too long":   {func(m *model) { m.rows[0].Values[allocation.RunningSeconds] = 4000 }, "one container runs for 4000 s in a window of 1h0m0s"},
		"idle in cost":    {func(m *model) { m.rows[0].Values[allocation.CostIdle.Of(allocation.CPU)] = 99 }, "cpuCostIdle is 99, more than the cost of"},
		"lost on a node":  {func(m *model) { m.rows[row(m, "n1")].Values[cost] = 0 }, `cluster "c1" node "n1": cpu allocations of`},
		"found on a node": {func(m *model) { m.rows[row(m, "n1")].Values[cost] += 9 }, `cluster "c1" node "n1": cpu allocations of`},
		"a bit too much":  {func(m *model) { m.rows[row(m, "n1")].Values[cost] += 1e-7 }, `cluster "c1": cpu allocations of`},
		"no residual":     {func(m *model) { m.residuals = nil }, `cluster "c1" node "": cpu allocations of`},
		"negative idle":   {func(m *model) { m.nodes[0].Idle[allocation.GPU] = -1 }, `gpu idle is -1`},
		"idle over cost":  {func(m *model) { m.nodes[0].Idle[allocation.GPU] = 1e6 }, `gpu idle is 1e+06 of a cost of`},
		"lost volume":     {func(m *model) { m.disks[0].Cost++ }, "volume cost of rows is"},
		"found volume":    {func(m *model) { m.rows[share(m)].Values[allocation.PVCost]++ }, "volume cost of rows is"},
		"lost balancer":   {func(m *model) { m.balancers[0].Cost++ }, "load balancer cost of rows is"},
		"lost network":    {func(m *model) { m.networks[0].CrossRegion++ }, "network cost of rows is"},
		"shares of less":  {func(m *model) { m.rows[share(m)].volumes[0].cost /= 2 }, "pvCost is"},
		"shares of bytes": {func(m *model) { m.rows[share(m)].volumes[0].amount *= 2 }, "pvByteHours is"},
		"shared as built": {func(m *model) { m.rows[0].Values[allocation.SharedCost] = 1 }, "rows as built have shared cost 1 and external cost 0"},
		"node outside":    {func(m *model) { m.nodes[0].End = testStart.Add(2 * time.Hour) }, "lives from"},
	} {
		t.Run(name, func(t *testing.T) {
			m := randomModels(rand.New(rand.NewPCG(7, 8)), 1, 60)[0]
			if err := passes.Check(m.set(allocation.NewDict())); err != nil {
				t.Fatalf("sound set: %v", err)
			}
			tc.spoil(&m)
			err := passes.Check(m.set(allocation.NewDict()))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "check set of 2026-03-02T00:00:00Z,2026-03-02T01:00:00Z: ") {
				t.Errorf("the set is not named: %v", err)
			}
		})
	}
}

// row is the first row of cluster c1 on a node.
func row(m *model, node string) int {
	for i := range m.rows {
		if m.rows[i].Text[allocation.Cluster] == "c1" && m.rows[i].Text[allocation.NodeName] == node && m.rows[i].Values[allocation.Cost.Of(allocation.CPU)] > 0.01 {
			return i
		}
	}
	panic("BUG: no row on " + node)
}

// share is the first row that has volumes.
func share(m *model) int {
	return slices.IndexFunc(m.rows, func(r modelRow) bool { return len(r.volumes) > 0 })
}

// TestApplyChecks verifies that with Check set, a broken set is found at the pass that broke it.
func TestApplyChecks(t *testing.T) {
	m := smallModel()
	m.disks[0].Cost++
	sets := setsOf([]model{m})
	if _, err := passes.Apply(sets, passes.Options{}); err != nil {
		t.Errorf("without checks: %v", err)
	}
	_, err := passes.Apply(sets, passes.Options{Check: true})
	if want := `after pass build: check set of 2026-03-02T00:00:00Z,2026-03-02T02:00:00Z: cluster "c1": volume cost of rows is 2, of assets 3`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestCheckAfterPasses breaks an asset of a set that passes made, one at a time: Check must say which.
func TestCheckAfterPasses(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(s *allocation.Set)
		want  string
	}{
		"node":          {func(s *allocation.Set) { s.Nodes[0].Cost[allocation.GPU]++ }, "all nodes: gpu cost of rows is"},
		"adjustment":    {func(s *allocation.Set) { s.Nodes[0].Adjustment[allocation.RAM]++ }, "all nodes: ram cost of rows is"},
		"volume":        {func(s *allocation.Set) { s.Disks[0].Cost++ }, "all volumes: volume cost of rows is"},
		"load balancer": {func(s *allocation.Set) { s.Balancers[0].Adjustment++ }, "all load balancers: load balancer cost of rows is"},
		"network":       {func(s *allocation.Set) { s.Networks[0].CrossZone++ }, "all networks: network cost of rows is"},
		"management":    {func(s *allocation.Set) { s.Management[0].Cost++ }, "all overhead: shared cost of rows is"},
		"local disk":    {func(s *allocation.Set) { s.Disks[1].Cost++ }, "all overhead: shared cost of rows is"},
	} {
		t.Run(name, func(t *testing.T) {
			q := question{filter: inNamespace("web"), shares: []naiveFilter{inNamespace("shop")}}
			q.Idle, q.ShareTenancy, q.External, q.SharedCost = true, true, true, 730
			s := apply(t, setsOf([]model{smallModel()}), q.ask())[0]
			tc.spoil(s)
			if err := passes.Check(s); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestCheckTotals verifies that the rows of a set made by passes must cost what all nodes together cost.
func TestCheckTotals(t *testing.T) {
	m := randomModels(rand.New(rand.NewPCG(7, 8)), 1, 60)[0]
	for name, idle := range map[string]bool{"with idle": true, "without idle": false} {
		t.Run(name, func(t *testing.T) {
			s := apply(t, []*allocation.Set{m.set(allocation.NewDict())}, passes.Options{Aggregate: keys(t, "namespace"), Idle: idle})[0]
			nodes := s.Nodes
			s.Nodes = append([]allocation.Node{}, nodes...)
			s.Nodes[0].Cost[allocation.RAM]++
			s.Nodes[0].Idle[allocation.RAM] += 0.5
			err := passes.Check(s)
			for _, want := range []string{"all nodes: ram cost of rows is"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			if want := "all nodes: ram idle in rows is"; idle && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// TestCheckIsBrief verifies that a set with many faults gives a short error.
func TestCheckIsBrief(t *testing.T) {
	m := randomModels(rand.New(rand.NewPCG(7, 8)), 1, 500)[0]
	for i := range m.rows {
		m.rows[i].Values[allocation.PVCost] = -1
	}
	err := passes.Check(m.set(allocation.NewDict()))
	if n := strings.Count(err.Error(), "\n") + 1; n != 10 {
		t.Errorf("got %d lines, want 10:\n%v", n, err)
	}
}
