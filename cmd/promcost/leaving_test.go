package main

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestLeaving measures, with -soak, that the processor is free 200 ms after a client has left, and after --compute.timeout, at
// whatever a computation was.
func TestLeaving(t *testing.T) {
	if !soak.On() {
		t.Skip("it measures time: -soak runs it")
	}
	blocks, _ := writeTruth(t, "--demo.end=2026-03-04T00:00:00Z", "--demo.duration=3d", "--demo.nodes=40", "--demo.pods=1000")
	cpu := func(base string) float64 {
		v, err := strconv.ParseFloat(metric(t, base, "process_cpu_seconds_total"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	// free checks that, from 200 ms after now on, the process only answers how much it has done.
	free := func(what, base string) {
		t.Helper()
		time.Sleep(200 * time.Millisecond)
		before := cpu(base)
		time.Sleep(time.Second)
		if used := cpu(base) - before; used > 0.1 {
			t.Errorf("%s: it goes on for %.2f s of a processor", what, used)
		}
	}
	ready := func(base string) func() bool {
		return func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK }
	}
	serve := []string{"serve", "--source=blocks", "--tsdb.path=" + blocks, "--storage.path="}
	patient := spawn(t, serve...)
	eventually(t, "it does not get ready", ready(patient))
	hurried := spawn(t, append(serve, "--compute.timeout=1s")...)
	eventually(t, "it does not get ready", ready(hurried))
	for _, path := range []string{
		"/model/allocation/compute?window=1970-01-01T00:00:00Z,2026-03-04T00:00:00Z",
		"/model/allocation/compute?window=2026-03-01T00:00:00Z,2026-03-04T00:00:00Z&step=1m",
		"/model/allocation/compute?window=2026-03-01T00:00:00Z,2026-03-04T00:00:00Z&step=10m&accumulate=true&aggregate=pod",
		"/v2/allocation?window=2026-03-01T00:00:00Z,2026-03-04T00:00:00Z&step=30m",
		"/model/assets?window=1970-01-01T00:00:00Z,2026-03-04T00:00:00Z",
		"/api/v1/query_range?query=promcost_container_hourly_cost&start=1772323200&end=1772582400&step=60",
	} {
		for _, after := range []time.Duration{200 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second} {
			_ = leaveAfter(t.Context(), patient+path, after)
			free("left after "+after.String()+": "+path, patient)
		}
		_ = leaveAfter(t.Context(), hurried+path, time.Minute)
		free("after --compute.timeout: "+path, hurried)
	}
}
