package main

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// TestTruthScheduled compares what charging from when pods were scheduled adds with what their requests take until they run.
func TestTruthScheduled(t *testing.T) {
	t.Parallel()
	dir, truth := writeTruth(t, "--demo.end=2026-03-03T12:00:00Z", "--demo.duration=14h", "--demo.seed=5")
	running := spawn(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir)
	scheduled := spawn(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir, "--charge-from=scheduled")
	want := rows{}
	for i := range truth.Pending {
		x := &truth.Pending[i]
		name := strings.Join([]string{x.Cluster, x.Node, x.Namespace, x.Pod, x.Container}, "/")
		want.at(name).add(priced(x.CPUCost, x.RAMCost, x.GPUCost, x.End.Sub(x.Start)))
	}
	before, _ := allocations(t, running, truth.Start, truth.End, unshared+"exact")
	after, _ := allocations(t, scheduled, truth.Start, truth.End, unshared+"exact")
	for resolution := range truthGrids() {
		got, _ := allocations(t, scheduled, truth.Start, truth.End, unshared+resolution)
		checkConserved(t, got, listedAssets(t, scheduled, truth.Start, truth.End, unshared+resolution))
	}
	compared := 0
	for name, a := range after {
		b, w := before.at(name), want.at(name)
		if b.figures["cpuCoreRequestHours"] == 0 || name == "__idle__" {
			continue // best effort, or never seen by metrics of requests
		}
		if w.life >= 4*time.Minute {
			compared++
		}
		for _, figure := range []string{"cpuCost", "ramCost", "gpuCost"} {
			// Times are told to the second; of native sidecars nobody says when they start but a scrape, 30s late at most.
			slack := a.figures[figure] / a.figures["minutes"] * 0.5
			if got := a.figures[figure] - b.figures[figure]; math.Abs(got-w.figures[figure]) > slack {
				t.Errorf("%s: %s: waiting adds %g, want %g, ± %g", name, figure, got, w.figures[figure], slack)
			}
		}
	}
	if compared < 3 {
		t.Errorf("only %d containers compared that waited for 4m", compared)
	}
}

// TestTruthDays compares the days of a window in which the clocks are set forward: one of 24 and one of 23 hours. Bounds are those
// of containers that ran in both.
func TestTruthDays(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 30, 6, 0, 0, 0, time.UTC)
	dir, _ := writeTruth(t, "--demo.end="+end.Format(time.RFC3339), "--demo.duration=60h", "--demo.seed=4")
	cluster, err := democluster.New(changingYesterday(democluster.Config{End: end, Duration: 60 * time.Hour, Seed: 4}, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	base := spawn(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir, "--timezone=Europe/Berlin")
	var reply struct{ Data []map[string]map[string]any }
	const window = "window=2026-03-28T00:00:00%2B01:00,2026-03-30T00:00:00%2B02:00"
	code, body := get(t, base+"/model/allocation?"+window+"&step=1d&"+unshared+"exact")
	if code != 200 {
		t.Fatalf("%d %.500s", code, body)
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Data) != 2 {
		t.Fatalf("%d sets, want 2", len(reply.Data))
	}
	for i, hours := range []float64{24, 23} {
		from, to := time.Date(2026, 3, 28+i, 0, 0, 0, 0, berlin), time.Date(2026, 3, 29+i, 0, 0, 0, 0, berlin)
		if to.Sub(from).Hours() != hours {
			t.Fatalf("the day from %v has %v", from, to.Sub(from))
		}
		got := rows{}
		for name, x := range reply.Data[i] {
			got.at(name).flatten("", x)
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if start := got[name].texts["window/start"]; start != from.Format(time.RFC3339) || got[name].texts["window/end"] != to.Format(time.RFC3339) {
				t.Fatalf("%s: window from %s to %s, want %v", name, start, got[name].texts["window/end"], from)
			}
			addHours(got[name])
		}
		compareAllocations(t, got, trueAllocations(cluster.Truth(from, to), 30*time.Second), true)
	}
}
