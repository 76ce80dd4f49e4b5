package promquery_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestMetadataLast checks that answers whose rows are merged by keys are the same if the query names these keys, and that labels and
// annotations are then read of the pods only whose row is merged with no other: shards, several sets, and clusters where labels must be
// known before, or that lack UIDs, included.
func TestMetadataLast(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	db, list := openBlocks(t, dir), seriesOf(t, dir)
	// withoutUID is the cluster if the series that metrics chooses have no UID; only the first of several that are then alike is left.
	withoutUID := func(metrics func(name string) bool) promquery.Source {
		known := map[string]bool{}
		return edited(t, list, func(s *promtest.Series) bool {
			i := slices.Index(s.Labels, "uid")
			if i < 0 || !metrics(label(s, "__name__")) {
				return true
			}
			s.Labels = slices.Delete(s.Labels, i, i+2)
			key := strings.Join(s.Labels, "\x00")
			first := !known[key]
			known[key] = true
			return first
		})
	}
	window := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}
	selecting := append(slices.Clone(list), promtest.Series{
		Labels:  []string{"__name__", "service_selector_labels", "namespace", "shop", "service", "picked", "label_app", "web"},
		Samples: promtest.Regular(window.Start.UnixMilli(), window.End.UnixMilli(), 60_000, func(int64) float64 { return 1 }),
	})
	// ghosts is the cluster with a pod that only its usage knows, by a series without a UID, and a series of the pod by kube-state-metrics.
	ghosts := func(more ...string) promquery.Source {
		with, pod := slices.Clone(list), []string{"namespace", "ghosts", "pod", "ghost"}
		for _, x := range [][]string{{"container_memory_working_set_bytes", "container", "c", "instance", "x"}, more} {
			if len(x) > 0 {
				s := promtest.Series{Labels: append(append([]string{"__name__"}, x...), pod...)}
				s.Samples = promtest.Regular(window.Start.UnixMilli(), window.End.UnixMilli(), 60_000, func(int64) float64 { return 1 << 20 })
				with = append(with, s)
			}
		}
		return edited(t, with, func(*promtest.Series) bool { return true })
	}
	for _, tt := range []struct {
		name   string
		src    promquery.Source
		by     string
		shards int

		step, resolution time.Duration

		read string // which series of labels are read: none, some or all
	}{
		{name: "cluster", src: db, by: "cluster", read: "none"},
		{name: "namespace", src: db, by: "namespace", read: "none"},
		{name: "controllers of steps", src: db, by: "controllerKind,controller", step: 3 * time.Hour, read: "some"},
		{name: "nodes of shards", src: db, by: "node,namespace", shards: 3, read: "some"},
		{name: "services", src: db, by: "service", read: "none"},
		{name: "all in one", src: db, by: "all", read: "none"},
		{name: "labels select pods", src: edited(t, selecting, func(*promtest.Series) bool { return true }), by: "service", read: "all"},
		{name: "labels without UIDs", src: withoutUID(func(name string) bool { return name == "kube_pod_labels" || name == "kube_pod_annotations" }), by: "controller", read: "some"},
		{name: "only infos have UIDs", src: withoutUID(func(name string) bool { return name != "kube_pod_info" }), by: "controller", read: "some"},
		{name: "no UIDs", src: withoutUID(func(string) bool { return true }), by: "controller", read: "all"},
		{name: "usage without UIDs of what nothing else knows", src: ghosts(), by: "namespace", read: "none"},
		{name: "labels of it", src: ghosts("kube_pod_labels", "uid", "u1", "label_app", "boo"), by: "namespace", read: "some"},
		{name: "labels by another target, without honor_labels", src: edited(t, list, func(s *promtest.Series) bool {
			if name := label(s, "__name__"); name == "kube_pod_labels" || name == "kube_pod_annotations" {
				for _, object := range []string{"namespace", "pod"} {
					s.Labels[slices.Index(s.Labels, object)] = "exported_" + object
				}
				s.Labels = append(s.Labels, "namespace", "monitoring", "pod", "kube-state-metrics")
			}
			return true
		}), by: "controller", read: "some"},
		{name: "a grid", src: db, by: "controller", resolution: time.Minute, read: "some"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keys, err := allocation.ParseKeys(tt.by, nil)
			if err != nil {
				t.Fatal(err)
			}
			read, all := int64(0), int64(0)
			compute := func(q allocation.Query) []*allocation.Set {
				sets, err := promquery.NewEngine(tt.src, config).Compute(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				return sets
			}
			for i := range max(tt.shards, 1) {
				q := allocation.Query{Window: window, Step: tt.step, Resolution: tt.resolution}
				if tt.shards > 0 {
					q.Shard = allocation.Shard{Index: i + 1, Of: tt.shards}
				}
				whole := compute(q)
				q.MergedBy = keys
				last := compute(q)
				for _, o := range []passes.Options{{Aggregate: keys}, {Aggregate: keys, Idle: true, Accumulate: allocation.All}} {
					want, err := passes.Apply(whole, o)
					if err != nil {
						t.Fatal(err)
					}
					got, err := passes.Apply(last, o)
					if err != nil {
						t.Fatal(err)
					}
					compareResults(t, got, want)
				}
				read, all = read+seriesRead(last[0], "kube_pod_labels"), all+seriesRead(whole[0], "kube_pod_labels")
				if _, err := passes.Apply(last, passes.Options{AggregatedMetadata: true, Aggregate: keys}); (err == nil) != (tt.read == "all") || err != nil && !errors.Is(err, allocation.ErrUnread) {
					t.Errorf("common labels of rows: error %v", err)
				}
			}
			if tt.read == "none" && read != 0 || tt.read == "some" && (read == 0 || read >= all) || tt.read == "all" && read != all {
				t.Errorf("labels of %d pods were read, want those of %s of %d", read, tt.read, all)
			}
		})
	}
}

