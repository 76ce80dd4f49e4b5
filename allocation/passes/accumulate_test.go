package passes_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestAccumulatePeriods verifies which sets are summed, and over which windows.
func TestAccumulatePeriods(t *testing.T) {
	dict := allocation.NewDict()
	var sets []*allocation.Set
	for h := range 60 { // from Saturday noon
		start := time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC).Add(time.Duration(h) * time.Hour)
		s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, dict)
		r := allocation.Row{Start: start, End: start.Add(time.Hour)}
		r.Values[allocation.UsageHours.Of(allocation.CPU)] = 1
		s.Append(&r)
		sets = append(sets, s)
	}
	for name, tc := range map[string]struct {
		period allocation.Period
		hours  []float64
		starts []string
	}{
		"all":     {allocation.All, []float64{60}, []string{"2026-02-28T12"}},
		"day":     {allocation.Day, []float64{12, 24, 24}, []string{"2026-02-28T00", "2026-03-01T00", "2026-03-02T00"}},
		"week":    {allocation.Week, []float64{12, 48}, []string{"2026-02-22T00", "2026-03-01T00"}},
		"month":   {allocation.Month, []float64{12, 48}, []string{"2026-02-01T00", "2026-03-01T00"}},
		"quarter": {allocation.Quarter, []float64{60}, []string{"2026-01-01T00"}},
	} {
		t.Run(name, func(t *testing.T) {
			var hours []float64
			var starts []string
			for _, s := range apply(t, sets, passes.Options{Accumulate: tc.period}) {
				hours = append(hours, s.Value(allocation.UsageHours.Of(allocation.CPU), 0))
				starts = append(starts, s.Window.Start.Format("2006-01-02T15"))
			}
			if diff := cmp.Diff([]any{tc.hours, tc.starts}, []any{hours, starts}); diff != "" {
				t.Errorf("hours and starts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAccumulateOtherAssets verifies that assets of every type are summed by their identity.
func TestAccumulateOtherAssets(t *testing.T) {
	dict := allocation.NewDict()
	var sets []*allocation.Set
	for h := range 2 {
		from := testStart.Add(time.Duration(h) * time.Hour)
		to := from.Add(time.Hour)
		s := allocation.NewSet(allocation.Window{Start: from, End: to}, dict)
		use := [2]float64{5, math.NaN()} // it is unknown in the second hour
		s.Disks = []allocation.Disk{
			{Cluster: "c1", Name: "b", Start: from, End: to, ByteHours: 8, UsedByteHours: use[h], UsedMax: use[h]},
			{Cluster: "c1", Name: "c", Start: from, End: to, ByteHours: 8, UsedByteHours: use[1-h], UsedMax: use[1-h]},
			{Cluster: "c1", Name: "n1", Local: true, Start: from, End: to, ByteHours: 8, UsedByteHours: math.NaN(), UsedMax: math.NaN()},
			{Cluster: "c1", Name: "a", Start: from, End: to, ByteHours: 4, UsedByteHours: 2, UsedMax: float64(3 - h), Adjustment: 1},
		}
		s.Balancers = []allocation.LoadBalancer{{Cluster: "c1", Namespace: "n", Service: "s", Start: from, End: to, Hours: 1, IP: []string{"old", "new"}[h]}}
		s.Networks = []allocation.Network{{Cluster: "c1", Start: from, End: to, Adjustment: 2}}
		s.Management = []allocation.Management{{Cluster: "c1", Start: from, End: to, Cost: 3}}
		s.Cloud = []allocation.CloudCost{{Name: "q", Start: from, End: to, Cost: 1, Credit: -0.5}}
		s.Nodes = []allocation.Node{{Cluster: "c1", Name: "n1", Start: from, End: to, Adjustment: [allocation.NumResources]float64{1, 1, 1}}}
		s.Nodes[0].Hours[allocation.CPU] = float64(1 + 2*h)
		s.Nodes[0].CPUBreakdown = allocation.Breakdown{Idle: float64(1 - h), User: float64(h)}
		if h == 0 {
			s.Nodes[0].RAMBreakdown = allocation.Breakdown{Idle: 1}
		}
		sets = append(sets, s)
	}
	got := unchecked(t, passes.Options{Accumulate: allocation.All}, sets...)[0]
	from, to := testStart, testStart.Add(2*time.Hour)
	want := allocation.Header{
		Disks: []allocation.Disk{
			{Cluster: "c1", Name: "a", Start: from, End: to, ByteHours: 8, UsedByteHours: 4, UsedMax: 3, Adjustment: 2},
			{Cluster: "c1", Name: "b", Start: from, End: to, ByteHours: 16, UsedByteHours: 5, UsedMax: 5},
			{Cluster: "c1", Name: "c", Start: from, End: to, ByteHours: 16, UsedByteHours: 5, UsedMax: 5},
			{Cluster: "c1", Name: "n1", Local: true, Start: from, End: to, ByteHours: 16, UsedByteHours: math.NaN(), UsedMax: math.NaN()},
		},
		Balancers:  []allocation.LoadBalancer{{Cluster: "c1", Namespace: "n", Service: "s", Start: from, End: to, Hours: 2, IP: "new"}},
		Networks:   []allocation.Network{{Cluster: "c1", Start: from, End: to, Adjustment: 4}},
		Management: []allocation.Management{{Cluster: "c1", Start: from, End: to, Cost: 6}},
		Cloud:      []allocation.CloudCost{{Name: "q", Start: from, End: to, Cost: 2, Credit: -1}},
		Nodes: []allocation.Node{{
			Cluster: "c1", Name: "n1", Start: from, End: to, Hours: [allocation.NumResources]float64{4}, Adjustment: [allocation.NumResources]float64{2, 2, 2},
			CPUBreakdown: allocation.Breakdown{Idle: 0.25, User: 0.75}, RAMBreakdown: allocation.Breakdown{Idle: 1},
		}},
	}
	for what, pair := range map[string][2]any{
		"disks": {want.Disks, got.Disks}, "load balancers": {want.Balancers, got.Balancers}, "networks": {want.Networks, got.Networks},
		"management": {want.Management, got.Management}, "cloud": {want.Cloud, got.Cloud}, "nodes": {want.Nodes, got.Nodes},
	} {
		if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestSpecialNames verifies the names of special rows under each key.
func TestSpecialNames(t *testing.T) {
	w := allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}
	u, none := allocation.UnmountedName, allocation.UnallocatedName
	rows := map[string]allocation.Row{
		"volume":   {Special: allocation.Unmounted, Text: [allocation.Services]string{"c", "", u, u, "", u}},
		"claim":    {Special: allocation.Unmounted, Text: [allocation.Services]string{"c", "", "ns", "ns-unmounted-pvcs", "", u}},
		"balancer": {Special: allocation.Unallocated, Text: [allocation.Services]string{"c", "", "ns", none, "", none}},
	}
	for aggregate, want := range map[string]map[string]string{
		"":               {"volume": "c//" + u + "/" + u + "/" + u, "claim": "c//ns/ns-unmounted-pvcs/" + u, "balancer": "c//ns/" + none + "/" + none},
		"cluster":        {"volume": "c", "claim": "c", "balancer": "c"},
		"namespace":      {"volume": u, "claim": "ns", "balancer": "ns"},
		"node":           {"volume": none, "claim": none, "balancer": none},
		"pod":            {"volume": u, "claim": "ns-unmounted-pvcs", "balancer": none},
		"container":      {"volume": u, "claim": u, "balancer": none},
		"controllerKind": {"volume": none, "claim": none, "balancer": none},
		"controller":     {"volume": none, "claim": none, "balancer": none},
		"deployment":     {"volume": none, "claim": none, "balancer": none},
		"service":        {"volume": none, "claim": none, "balancer": none},
		"label:app":      {"volume": none, "claim": none, "balancer": none},
		"team":           {"volume": none, "claim": none, "balancer": none},
		"all":            {"volume": "", "claim": "", "balancer": ""},
		"namespace,team": {"volume": u + "/" + none, "claim": "ns/" + none, "balancer": "ns/" + none},
	} {
		for kind, r := range rows {
			s := allocation.NewSet(w, allocation.NewDict())
			r.Start, r.End = w.Start, w.End
			s.Append(&r)
			if got := apply(t, []*allocation.Set{s}, passes.Options{Aggregate: keys(t, aggregate)})[0].Name(0); got != want[kind] {
				t.Errorf("by %q a %s is %q, want %q", aggregate, kind, got, want[kind])
			}
		}
	}
}
