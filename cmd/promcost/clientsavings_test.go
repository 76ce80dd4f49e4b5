package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// checkPrediction wants what kubectl-cost decodes: a list without an envelope, of workloads by kind, each with three rates whose numbers add up.
func checkPrediction(t *testing.T, body []byte) {
	type rate struct {
		TotalMonthlyRate, CPUMonthlyRate, RAMMonthlyRate, GPUMonthlyRate *float64
		MonthlyCPUCoreHours, MonthlyRAMByteHours, MonthlyGPUHours        *float64
	}
	var rows []struct {
		Namespace, ControllerKind, ControllerName string
		CostBefore, CostAfter, CostChange         rate
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		t.Fatalf("%v: %.400s", err, body)
	}
	checkSome(t, rows)
	for _, row := range rows {
		if row.Namespace == "" || row.ControllerKind == "" || row.ControllerName == "" {
			t.Errorf("%+v", row)
		}
		for _, r := range []rate{row.CostBefore, row.CostAfter, row.CostChange} {
			if r.TotalMonthlyRate == nil || math.Abs(*r.TotalMonthlyRate-*r.CPUMonthlyRate-*r.RAMMonthlyRate-*r.GPUMonthlyRate) > 1e-9 || r.MonthlyCPUCoreHours == nil || r.MonthlyRAMByteHours == nil || r.MonthlyGPUHours == nil {
				t.Errorf("%s %s: %+v", row.Namespace, row.ControllerName, r)
			}
		}
		if change := *row.CostAfter.TotalMonthlyRate - *row.CostBefore.TotalMonthlyRate; math.Abs(change-*row.CostChange.TotalMonthlyRate) > 1e-9 || *row.CostAfter.TotalMonthlyRate <= 0 {
			t.Errorf("%s %s: the change is %v, want %v", row.Namespace, row.ControllerName, *row.CostChange.TotalMonthlyRate, change)
		}
	}
}

// checkSavings wants recommended requests in one of Kubecost's shapes: the list alone, as kubectl-cost reads it, or with a total, as Kubecost's page and MCP server do.
func checkSavings(t *testing.T, body []byte) {
	type savings struct{ CPU, Memory *float64 }
	type recommendation struct {
		ClusterID, Namespace, ControllerKind, ControllerName, ContainerName string
		RecommendedRequest, LatestKnownRequest                              map[string]string
		MonthlySavings, CurrentEfficiency                                   savings
		NormalizedRecommendedRequest                                        struct{ CPUInMilliCores, MemoryInMiB float64 }
	}
	var list []recommendation
	if body[0] == '[' {
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatal(err)
		}
	} else {
		var whole struct {
			TotalMonthlySavings *float64
			Count               int
			Recommendations     []recommendation
		}
		if err := json.Unmarshal(body, &whole); err != nil || whole.TotalMonthlySavings == nil || whole.Count < len(whole.Recommendations) {
			t.Fatalf("%v: %.400s", err, body)
		}
		list = whole.Recommendations
	}
	checkSome(t, list)
	for _, r := range list {
		if r.ClusterID == "" || r.Namespace == "" || r.ControllerName == "" || r.ContainerName == "" || !strings.HasSuffix(r.RecommendedRequest["cpu"], "m") ||
			!strings.HasSuffix(r.LatestKnownRequest["memory"], "Mi") || r.MonthlySavings.CPU == nil || r.CurrentEfficiency.Memory == nil || r.NormalizedRecommendedRequest.CPUInMilliCores < 10 {
			t.Errorf("a recommendation lacks something: %+v", r)
		}
	}
}

// checkSavingsOverview wants the parts that Kubecost's MCP server lists, each with its saving and its time.
func checkSavingsOverview(t *testing.T, body []byte) {
	type part struct {
		SavingsPerMonth *float64
		LastRefresh     string
	}
	data := dataOf[struct {
		Cluster, Profile                                             string
		ContainerRequestSizing, AbandonedWorkloads, UnclaimedVolumes part
	}](t, body)
	if data.Cluster == "" || data.Profile == "" {
		t.Errorf("of no cluster: %+v", data)
	}
	for _, p := range []part{data.ContainerRequestSizing, data.AbandonedWorkloads, data.UnclaimedVolumes} {
		if p.SavingsPerMonth == nil || p.LastRefresh == "" {
			t.Errorf("a part lacks something: %+v", data)
		}
	}
}

// checkAbandoned wants what Kubecost's MCP server reads: a list without an envelope, of pods with their owners and numbers. The demo has none.
func checkAbandoned(t *testing.T, body []byte) {
	var list []struct {
		Pod, Namespace, Node, ClusterID             string
		Owners                                      []struct{ Name, Kind string }
		IngressBytesPerSecond, EgressBytesPerSecond *float64
		Allocation                                  struct{ CPUCores, RAMBytes *float64 }
		MonthlySavings                              *float64
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatalf("%v: %.400s", err, body)
	}
	if list == nil {
		t.Errorf("no list: %s", body)
	}
	for _, p := range list {
		if p.Pod == "" || p.Namespace == "" || p.ClusterID == "" || p.IngressBytesPerSecond == nil || p.EgressBytesPerSecond == nil || p.Allocation.CPUCores == nil || p.Allocation.RAMBytes == nil || p.MonthlySavings == nil {
			t.Errorf("a pod lacks something: %+v", p)
		}
	}
}

// checkUnclaimed wants volumes with their costs, and where they are.
func checkUnclaimed(t *testing.T, body []byte) {
	data := dataOf[struct {
		MonthlyCost *float64
		Volumes     []struct {
			VolumeName  string
			MonthlyCost *float64
			Properties  struct{ Cluster, Name string }
		}
	}](t, body)
	checkSome(t, data.Volumes)
	for _, v := range data.Volumes {
		if v.VolumeName == "" || v.MonthlyCost == nil || v.Properties.Cluster == "" || v.Properties.Name == "" {
			t.Errorf("a volume lacks something: %+v", v)
		}
	}
	if data.MonthlyCost == nil {
		t.Error("no sum")
	}
}
