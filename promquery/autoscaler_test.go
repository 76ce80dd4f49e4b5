package promquery_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestAutoscaled counts how long the controller of a container is scaled by usage.
func TestAutoscaled(t *testing.T) {
	t.Parallel()
	scaler := func(from, to int, kind, name, metric string) []promtest.Series {
		of := []string{"namespace", "db", "horizontalpodautoscaler", "db"}
		return []promtest.Series{
			steadily(from, to, 1, "kube_horizontalpodautoscaler_info", append(of, "scaletargetref_kind", kind, "scaletargetref_name", name)...),
			steadily(from, to, 80, "kube_horizontalpodautoscaler_spec_target_metric", append(of, "metric_name", metric, "metric_target_type", "utilization")...),
		}
	}
	for name, tt := range map[string]struct {
		series   []promtest.Series
		cpu, ram float64 // seconds
	}{
		"by CPU":               {scaler(-600, 7800, "StatefulSet", "db", "cpu"), 7200, 0},
		"by memory":            {scaler(-600, 7800, "StatefulSet", "db", "memory"), 0, 7200},
		"for a while":          {scaler(1800, 5400, "StatefulSet", "db", "cpu"), 3600, 0},
		"by another metric":    {scaler(-600, 7800, "StatefulSet", "db", "requests"), 0, 0},
		"another controller":   {scaler(-600, 7800, "StatefulSet", "other", "cpu"), 0, 0},
		"another kind":         {scaler(-600, 7800, "Deployment", "db", "cpu"), 0, 0},
		"nothing says of what": {scaler(-600, 7800, "StatefulSet", "db", "cpu")[1:], 0, 0},
		"none":                 {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := reserving{"a", -3600, 9000, 1, 0, false}
			pod := steadily(-600, 7800, 1, "kube_pod_info", "namespace", "db", "pod", "db-0", "uid", "44440000-0000-4000-8000-000000000000", "node", "n1", "created_by_kind", "StatefulSet", "created_by_name", "db")
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, slices.Concat(reservesNode(), c.series(), tt.series, []promtest.Series{pod})...)
			db := openBlocks(t, dir)
			for _, resolution := range grids() {
				for _, step := range []time.Duration{0, time.Hour} {
					q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution, Step: step, Only: withLevels()}
					set, err := passes.Merge(q.Window, compute(t, db, q))
					if err != nil {
						t.Fatal(err)
					}
					cpu, ram := set.Value(allocation.CPUScaledSeconds, 0), set.Value(allocation.RAMScaledSeconds, 0)
					if math.Abs(cpu-tt.cpu) > 60 || math.Abs(ram-tt.ram) > 60 || tt.cpu == 7200 && cpu != 7200 {
						t.Errorf("%s, %s: scaled for %v s by CPU and %v s by memory, want %v and %v", allocation.ResolutionText(resolution), step, cpu, ram, tt.cpu, tt.ram)
					}
				}
			}
		})
	}
}
