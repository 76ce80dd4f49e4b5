package main

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// totals are the figures of the results of an allocation answer of one set.
func totals(t *testing.T, url string) map[string]map[string]float64 {
	t.Helper()
	code, body := get(t, url)
	var reply struct{ Data []map[string]map[string]any }
	if err := json.Unmarshal([]byte(body), &reply); err != nil || code != 200 || len(reply.Data) != 1 {
		t.Fatalf("%s answers %d, %v: %.300s", url, code, err, body)
	}
	of := map[string]map[string]float64{}
	for name, fields := range reply.Data[0] {
		of[name] = map[string]float64{}
		for field, v := range fields {
			if number, ok := v.(float64); ok {
				of[name][field] = number
			}
		}
	}
	return of
}

// counterLines are the counters of costs of a server, sorted.
func counterLines(t *testing.T, base string) []string {
	t.Helper()
	_, body := get(t, base+"/metrics")
	lines := regexp.MustCompile(`(?m)^promcost_\w+_cost_total\{.*$`).FindAllString(body, -1)
	slices.Sort(lines)
	return lines
}

// awaitHistory waits until a server has its history.
func awaitHistory(t *testing.T, base string) {
	t.Helper()
	eventually(t, "the history is not filled", func() bool {
		_, body := get(t, base+"/metrics")
		return strings.Contains(body, "\npromcost_store_missing_sets 0\n") && strings.Contains(body, "promcost_namespace_cost_total{") && strings.Contains(body, `promcost_store_sets{length="day"} 2`)
	})
}

func TestServeKeepsHistory(t *testing.T) {
	t.Parallel()
	samples, _ := writeTruth(t, "--demo.end=2026-03-03T04:20:00Z", "--demo.duration=36h", "--demo.nodes=4", "--demo.pods=40")
	kept := t.TempDir()
	computing := spawn(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+samples)
	keeping := spawn(t, "serve", "--storage.path="+kept, "--source=blocks", "--tsdb.path="+samples)
	awaitHistory(t, keeping)
	reading := spawn(t, "serve", "--storage.path="+kept, "--source=none")

	const day = "window=2026-03-02T00:00:00Z,2026-03-03T00:00:00Z&aggregate=namespace&shareTenancyCosts=false"
	want := totals(t, computing+"/model/allocation/compute?resolution=exact&"+day)
	for _, url := range []string{
		keeping + "/model/allocation?" + day, keeping + "/model/allocation/compute?" + day, reading + "/model/allocation?" + day,
		reading + "/model/allocation?accumulate=true&step=1h&" + day,
	} {
		got := totals(t, url)
		if len(got) != len(want) || len(got) < 4 {
			t.Errorf("%s: %d results, want %d", url, len(got), len(want))
		}
		for name, fields := range want {
			for field, v := range fields {
				if diff := math.Abs(got[name][field] - v); diff > 1e-3*math.Abs(v)+1e-9 {
					t.Errorf("%s: %s of %s is %v, want %v", url, field, name, got[name][field], v)
				}
			}
		}
	}
	if code, body := get(t, reading+"/model/allocation/compute?window=2026-03-02T00:00:00Z,2026-03-02T00:30:00Z"); code == 200 || !strings.Contains(body, "--source=none") {
		t.Errorf("a reader computes: %d %s", code, body)
	}

	before := counterLines(t, keeping)
	again := spawn(t, "serve", "--storage.path="+kept, "--source=blocks", "--tsdb.path="+samples)
	awaitHistory(t, again)
	if after := counterLines(t, again); len(before) < 10 || !slices.Equal(before, after) {
		t.Errorf("counters before a restart and after:\n%s\n\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}
