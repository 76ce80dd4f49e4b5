package main

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// unpricedNodes writes blocks of two nodes of 4 cores and 8 GiB without prices and one with, from 10:00 to 12:00 of the last
// day of January 2026, and returns their directory.
func unpricedNodes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, to := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	constant := func(v float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: labels, Samples: promtest.Regular(from, to-1, 60_000, func(int64) float64 { return v })}
	}
	series := []promtest.Series{
		constant(1, "__name__", "kube_pod_container_status_running", "namespace", "shop", "pod", "web-0", "uid", "u", "container", "app"),
		constant(0.7, "__name__", "node_cpu_hourly_cost", "node", "n3", "instance_type", "m5.large", "region", "eu-central-1"),
		constant(0.1, "__name__", "node_ram_hourly_cost", "node", "n3", "instance_type", "m5.large", "region", "eu-central-1"),
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		series = append(
			series, constant(1, "__name__", "kube_node_info", "node", node),
			constant(4, "__name__", "kube_node_status_capacity", "node", node, "resource", "cpu"),
			constant(8<<30, "__name__", "kube_node_status_capacity", "node", node, "resource", "memory"),
		)
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

func TestCheckPrices(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"odd.yaml":  "currency: EUR\ndefaults:\n  storagePerGiBHour: 0.04\n",
		"slip.yaml": "timeZone: UTC\nbudgets:\n- {name: a, amout: 5, period: day}\n",
		"bad.csv":   "region,cpuPerCoreHour\neu,-1\n",
		"free.csv":  "name,to,cpuPerCoreHour,ramPerGiBHour\nn1,,0.5,0.25\n",
	})
	closed := closedURL(t)
	checkTranscript(t, "prices", place{"DIR", dir}, place{"UNPRICED", unpricedNodes(t)},
		place{"CLOSED", closed}, place{"ADDRESS", strings.TrimPrefix(closed, "http://")})
}
