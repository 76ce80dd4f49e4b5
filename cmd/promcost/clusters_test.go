package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/promquery/promtest"
)

// twoClusters writes blocks of a node on AWS in one cluster and one on Azure in another, and returns their directory.
func twoClusters(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, to := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	var series []promtest.Series
	for _, c := range []struct{ id, provider, region string }{{"east", "aws:///eu-1a/i-1", "eu-1"}, {"west", "azure:///subscriptions/1", ""}} {
		for _, x := range []struct {
			v      float64
			labels []string
		}{
			{1, []string{"kube_node_info", "node", "n", "provider_id", c.provider}},
			{1, []string{"kube_node_labels", "node", "n", "label_topology_kubernetes_io_region", c.region}},
			{4, []string{"kube_node_status_capacity", "node", "n", "resource", "cpu"}},
			{1, []string{"kube_pod_info", "namespace", "shop", "pod", "web", "uid", "u", "node", "n"}},
			{1, []string{"kube_pod_container_status_running", "namespace", "shop", "pod", "web", "uid", "u", "container", "app"}},
		} {
			series = append(series, promtest.Series{
				Labels:  append([]string{"cluster", c.id, "__name__"}, x.labels...),
				Samples: promtest.Regular(from, to-1, 60_000, func(int64) float64 { return x.v }),
			})
		}
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

// TestSeenClusters verifies that what is known of clusters does not depend on which computation ends last: some read little of nodes, and some
// are of long ago, when there were other clusters, or of times without data.
func TestSeenClusters(t *testing.T) {
	hour := func(n int, nodes ...allocation.Node) *allocation.Set {
		start := time.Date(2026, 3, 1, n, 0, 0, 0, time.UTC)
		set := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, nil)
		set.Nodes = nodes
		return set
	}
	days := allocation.NewSet(allocation.Window{Start: time.Date(2026, 2, 25, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)}, nil)
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	whole, little, old := allocation.Node{Cluster: "now", ProviderID: "aws:///eu-1a/i-1", Region: "eu-1"}, allocation.Node{Cluster: "now"}, allocation.Node{Cluster: "old", Region: "eu-2"}
	days.Nodes = []allocation.Node{little}
	aws := costapi.ClusterInfo{ID: "now", Provider: "AWS", Region: "eu-1"}
	var s computedClusters
	for _, step := range []struct {
		name string
		sets []*allocation.Set
		want []costapi.ClusterInfo
	}{
		{"little of an hour", []*allocation.Set{hour(5, little)}, []costapi.ClusterInfo{{ID: "now"}}},
		{"all of one before", []*allocation.Set{hour(4, whole)}, []costapi.ClusterInfo{aws}},
		{"an hour", []*allocation.Set{hour(5, whole)}, []costapi.ClusterInfo{aws}},
		{"the same, little of it", []*allocation.Set{hour(5, little)}, []costapi.ClusterInfo{aws}},
		{"nothing", []*allocation.Set{hour(6)}, []costapi.ClusterInfo{aws}},
		{"an hour before", []*allocation.Set{hour(4, old)}, []costapi.ClusterInfo{aws}},
		{"a later hour", []*allocation.Set{hour(5, whole), hour(6, old)}, []costapi.ClusterInfo{aws, {ID: "old", Region: "eu-2"}}},
		{"one of another cluster, and one without data", []*allocation.Set{hour(7, old), hour(8)}, []costapi.ClusterInfo{{ID: "old", Region: "eu-2"}}},
		{"one that ends when that did", []*allocation.Set{hour(7, whole)}, []costapi.ClusterInfo{aws}},
		{"days that end in the future", []*allocation.Set{days}, []costapi.ClusterInfo{aws}},
		{"the hour until now", []*allocation.Set{hour(8, old)}, []costapi.ClusterInfo{{ID: "old", Region: "eu-2"}}},
	} {
		s.learn(step.sets, now)
		if diff := cmp.Diff(step.want, s.list()); diff != "" {
			t.Errorf("%s: clusters (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestClusters checks that all clusters of the series and of the config are listed, and that one of the config is reported
// missing.
func TestClusters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("clusters: {west: {name: West, region: home}, gone: {provider: gcp}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := runDaemon(t, "serve", "--web.enable-lifecycle", "--storage.path=", "--config.file="+file, "--tsdb.path="+twoClusters(t))
	get(t, p.url+"/model/assets?accumulate=true&window=2026-01-31T10:00:00Z,2026-01-31T12:00:00Z")
	row := func(id, name, provider, region string) map[string]string {
		return map[string]string{"id": id, "name": name, "provider": provider, "region": region, "account": "", "profile": "", "project": "", "provisioner": ""}
	}
	var all struct{ Data map[string]map[string]string }
	_, body := get(t, p.url+"/clusterInfoMap")
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{"east": row("east", "east", "AWS", "eu-1"), "west": row("west", "West", "Azure", "home"), "gone": row("gone", "gone", "gcp", "")}
	if diff := cmp.Diff(want, all.Data); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/model/clusterInfo", "/clusterInfo"} {
		var one struct{ Data map[string]string }
		if _, body := get(t, p.url+path); json.Unmarshal([]byte(body), &one) != nil || one.Data["id"] != "east" || one.Data["provider"] != "AWS" || one.Data["clusters"] != "east,gone,west" {
			t.Errorf("%s: %s", path, body)
		}
	}
	if log := p.err.String(); strings.Count(log, "Nothing was seen of clusters") != 1 || !strings.Contains(log, "clusters=gone") {
		t.Errorf("log: %s", log)
	}
}
