//go:build e2e

package bucket_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestUploadedE2E reads what a real Mimir and a real Thanos sidecar upload: every sample of the blocks that they have them from.
func TestUploadedE2E(t *testing.T) {
	const blocksOf, count = 2 * time.Hour, 3
	until := time.Now().UTC().Truncate(blocksOf)
	c, err := democluster.New(democluster.Config{End: until, Duration: count * blocksOf, Nodes: 4, Pods: 60})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for at := c.Start(); at.Before(c.End()); at = at.Add(blocksOf) {
		if err := c.WriteBlock(t.Context(), dir, at, at.Add(blocksOf)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := blocks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	want := samples(t, db, c.Start(), until)
	for _, tc := range []struct {
		name string
		dir  func(t *testing.T) string
		cfg  bucket.Config
	}{
		{"Mimir", func(t *testing.T) string { return promtest.MimirBucket(t, dir) }, bucket.Config{Tenant: "anonymous"}},
		{"Thanos", func(t *testing.T) string { return promtest.ThanosBucket(t, dir, count) }, bucket.Config{ReplicaLabels: []string{"replica"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store, err := filesystem.NewBucket(tc.dir(t))
			if err != nil {
				t.Fatal(err)
			}
			got := samples(t, over(store, tc.cfg), c.Start(), until)
			if diff := cmp.Diff(want, got); diff != "" || len(got) < 500 {
				t.Errorf("%d series (-blocks +bucket):\n%.2000s", len(got), diff)
			}
		})
	}
}

// samples are the count and a checksum of the samples of each series of some metrics.
func samples(t *testing.T, src promquery.Source, from, until time.Time) map[string]string {
	t.Helper()
	var rs []promquery.Request
	for _, metric := range []string{"kube_pod_info", "kube_node_info", "container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "kube_pod_container_resource_requests", "kube_pod_container_status_running"} {
		rs = append(rs, promquery.Request{Metric: metric, Start: from.UnixMilli(), End: until.UnixMilli() - 1})
	}
	out := map[string]string{}
	stats, err := promtest.Select(t.Context(), src, rs, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		sum, n := fnv.New64a(), 0
		for at, v := range p.All() {
			fmt.Fprintln(sum, at, math.Float64bits(v))
			n++
		}
		var parts []string
		for _, s := range key {
			parts = append(parts, s.Value())
		}
		out[fmt.Sprint(rs[i].Metric, strings.Join(parts, "|"), p.Continued())] = fmt.Sprint(n, " ", sum.Sum64())
		return nil
	})
	if err != nil || !stats.Whole() {
		t.Fatalf("%v, missing %q", err, stats.Missing())
	}
	return out
}
