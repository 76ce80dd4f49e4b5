//go:build e2e

package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest"
)

// duckDB runs a query that has one row and no text but names.
func duckDB(t testing.TB, sql string) map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), promtest.DuckDB(t))
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(sql), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", sql, err, stderr.String())
	}
	var rows []map[string]any
	if err := json.Unmarshal(out, &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%s: %v: %s", sql, err, out)
	}
	return rows[0]
}

// TestDuckDBE2E lets DuckDB sum every column of the files, and compares the sums with the sets.
func TestDuckDBE2E(t *testing.T) {
	s, dir := directory(t, history.Options{})
	clusters := []string{"arn:aws:eks:eu-west-1:1:cluster/a b", "42", ""}
	want := [allocation.NumColumns]float64{}
	rows, assetCosts, labeled, used := 0, 0.0, 0.0, 0.0 // used: seconds with more than half a core
	uids := map[string]bool{}
	for i := range 3 {
		set := soundSet(1, hour(i), 600, clusters...)
		write(t, s, set, history.WriteOptions{Complete: true})
		rows += set.Len()
		for row := range set.Len() {
			for _, l := range set.Levels(allocation.CPU, row) {
				if l.Bucket.Upper() > 0.5 {
					used += float64(l.Millis) / 1000
				}
			}
			if uid := set.Text(allocation.PodUID, row); uid != "" {
				uids[uid] = true
			}
		}
		for c := range want {
			for row, v := range column(set, allocation.Column(c)) {
				want[c] += v
				if team := set.Pairs(allocation.Labels, row); c == int(allocation.Cost.Of(allocation.CPU)) && len(team) > 0 {
					labeled += v
				}
			}
		}
		cost, _ := assets.List(set, assets.Options{}).TotalCost()
		assetCosts += cost
	}
	from := fmt.Sprintf(" FROM read_parquet('%s/%%s_hourly/**/*.parquet', hive_partitioning = true)", dir)
	var sums []string
	for c := range allocation.NumColumns {
		sums = append(sums, fmt.Sprintf("sum(%s) AS c%d", c.Field(), c))
	}
	got := duckDB(t, "SELECT "+strings.Join(sums, ", ")+fmt.Sprintf(from, "allocations"))
	for c := range allocation.NumColumns {
		if v, _ := got[fmt.Sprintf("c%d", c)].(float64); math.Abs(v-want[c]) > 1e-9*math.Abs(want[c]) {
			t.Errorf("sum of %s is %v, of the sets %v", c.Field(), v, want[c])
		}
	}
	sameUIDs(t, fmt.Sprintf(from, "allocations"), uids)
	for query, want := range map[string]float64{
		"SELECT count(*)::DOUBLE AS x" + fmt.Sprintf(from, "allocations"):                                                                    float64(rows),
		"SELECT count(DISTINCT cluster)::DOUBLE AS x" + fmt.Sprintf(from, "allocations"):                                                     2,
		"SELECT sum(cpu_cost) AS x" + fmt.Sprintf(from, "allocations") + " WHERE labels['team'] IS NOT NULL":                                 labeled,
		"SELECT sum(v.cost) AS x FROM (SELECT unnest(volumes) AS v" + fmt.Sprintf(from, "allocations") + ")":                                 wantPV(want),
		"SELECT sum(l.seconds) AS x FROM (SELECT unnest(cpu_usage_levels) AS l" + fmt.Sprintf(from, "allocations") + ") WHERE l.level > 0.5": used,
		"SELECT sum(cost) AS x" + fmt.Sprintf(from, "assets"):                                                                                assetCosts,
		"SELECT count(DISTINCT window_start)::DOUBLE AS x" + fmt.Sprintf(from, "allocations") + " WHERE date = '2026-03-02' AND hour < '02'": 2,
	} {
		if v, _ := duckDB(t, query)["x"].(float64); math.Abs(v-want) > 1e-9*want {
			t.Errorf("%s: %v, want %v", query, v, want)
		}
	}
}

// sameUIDs compares the ids of pods, which are UUIDs in files, with those of the sets.
func sameUIDs(t *testing.T, from string, want map[string]bool) {
	t.Helper()
	got := duckDB(t, "SELECT typeof(any_value(pod_uid)) AS kind, string_agg(uid, ' ' ORDER BY uid) AS uids FROM (SELECT DISTINCT pod_uid, pod_uid::VARCHAR AS uid"+from+" WHERE pod_uid IS NOT NULL)")
	text, _ := got["uids"].(string)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), strings.Fields(text)); diff != "" || got["kind"] != "UUID" {
		t.Errorf("ids of pods, of type %v (-sets +DuckDB):\n%s", got["kind"], diff)
	}
}

func wantPV(sums [allocation.NumColumns]float64) float64 { return sums[allocation.PVCost] }

// BenchmarkDuckDBE2E is what DuckDB takes for what BenchmarkQuery asks of days, its start left out.
func BenchmarkDuckDBE2E(b *testing.B) {
	s, dir := directory(b, history.Options{})
	for _, w := range days(*queryDays) {
		write(b, s, soundSet(1, w, benchContainers, "c1"), history.WriteOptions{Period: history.Daily})
	}
	var sums, all []string
	for c := range allocation.NumColumns {
		sums, all = append(sums, "sum("+c.Field()+") AS "+c.Field()), append(all, "sum("+c.Field()+")")
	}
	for _, q := range queries() {
		b.Run(q.name, func(b *testing.B) {
			// What nobody looks at is not even read: all sums are.
			sql := fmt.Sprintf("SELECT %s AS x FROM (SELECT %s FROM read_parquet('%s/allocations_daily/**/*.parquet') %s)", strings.Join(all, " + "), strings.Join(sums, ", "), dir, q.sql)
			before := childTime(b)
			duckDB(b, "SELECT 1 AS x")
			started := childTime(b)
			for b.Loop() {
				duckDB(b, sql)
			}
			b.ReportMetric(float64(((childTime(b)-started)/time.Duration(b.N) - (started - before)).Milliseconds()), "cpu-ms/op")
		})
	}
}

// childTime returns the processor time of child processes that have ended.
func childTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
