//go:build e2e

package remote_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestOldPrometheusE2E computes from a Prometheus 2, by remote read and by its query API: both answer what the blocks do.
func TestOldPrometheusE2E(t *testing.T) {
	d := newDemo(t, fixed)
	base := promtest.StartOld(t, d.dir, promtest.Config{External: map[string]string{"replica": "a"}})
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		t.Run(string(mode), func(t *testing.T) { d.agree(t, remote.Config{URL: base, Mode: mode}, 0) })
	}
	t.Run("raw samples on a grid", func(t *testing.T) {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, scraped(false)...) // its ranges include their start
		sameOnGrid(t, promtest.StartOld(t, dir, promtest.Config{}))
	})
	t.Run("in parts", func(t *testing.T) {
		d.agreeInParts(t, promtest.StartOld(t, d.dir, promtest.Config{Flags: []string{"--query.max-samples=6000"}}))
	})
}

// TestThanosE2E computes from Thanos Query over two replicas: made one by Thanos, and made one here.
func TestThanosE2E(t *testing.T) {
	d := newDemo(t, fixed)
	base := promtest.StartThanos(t, d.dir, "kube_node_info", d.end.Add(-time.Hour))
	t.Run("deduplicated", func(t *testing.T) { d.agree(t, remote.Config{URL: base}, 0) })
	t.Run("replicas", func(t *testing.T) {
		d.agree(t, remote.Config{URL: base, Params: url.Values{"dedup": {"false"}}, ReplicaLabels: []string{"replica"}}, 0)
	})
}

// TestThanosRawE2E asks Thanos Query for raw samples of a grid.
func TestThanosRawE2E(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, scraped(true)...)
	sameOnGrid(t, promtest.StartThanos(t, dir, unmarked.Metric, fixed.Add(-time.Hour)))
}

// TestMimirE2E computes from Mimir, by remote read and by its query API.
func TestMimirE2E(t *testing.T) {
	d := newDemo(t, time.Now().Truncate(time.Hour).UTC())
	base := promtest.StartMimir(t, d.dir)
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		t.Run(string(mode), func(t *testing.T) { d.agree(t, remote.Config{URL: base, Mode: mode}, 0) })
	}
}
