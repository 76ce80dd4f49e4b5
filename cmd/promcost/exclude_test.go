package main

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestExclude computes from blocks and from a Prometheus that has prices of several exporters, promcost among them.
func TestExclude(t *testing.T) {
	to := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	series := func(v float64, name string, labels ...string) promtest.Series {
		value := func(int64) float64 { return v }
		return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: promtest.Regular(to-2*3600_000, to, 60_000, value)}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour,
		series(1, "kube_node_info", "node", "n1", "job", "ksm", "instance", "ksm:8080"),
		series(1, "kube_node_status_capacity", "node", "n1", "resource", "cpu", "job", "ksm", "instance", "ksm:8080"),
		series(9, "node_cpu_hourly_cost", "node", "n1", "job", "promcost", "instance", "promcost:9004", "exported_instance", "n1"),
		series(1, "promcost_build_info", "job", "promcost", "instance", "promcost:9004"),
		series(2, "node_cpu_hourly_cost", "node", "n1", "job", "opencost", "instance", "opencost:9003", "exported_instance", "n1"),
		series(1, "node_cpu_hourly_cost", "node", "n1", "job", "another", "instance", "another:80"),
	)
	checkTranscript(t, "exclude", place{"DIR", dir}, place{"PROMETHEUS", promtest.Start(t, dir, promtest.Config{})})
}

// TestPrometheusDown computes from blocks that cover the window although the Prometheus beside them does not answer.
func TestPrometheusDown(t *testing.T) {
	t.Parallel()
	to := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	dir := t.TempDir()
	value := func(int64) float64 { return 1 }
	promtest.WriteBlocks(t, dir, 2*time.Hour,
		promtest.Series{Labels: []string{"__name__", "kube_node_info", "node", "n1"}, Samples: promtest.Regular(to-4*3600_000, to, 60_000, value)},
		promtest.Series{Labels: []string{"__name__", "kube_node_status_capacity", "node", "n1", "resource", "cpu"}, Samples: promtest.Regular(to-4*3600_000, to, 60_000, value)},
	)
	closed := closedURL(t)
	checkTranscript(t, "down", place{"DIR", dir}, place{"CLOSED", closed}, place{"ADDRESS", strings.TrimPrefix(closed, "http://")})
}
