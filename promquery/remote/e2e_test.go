//go:build e2e

package remote_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
	"github.com/promcost/promcost/promquery/thanos"
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
	base, store := promtest.StartThanos(t, d.dir, "kube_node_info", d.end.Add(-time.Hour))
	t.Run("deduplicated", func(t *testing.T) { d.agree(t, remote.Config{URL: base}, 0) })
	t.Run("replicas", func(t *testing.T) {
		d.agree(t, remote.Config{URL: base, Params: url.Values{"dedup": {"false"}}, ReplicaLabels: []string{"replica"}}, 0)
	})
	t.Run("StoreAPI", func(t *testing.T) { // of both replicas, exactly
		src, err := thanos.New(thanos.Config{Stores: []string{store}, ReplicaLabels: []string{"replica"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		})
		d.compareRows(t, d.compute(t, src, 0), d.compute(t, d.source, 0), 0, 0)
		begin, err := src.DataBegin(t.Context(), []string{"kube_node_info"}, d.end.Add(-48*time.Hour), d.end)
		if want := d.end.Add(-10 * time.Hour); err != nil || begin.After(want) || begin.Before(want.Add(-2*time.Hour)) {
			t.Errorf("data begin at %s, %v; want %s, or up to a block before", begin, err, want)
		}
	})
}

// TestThanosRawE2E asks Thanos Query for raw samples of a grid.
func TestThanosRawE2E(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, scraped(true)...)
	base, _ := promtest.StartThanos(t, dir, unmarked.Metric, fixed.Add(-time.Hour))
	sameOnGrid(t, base)
}

// TestMimirE2E computes from Mimir, by remote read and by its query API.
func TestMimirE2E(t *testing.T) {
	d := newDemo(t, time.Now().Truncate(time.Hour).UTC())
	base := promtest.StartMimir(t, d.dir)
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		t.Run(string(mode), func(t *testing.T) { d.agree(t, remote.Config{URL: base, Mode: mode}, 0) })
	}
}
