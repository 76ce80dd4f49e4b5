package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// storeLines are what promcost reads, by what, whether costs are exact then, and what that takes of the server beside OpenCost's questions for the same day
// (BENCHMARKS.md has the figures).
var storeLines = [][]string{
	{"Prometheus", "remote read, found by itself", "yes", "0.6 times"},
	{"VictoriaMetrics", "its exports, found by itself", "yes", "0.3 times"},
	{"Thanos", "its StoreAPI: `--thanos.store=HOST:PORT`", "yes", "0.7 times"},
	{"Mimir, Cortex", "remote read, found by itself", "yes", "1.8 times"},
	{"TSDB blocks", "files on disk (`--tsdb.path=DIR`), or those of Thanos, Mimir and Cortex in an object store (`--blocks.config=FILE`); with `--prometheus.url`, a server for what they lack", "yes", "none: no server is asked"},
	{"Amazon, Azure, Google, Grafana Cloud, others", "the query API, where nothing else is found", "with `resolution=exact`, otherwise within the bounds that answers state", "2.2 times for each minute, 0.6 times for each hour"},
}

// storesTable is the table of stores.
func storesTable() string {
	var b strings.Builder
	table(&b, "store", "is read by", "exact?", "processor time beside OpenCost's")
	for _, cells := range storeLines {
		line(&b, append([]string{}, cells...)...)
	}
	return b.String()
}

// referStores writes the section about stores.
func referStores(b *strings.Builder) {
	b.WriteString("\n## Stores\n\nThe metrics may be kube-state-metrics' and cAdvisor's, or those of OpenTelemetry's receivers, in any of these (OPENTELEMETRY.md). MIGRATING.md says how hosted ones are reached.\n" + storesTable())
}

// TestReadmeHasStores holds README to the same table.
func TestReadmeHasStores(t *testing.T) {
	if !strings.Contains(readText(t, filepath.Join("..", "..", "README.md")), storesTable()) {
		t.Errorf("README lacks the table of stores:\n%s", storesTable())
	}
}