// compareResults checks that merged sets have the same rows.
func compareResults(t *testing.T, got, want []*allocation.Set) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d sets, want %d", len(got), len(want))
	}
	for i, s := range want {
		if got[i].Len() != s.Len() {
			t.Fatalf("set %d has %d rows, want %d", i, got[i].Len(), s.Len())
		}
		if diff := cmp.Diff(ofRows(s.Warnings), ofRows(got[i].Warnings)); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		for row := range s.Len() {
			if diff := cmp.Diff(everythingOf(s, row), everythingOf(got[i], row)); diff != "" {
				t.Errorf("row %s (-want +got):\n%s", s.Name(row), diff)
			}
			for column := range allocation.NumColumns {
				if g, w := got[i].Value(column, row), s.Value(column, row); g != w && (g == g || w == w) {
					t.Errorf("%s: %v is %v, want %v", s.Name(row), column, g, w)
				}
			}
		}
	}
}

// ofRows are the warnings without those about labels and annotations, which do not concern merged rows.
func ofRows(warnings []string) (out []string) {
	for _, text := range warnings {
		topic := notices.TopicOf(text)
		if topic != notices.AboutLabels && topic != notices.AboutAnnotations && !strings.Contains(text, ", while pods ran, of kube_pod_labels (") {
			out = append(out, text)
		}
	}
	return out
}

// everythingOf is what a row says of itself, its values left out.
func everythingOf(s *allocation.Set, row int) map[string]any {
	out := map[string]any{"name": s.Name(row), "kind": s.Special(row), "start": s.Start(row), "end": s.End(row), "services": texts(s, row)}
	for p := range allocation.Services {
		out[p.String()] = s.Text(p, row)
	}
	for _, p := range []allocation.Property{allocation.Labels, allocation.Annotations, allocation.NamespaceLabels, allocation.NamespaceAnnotations} {
		out[p.String()] = asMap(s, p, row)
	}
	return out
}

// TestFewOfAssets checks that what is used of disks and of nodes' cores is not read for questions about allocations, whose rows are the
// same without.
func TestFewOfAssets(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	q := allocation.Query{Window: allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}}
	whole := compute(t, db, q)
	q.Only = &allocation.Projection{FewOfAssets: true}
	few := compute(t, db, q)
	for _, metric := range []string{"node_cpu_seconds_total", "kubelet_volume_stats_used_bytes", "container_fs_usage_bytes"} {
		if seriesRead(whole[0], metric) == 0 || seriesRead(few[0], metric) != 0 {
			t.Errorf("%d series of %s were read, %d for all of assets, want none and some", seriesRead(few[0], metric), metric, seriesRead(whole[0], metric))
		}
	}
	for _, o := range []passes.Options{{}, {Idle: true, IdleByNode: true, ShareTenancy: true}, {ShareIdle: passes.Weighted, IdleByNode: true}} {
		var results [2][]*allocation.Set
		for i, sets := range [][]*allocation.Set{few, whole} {
			var err error
			if results[i], err = passes.Apply(sets, o); err != nil {
				t.Fatal(err)
			}
		}
		compareResults(t, results[0], results[1])
	}
}

// TestMixedLabels checks whose labels count where series with a UID and without tell of one pod: its own, and others where it has none.
func TestMixedLabels(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	q := allocation.Query{Window: allocation.Window{Start: start, End: start.Add(6 * time.Hour)}, Step: 3 * time.Hour}
	keys, err := allocation.ParseKeys("namespace", nil)
	if err != nil {
		t.Fatal(err)
	}
	series := func(from, to time.Duration, v float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: labels, Samples: promtest.Regular(start.Add(from).UnixMilli(), start.Add(to).UnixMilli(), 30_000, func(int64) float64 { return v })}
	}
	of := func(metric string, more ...string) []string {
		return append([]string{"__name__", metric, "namespace", "shop", "pod", "web"}, more...)
	}
	const before, end = -10 * time.Minute, 6 * time.Hour
	list := []promtest.Series{
		series(before, end, 1, "__name__", "kube_node_info", "node", "n1"),
		series(before, end, 4, "__name__", "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core"),
		series(before, end, 1, of("kube_pod_info", "uid", "u1", "node", "n1")...),
		series(before, end, 1, of("kube_pod_container_status_running", "uid", "u1", "container", "main")...),
	}
	own := series(3*time.Hour, end, 1, of("kube_pod_labels", "uid", "u1", "label_app", "new")...)
	nameless := series(before, 3*time.Hour, 1, of("kube_pod_labels", "label_app", "old")...)
	for name, labels := range map[string][]promtest.Series{"own": {own}, "nameless": {nameless}, "both": {own, nameless}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, append(slices.Clone(list), labels...)...)
			var results [2][]*allocation.Set
			for i, by := range [][]allocation.Key{keys, nil} {
				q.MergedBy = by
				if results[i], err = passes.Apply(compute(t, openBlocks(t, dir), q), passes.Options{Aggregate: keys}); err != nil {
					t.Fatal(err)
				}
			}
			compareResults(t, results[0], results[1])
		})
	}
}
