package democluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/promquery/democluster"
)

// TestRequests gives containers other requests: they are exported and charged, limits are no lower, and all else is as without.
func TestRequests(t *testing.T) {
	cfg := democluster.Config{Nodes: 4, Pods: 40, Duration: 6 * time.Hour}
	of := func(namespace, controller, container string) democluster.ContainerOf {
		return democluster.ContainerOf{Namespace: namespace, ControllerKind: "deployment", Controller: controller, Container: container}
	}
	before := plan(t, cfg)
	cfg.Requests = map[democluster.ContainerOf]democluster.Requested{
		of("payments", "ledger-writer", "ledger"): {Cores: 5, Bytes: 1 << 34}, of("search", "cache-warmer", "warmer"): {Cores: 0.05}, of("search", "query-frontend", "query"): {Bytes: 32 << 20},
	}
	after := plan(t, cfg)
	was, is := before.Truth(before.Start(), before.End()), after.Truth(after.Start(), after.End())
	same := cmpopts.IgnoreFields(democluster.ContainerTruth{}, "CPUCoreHours", "CPURequestCoreHours", "RAMByteHours", "RAMRequestByteHours", "CPUCost", "RAMCost")
	seen := map[democluster.ContainerOf]int{}
	for i := range is.Containers {
		x, y := &is.Containers[i], was.Containers[i]
		name, hours := democluster.ContainerOf{Namespace: x.Namespace, ControllerKind: x.ControllerKind, Controller: x.Controller, Container: x.Container}, x.RunningSeconds/3600
		want, changed := cfg.Requests[name]
		if !changed {
			if diff := cmp.Diff(&y, x); diff != "" {
				t.Fatalf("%v (-before +after):\n%s", name, diff)
			}
			continue
		}
		seen[name]++
		if diff := cmp.Diff(&y, x, same); diff != "" {
			t.Fatalf("%v (-before +after):\n%s", name, diff)
		}
		for _, r := range [...][3]float64{{want.Cores, x.CPURequestCoreHours, y.CPURequestCoreHours}, {want.Bytes, x.RAMRequestByteHours, y.RAMRequestByteHours}} {
			if r[0] > 0 && relative(r[1], r[0]*hours) > 1e-9 || r[0] == 0 && r[1] != r[2] {
				t.Errorf("%v requests %v, before %v, want %v", name, r[1]/hours, r[2]/hours, r[0])
			}
		}
	}
	if len(seen) != len(cfg.Requests) {
		t.Errorf("of %v only %v were seen", cfg.Requests, seen)
	}
	db := openBlocks(t, writeBlocks(t, after, after.End().Add(-time.Hour), after.End()))
	for _, name := range []string{"kube_pod_container_resource_requests", "kube_pod_container_resource_limits"} { // the limit was lower
		series := read(t, db, after.Start(), after.End(), "__name__", name, "container", "ledger", "resource", "cpu")
		for labels, points := range series {
			if points[0].v != 5 {
				t.Errorf("%s is %v, want 5", labels, points[0].v)
			}
		}
		if len(series) == 0 {
			t.Errorf("%s is not exported", name)
		}
	}
}
