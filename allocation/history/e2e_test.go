//go:build e2e

package history_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest"
)

// duckDB runs a query that has one row and no text but names.
func duckDB(t testing.TB, sql string) map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), promtest.DuckDB(t))
	cmd.Stdin = strings.NewReader(sql)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out, &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%s: %v: %s", sql, err, out)
	}
	return rows[0]
}

// TestDuckDBE2E has DuckDB sum every column of the files, and compares what it says with the sets.
func TestDuckDBE2E(t *testing.T) {
	s, dir := directory(t, history.Options{})
	clusters := []string{"arn:aws:eks:eu-west-1:1:cluster/a b", "42", ""}
	want := [allocation.NumColumns]float64{}
	rows, assets, labeled := 0, 0.0, 0.0
	for i := range 3 {
		set := soundSet(1, hour(i), 600, clusters...)
		write(t, s, set, history.WriteOptions{Complete: true})
		rows += set.Len()
		for c := range want {
			for row, v := range set.Column(allocation.Column(c)) {
				want[c] += v
				if team := set.Dict().Map(set.IDs(allocation.Labels)[row]); c == int(allocation.Cost.Of(allocation.CPU)) && len(team) > 0 {
					labeled += v
				}
			}
		}
		cost, _ := set.ListAssets(allocation.AssetOptions{}).TotalCost()
		assets += cost
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
	for query, want := range map[string]float64{
		"SELECT count(*)::DOUBLE AS x" + fmt.Sprintf(from, "allocations"):                                                                    float64(rows),
		"SELECT count(DISTINCT cluster)::DOUBLE AS x" + fmt.Sprintf(from, "allocations"):                                                     2,
		"SELECT sum(cpu_cost) AS x" + fmt.Sprintf(from, "allocations") + " WHERE labels['team'] IS NOT NULL":                                 labeled,
		"SELECT sum(v.cost) AS x FROM (SELECT unnest(volumes) AS v" + fmt.Sprintf(from, "allocations") + ")":                                 wantPV(want),
		"SELECT sum(cost) AS x" + fmt.Sprintf(from, "assets"):                                                                                assets,
		"SELECT count(DISTINCT window_start)::DOUBLE AS x" + fmt.Sprintf(from, "allocations") + " WHERE date = '2026-03-02' AND hour < '02'": 2,
	} {
		if v, _ := duckDB(t, query)["x"].(float64); math.Abs(v-want) > 1e-9*want {
			t.Errorf("%s: %v, want %v", query, v, want)
		}
	}
}

func wantPV(sums [allocation.NumColumns]float64) float64 { return sums[allocation.PVCost] }

// BenchmarkDuckDBE2E is what DuckDB takes for what BenchmarkRead does, its start left out.
func BenchmarkDuckDBE2E(b *testing.B) {
	s, dir := directory(b, history.Options{})
	for _, w := range days(30) {
		write(b, s, soundSet(1, w, benchContainers, "c1"), history.WriteOptions{Period: history.Daily})
	}
	sql := fmt.Sprintf("SELECT count(*) FROM (SELECT namespace, sum(cpu_cost), sum(ram_cost), sum(gpu_cost), sum(pv_cost), sum(network_cross_zone_cost), sum(load_balancer_cost) FROM read_parquet('%s/allocations_daily/**/*.parquet') GROUP BY namespace)", dir)
	start := time.Now()
	duckDB(b, "SELECT 1 AS x")
	idle := time.Since(start)
	for b.Loop() {
		duckDB(b, sql)
	}
	b.ReportMetric(float64((b.Elapsed()/time.Duration(b.N) - idle).Milliseconds()), "query-ms/op")
}
