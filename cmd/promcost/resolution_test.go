package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestComputeResolution fills histories from a store that has only the query API, at resolutions that flags give: stored hours, answers from
// them and metrics say that resolution, questions for the same are answered from them, and a coarse one reads less.
func TestComputeResolution(t *testing.T) {
	t.Parallel()
	blocks, _ := writeTruth(t, "--demo.end=2026-03-02T06:20:00Z", "--demo.duration=5h", "--demo.nodes=4", "--demo.pods=40", "--demo.scrape-interval=1m")
	store := promtest.StartVictoria(t, blocks, true)
	clock := func() time.Time { return time.Date(2026, 3, 2, 6, 15, 0, 0, time.UTC) }
	read := map[string]float64{}
	for _, tc := range []struct{ flags, resolution, seconds, least, most string }{
		{"", "1m", "60", "0.98", "1"},
		{"--compute.resolution=5m", "5m", "300", "0.92", "1"},
		{"--compute.max-error=0.5 --compute.min-duration=20m", "10m", "600", "0.83", "1"},
		{"--compute.resolution=exact", "exact", "0", "0.983", "1.017"},
	} {
		t.Run(tc.resolution, func(t *testing.T) {
			dir := t.TempDir()
			svc, url, end := serveArgsByClock(t, clock, append([]string{"--prometheus.url=" + store, "--source=query", "--storage.path=" + dir, "--history.grace=10m"}, strings.Fields(tc.flags)...)...)
			eventually(t, "it does not keep its hours", func() bool {
				return metric(t, url, `promcost_store_sets\{length="hour"\}`) == "5" && metric(t, url, "promcost_resolution_seconds") != ""
			})
			read[tc.resolution] = float64(svc.samples.Load())
			for name, want := range map[string]string{
				"promcost_resolution_seconds": tc.seconds, `promcost_error_bound_ratio\{bound="lower",running="1h"\}`: tc.least,
				`promcost_error_bound_ratio\{bound="upper",running="1h"\}`: tc.most,
			} {
				if got := metric(t, url, name); got != want {
					t.Errorf("%s is %s, want %s", name, got, want)
				}
			}
			const window = "?window=2026-03-02T02:00:00Z,2026-03-02T06:00:00Z&aggregate=namespace&accumulate=true"
			for _, path := range []string{"/model/allocation" + window, "/model/allocation/compute" + window + "&resolution=" + tc.resolution} {
				var answer struct{ Resolution string }
				if code, body := get(t, url+path); code != http.StatusOK || json.Unmarshal([]byte(body), &answer) != nil || answer.Resolution != tc.resolution {
					t.Errorf("%s: %d, resolution %q: %.300s", path, code, answer.Resolution, body)
				}
			}
			end()
			var sets []struct{ Period, Resolution string }
			if err := json.Unmarshal([]byte(mustRun(t, "history", "ls", "--storage.path="+dir, "-o", "json")), &sets); err != nil || len(sets) == 0 {
				t.Fatalf("%d sets: %v", len(sets), err)
			}
			for _, s := range sets {
				if s.Period != "counted" && s.Resolution != tc.resolution {
					t.Errorf("a set of the period %s has the resolution %s", s.Period, s.Resolution)
				}
			}
		})
	}
	if read["5m"] > read["1m"]/2 {
		t.Errorf("samples read by resolution: %v", read)
	}
}

// TestResolutionFlags refuses what makes no sense.
func TestResolutionFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--compute.resolution=7m": "--compute.resolution", "--compute.resolution=90m": "divide an hour", "--compute.max-error=2": "at most 1",
		"--compute.resolution=5m --compute.max-error=0.5": "leave it or --compute.resolution out",
		"--compute.min-duration=5m":                       "no effect without --compute.max-error",
		"--source=none --compute.resolution=5m":           "no effect with --source=none",
	} {
		var out, problems bytes.Buffer
		all := append([]string{"serve", "--storage.path=" + t.TempDir(), "--web.listen-address=127.0.0.1:0"}, strings.Fields(args)...)
		if !strings.Contains(args, "--source") {
			all = append(all, "--prometheus.url=http://127.0.0.1:1")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if code := run(ctx, all, &out, &problems); code == exitOK || !strings.Contains(problems.String(), want) {
			t.Errorf("%s: exit %s: %s", args, strconv.Itoa(code), problems.String())
		}
	}
}
