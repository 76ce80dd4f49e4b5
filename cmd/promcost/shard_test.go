package main

import (
	"bytes"
	"encoding/csv"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShards has two promcosts compute a history together, and compares it with that of one.
func TestShards(t *testing.T) {
	t.Parallel()
	whole, blocks := writeHistoryOf(t)
	base := t.TempDir()
	shards, replica := filepath.Join(base, "shards"), filepath.Join(base, "replica")
	from := "--from=2026-01-30"
	mustRun(t, backfillArgs(blocks, shards, from, "--shard=1/2")...)
	t.Run("half of the shards", func(t *testing.T) { testHalfOfShards(t, shards) })
	mustRun(t, backfillArgs(blocks, shards, from, "--shard=2/2")...)
	for _, period := range []string{"hourly", "daily"} {
		sums := [2]float64{}
		for i, dir := range []string{whole, shards} {
			mustRun(t, "history", "verify", "--storage.path="+dir)
			lines, err := csv.NewReader(strings.NewReader(mustRun(t, "history", "export", "--storage.path="+dir, "--format=focus", "--period="+period))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			sums[i] = columnSum(t, lines, "EffectiveCost")
		}
		if math.Abs(sums[0]-sums[1]) > 1e-9*sums[0] {
			t.Errorf("%s: shards cost %v, the whole %v", period, sums[1], sums[0])
		}
	}
	exports := [2]string{}
	for i, dir := range []string{whole, shards} {
		exports[i] = mustRun(t, "history", "export", "--storage.path="+dir, "--period=hourly")
	}
	if diff := cmp.Diff(exports[0], exports[1]); diff != "" {
		t.Errorf("rows (-whole +shards):\n%s", diff)
	}
	mustRun(t, backfillArgs(blocks, replica, from, "--shard=2/2")...)
	mustRun(t, backfillArgs(blocks, replica, from, "--shard=1/2", "--parallel=1")...)
	if diff := cmp.Diff(historyFiles(t, shards), historyFiles(t, replica)); diff != "" {
		t.Errorf("replicas differ:\n%s", diff)
	}
	t.Run("other shards go on from what is there", func(t *testing.T) {
		if out := mustRun(t, backfillArgs(blocks, shards, from, "--shard=3/3")...); !strings.Contains(out, "0 hours computed and kept") {
			t.Errorf("it says\n%s", out)
		}
	})
	t.Run("a shard exports no costs", func(t *testing.T) {
		for share, want := range map[string]bool{"1/2": false, "1/1": true} {
			base, body := spawn(t, "serve", "--source=blocks", "--tsdb.path="+blocks, "--storage.path="+t.TempDir(), "--shard="+share), ""
			eventually(t, "it has no metrics of what it computed", func() bool {
				_, body = get(t, base+"/metrics")
				return strings.Contains(body, "promcost_computation_duration_seconds_count") && (!want || strings.Contains(body, "promcost_namespace_hourly_cost{"))
			})
			if !want && strings.Contains(body, "_hourly_cost{") {
				t.Errorf("share %s exports costs:\n%s", share, body)
			}
		}
	})
	t.Run("a shard answers no queries", func(t *testing.T) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"serve", "--source=none", "--storage.path=" + shards, "--shard=1/2"}, &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), "--shard has no effect") {
			t.Errorf("exit %d: %s", code, stderr.String())
		}
	})
}

// testHalfOfShards looks at a history of which the second of two shards is not there.
func testHalfOfShards(t *testing.T, dir string) {
	const lacks = "37 of the sets lack parts, and answer nothing until they are there: 2/2 of 37: compute them with promcost serve or backfill --shard=2/2"
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"ls", "2, lacks 2/2", exitOK},
		{"ls", "\n37 sets, ", exitOK},
		{"ls -o json", `"lacks": [` + "\n      " + `"2/2"`, exitOK},
		{"verify", "37 sets in ", exitOK},
		{"export", "", exitError},
		{"rm --window=2026-01-30,2026-01-31", "25 sets would be removed", exitOK},
	} {
		var stdout, stderr bytes.Buffer
		args := strings.Fields(tt.args)
		code := run(t.Context(), append([]string{"history", args[0], "--storage.path=" + dir}, args[1:]...), &stdout, &stderr)
		if code != tt.code || !strings.Contains(stdout.String(), tt.want) || args[0] != "rm" && !strings.Contains(stderr.String(), lacks) {
			t.Errorf("%s: exit %d, %s\n%s", tt.args, code, stderr.String(), stdout.String())
		}
	}
	reader := spawn(t, "serve", "--storage.path="+dir, "--source=none")
	if code, body := get(t, reader+"/model/allocation?window=2026-01-30,2026-01-31"); code == http.StatusOK || !strings.Contains(body, "shard 2/2 of it is not there") {
		t.Errorf("a reader answers %d: %s", code, body)
	}
}
