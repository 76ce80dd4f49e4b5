package promquery_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/chunks"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// demo is a demo cluster and its blocks, made once for all tests of this file.
var demo = sync.OnceValues(func() (*democluster.Cluster, error) {
	return democluster.New(democluster.Config{
		End: time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC), Duration: 10 * time.Hour, Nodes: 5, Pods: 60, Seed: 2,
	})
})

// demoTemp is the directory of demoTSDB, once there is one.
var demoTemp string

// demoTSDB is a temporary directory with its blocks, which tests only read.
var demoTSDB = sync.OnceValues(func() (dir string, err error) {
	c, err := demo()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "promquery-test-"); err != nil {
		return "", err
	}
	demoTemp = dir
	return dir, c.WriteBlocks(context.Background(), dir, c.Start(), c.End(), nil)
})

// grids are the resolutions that most tests compute at.
func grids() []time.Duration { return []time.Duration{0, time.Minute} }

func TestMain(m *testing.M) {
	code := soak.Main(m)
	if demoTemp != "" {
		_ = os.RemoveAll(demoTemp) // it is a temporary directory
	}
	os.Exit(code)
}

// sharedDemo is the demo cluster and the directory with its blocks, which is not to be changed.
func sharedDemo(t testing.TB) (*democluster.Cluster, string) {
	t.Helper()
	c, err := demo()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := demoTSDB()
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// demoDir copies the demo cluster's blocks into a directory.
func demoDir(t testing.TB) (*democluster.Cluster, string) {
	t.Helper()
	c, shared := sharedDemo(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(shared)); err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// newDemoBlocks makes up another demo cluster, and opens its blocks. They are there until the test ends.
func newDemoBlocks(t testing.TB, cfg democluster.Config) (*democluster.Cluster, *blocks.DB) {
	t.Helper()
	c, dir := promtest.WriteDemo(t, democluster.New, cfg)
	return c, openBlocks(t, dir)
}

// demoBlocks opens the demo cluster's blocks.
func demoBlocks(t testing.TB) (*democluster.Cluster, *blocks.DB) {
	t.Helper()
	c, dir := sharedDemo(t)
	return c, openBlocks(t, dir)
}

func openBlocks(t testing.TB, dir string) *blocks.DB {
	t.Helper()
	db, err := blocks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

var config = promquery.Config{
	Clusters: promquery.Clusters{Labels: []string{"cluster"}, Default: democluster.ClusterID}, Rates: pricing.Default().WithList(listprices.Embedded()),
}

// without is a source that lacks some metrics.
type without struct {
	promquery.Source
	metrics []string
}

func (s without) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		sels = slices.Clone(sels)
		for i := range sels {
			if slices.Contains(s.metrics, sels[i].Metric) {
				sels[i].Metric = "hidden"
			}
		}
		return promtest.Select(ctx, s.Source, sels, yield)
	})
}

func compute(t *testing.T, src promquery.Source, q allocation.Query) []*allocation.Set {
	t.Helper()
	sets, err := promquery.NewEngine(src, config).Compute(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		if err := passes.Check(s); err != nil {
			t.Error(err)
		}
	}
	return sets
}

// totals are the summed costs of all workloads.
func totals(sets []*allocation.Set) (cpu, ram float64) {
	for _, s := range sets {
		for row := range s.Len() {
			cpu += s.Value(allocation.Cost.Of(allocation.CPU), row)
			ram += s.Value(allocation.Cost.Of(allocation.RAM), row)
		}
	}
	return cpu, ram
}

// TestEngineProperties compares what each container belongs to with the plan of the demo.
func TestEngineProperties(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-6 * time.Hour), End: c.End()}
	s := compute(t, db, allocation.Query{Window: w})[0]
	truth := c.Truth(w.Start, w.End)
	rows := map[string]int{}
	for row := range s.Len() {
		rows[s.Text(allocation.PodUID, row)+"/"+s.Text(allocation.Container, row)] = row
	}
	nodes := map[string]map[string]string{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if nodes[n.Name] = n.Labels; n.Labels["kubernetes_io_hostname"] != n.Name {
			t.Errorf("node %s has labels %v", n.Name, n.Labels)
		}
	}
	outage := c.Start().Add(c.End().Sub(c.Start()) * 85 / 100) // of kube-state-metrics, for 12 minutes
	compared := 0
	for i := range truth.Containers {
		x := &truth.Containers[i]
		if !x.LifeEnd.IsZero() && x.LifeEnd.After(outage) && x.LifeStart.After(outage.Add(-time.Minute)) && x.LifeStart.Before(outage.Add(12*time.Minute)) {
			continue // nothing says to whom it belongs
		}
		row, ok := rows[x.UID+"/"+x.Container]
		if !ok {
			continue // jobs of 30s may be missed; TestTruth of the program says which must not
		}
		compared++
		got := []any{
			s.Text(allocation.Cluster, row), s.Text(allocation.NodeName, row), s.Text(allocation.Namespace, row),
			s.Text(allocation.Pod, row), s.Text(allocation.ControllerKind, row), s.Text(allocation.Controller, row),
			texts(s, row), asMap(s, allocation.Labels, row), asMap(s, allocation.Annotations, row),
			asMap(s, allocation.NamespaceLabels, row), asMap(s, allocation.NamespaceAnnotations, row),
		}
		ns := truth.NamespaceOf(x)
		want := []any{
			x.Cluster, x.Node, x.Namespace, x.Pod, x.ControllerKind, x.Controller, orNone(x.Services),
			merged(nodes[x.Node], ns.Labels, x.Labels), merged(ns.Annotations, x.Annotations), merged(ns.Labels), merged(ns.Annotations),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s/%s/%s (-want +got): %s", x.Namespace, x.Pod, x.Container, d)
		}
	}
	if compared < 60 {
		t.Errorf("only %d containers compared", compared)
	}
	spot, provided := 0, 0
	for i := range s.Nodes {
		if s.Nodes[i].Spot {
			spot++
		}
		if s.Nodes[i].ProviderID != "" && s.Nodes[i].InstanceType != "" && s.Nodes[i].Region != "" {
			provided++
		}
	}
	if spot == 0 || provided != len(s.Nodes) || provided != len(truth.Nodes) {
		t.Errorf("%d nodes, %d described, %d spot; want %d, at least one of them spot", len(s.Nodes), provided, spot, len(truth.Nodes))
	}
}

func texts(s *allocation.Set, row int) []string {
	out := []string{}
	for _, id := range s.List(allocation.Services, row) {
		out = append(out, s.Dict().Text(id))
	}
	return out
}

func asMap(s *allocation.Set, p allocation.Property, row int) map[string]string {
	out := map[string]string{}
	for _, pair := range s.Pairs(p, row) {
		out[s.Dict().Text(pair.Key)] = s.Dict().Text(pair.Value)
	}
	return out
}

func merged(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

func orNone(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// computeUnlisted is compute without list prices, which are those of whole machines, however little is known of what these have.
func computeUnlisted(t *testing.T, src promquery.Source, q allocation.Query) []*allocation.Set {
	t.Helper()
	unlisted := config
	unlisted.Rates = pricing.Default()
	sets, err := promquery.NewEngine(src, unlisted).Compute(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// TestEngineAlternatives removes inputs: their alternatives give nearly the same costs. Prices of whole machines would change those of their cores.
func TestEngineAlternatives(t *testing.T) {
	c, db := demoBlocks(t)
	q := allocation.Query{Window: allocation.Window{Start: c.End().Add(-6 * time.Hour), End: c.End()}, Resolution: time.Minute}
	const whole = "karpenter_cloudprovider_instance_type_offering_price_estimate"
	cpu, ram := totals(computeUnlisted(t, without{db, []string{whole}}, q))
	for _, tt := range []struct {
		name      string
		metrics   []string
		tolerance float64
		warning   string
	}{
		{"working set for the running signal", []string{"kube_pod_container_status_running", "kube_pod_init_container_status_running"}, 0.02, ""},
		{"pod phase for the running signal", []string{"kube_pod_container_status_running", "kube_pod_init_container_status_running", "container_memory_working_set_bytes"}, 0.1, ""},
		{"allocatable for capacity", []string{"kube_node_status_capacity"}, 0.001, ""},
		{"first sight for start times", []string{"kube_pod_container_state_started", "kube_pod_start_time"}, 0.02, ""},
		{"default prices", []string{"node_cpu_hourly_cost", "node_ram_hourly_cost", "node_gpu_hourly_cost"}, 1, "lack a price"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sets := computeUnlisted(t, without{db, append(tt.metrics, whole)}, q)
			gotCPU, gotRAM := totals(sets)
			if math.Abs(gotCPU/cpu-1) > tt.tolerance || math.Abs(gotRAM/ram-1) > tt.tolerance && !strings.Contains(tt.name, "phase") {
				t.Errorf("cpu %g, ram %g; with everything there %g, %g", gotCPU, gotRAM, cpu, ram)
			}
			if tt.warning != "" && !slices.ContainsFunc(sets[0].Warnings, func(w string) bool { return strings.Contains(w, tt.warning) }) {
				t.Errorf("no warning of %q: %q", tt.warning, sets[0].Warnings)
			}
		})
	}
}

// failing is a source that does not answer.
type failing struct{ err error }

func (f failing) Select(_ context.Context, _ []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(_ promquery.Yield) (promquery.Stats, error) {
		return promquery.Stats{}, f.err
	})
}

func TestEngineErrors(t *testing.T) {
	w := allocation.Window{Start: time.Unix(0, 0), End: time.Unix(7200, 0)}
	_, db := demoBlocks(t)
	for _, tt := range []struct {
		name string
		src  promquery.Source
		want error
	}{
		{"nothing in the window", db, allocation.ErrNoData},
		{"no answer", failing{errors.New("connection refused")}, allocation.ErrUpstream},
		{"canceled", failing{context.Canceled}, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if errors.Is(tt.want, context.Canceled) {
				cancel()
			}
			var seen promquery.Observation
			cfg := config
			cfg.Observe = func(o promquery.Observation) { seen = o }
			_, err := promquery.NewEngine(tt.src, cfg).Compute(ctx, allocation.Query{Window: w, Resolution: time.Minute})
			if !errors.Is(err, tt.want) || !errors.Is(seen.Err, tt.want) {
				t.Errorf("got %v, observed %v, want %v", err, seen.Err, tt.want)
			}
			if tt.name == "canceled" && errors.Is(err, allocation.ErrUpstream) {
				t.Errorf("%v blames the source", err)
			}
		})
	}
}

// TestEngineSteps checks that any division of a window into sets adds up to the undivided one.
func TestEngineSteps(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-6 * time.Hour), End: c.End()}
	for _, resolution := range []time.Duration{0, time.Minute, 5 * time.Minute, time.Hour} {
		cpu, ram := totals(compute(t, db, allocation.Query{Window: w, Resolution: resolution}))
		for _, step := range []time.Duration{time.Hour, 100 * time.Minute, 7 * time.Minute} {
			gotCPU, gotRAM := totals(compute(t, db, allocation.Query{Window: w, Resolution: resolution, Step: step}))
			if math.Abs(gotCPU-cpu) > 1e-9*cpu || math.Abs(gotRAM-ram) > 1e-9*ram {
				t.Errorf("resolution %s, step %s: cpu %v, ram %v; undivided %v, %v", resolution, step, gotCPU, gotRAM, cpu, ram)
			}
		}
	}
}

func TestResolutionBelowTheScrapeInterval(t *testing.T) {
	c, db := demoBlocks(t)
	q := allocation.Query{Window: allocation.Window{Start: c.End().Add(-time.Hour), End: c.End()}, Resolution: 5 * time.Second}
	s := compute(t, db, q)[0]
	if s.Resolution != 30*time.Second {
		t.Errorf("resolution %s, want the scrape interval of 30s", s.Resolution)
	}
	if !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "5s is finer than the scrape interval: 30s") }) {
		t.Errorf("no warning: %q", s.Warnings)
	}
}

// oldScrape is a pod as old scrapes show it: no uid on kube-state-metrics' series, metric names of version 1, labels
// renamed to exported_… because honor_labels was off, and a cluster label.
func oldScrape(first, last int64) []promtest.Series {
	one := func(int64) float64 { return 1 }
	series := func(v func(int64) float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: append(labels, "cluster", "old"), Samples: promtest.Regular(first, last, 30_000, v)}
	}
	value := func(v float64) func(int64) float64 { return func(int64) float64 { return v } }
	pod := []string{"exported_namespace", "shop", "namespace", "monitoring", "exported_pod", "web-0", "pod", "ksm-1"}
	with := func(name string, labels ...string) []string {
		return append(append([]string{"__name__", name}, pod...), labels...)
	}
	return []promtest.Series{
		series(one, "__name__", "kube_node_info", "node", "n1"),
		series(value(4), "__name__", "kube_node_status_capacity_cpu_cores", "node", "n1"),
		series(value(16<<30), "__name__", "kube_node_status_capacity_memory_bytes", "node", "n1"),
		series(one, with("kube_pod_info", "exported_node", "n1", "node", "n9", "uid", "0f2d3c1a-0000-4000-8000-000000000001")...),
		series(one, with("kube_pod_container_status_running", "exported_container", "app", "container", "ksm")...),
		series(value(2), with("kube_pod_container_resource_requests_cpu_cores", "exported_container", "app", "container", "ksm")...),
		series(func(t int64) float64 { return float64(t-first) / 1000 * 3 }, "__name__", "container_cpu_usage_seconds_total",
			"namespace", "shop", "pod_name", "web-0", "container_name", "app", "id", "/kubepods/burstable/pod0f2d3c1a-0000-4000-8000-000000000001/abc"),
	}
}

func TestEngineOldScrapes(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, oldScrape(end.Add(-4*time.Hour).UnixMilli(), end.UnixMilli())...)
	q := allocation.Query{Window: allocation.Window{Start: end.Add(-2 * time.Hour), End: end}, Resolution: time.Minute}
	s := compute(t, openBlocks(t, dir), q)[0]
	if s.Len() != 1 {
		t.Fatalf("%d allocations, want 1", s.Len())
	}
	if got, want := s.Name(0), "old/n1/shop/web-0/app"; got != want {
		t.Errorf("name %s, want %s", got, want)
	}
	if got := s.Text(allocation.PodUID, 0); got != "0f2d3c1a-0000-4000-8000-000000000001" {
		t.Errorf("uid %s", got)
	}
	if got := s.Value(allocation.Hours.Of(allocation.CPU), 0); math.Abs(got-6) > 1e-9 {
		t.Errorf("%v core-hours, want 6: 3 cores used of 2 requested for 2h", got)
	}
}

// TestSourcesAgree computes the same window of the demo cluster from every source. A source on the grid agrees with those that
// give every sample, and those agree in exact mode, too.
func TestSourcesAgree(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	live, err := democluster.Open(t.Context(), filepath.Join(t.TempDir(), "live"), c, democluster.DBOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	w := allocation.Window{Start: c.End().Add(-5 * time.Hour), End: c.End()} // a window that the demo writes first
	for _, resolution := range []time.Duration{time.Minute, 7 * time.Minute, 0} {
		q := allocation.Query{Window: w, Resolution: resolution, Step: 3 * time.Hour}
		want := compute(t, chunks.New(live, chunks.Options{}), q)
		for _, source := range sources {
			t.Run(source.name+"/"+resolution.String(), func(t *testing.T) {
				src := source.open(t, dir)
				if src.sampled && resolution == 0 {
					t.Skip("has no staleness markers: its ends are a scrape interval late (TestTruth of the program bounds that)")
				}
				got := compute(t, src, q)
				if len(got) != len(want) {
					t.Fatalf("%d sets, want %d", len(got), len(want))
				}
				for i := range want {
					compareSets(t, got[i], want[i], crashing(src.sampled)...)
				}
			})
		}
	}
}

// crashing are the containers of which usage is compared less narrowly where samples are those of a grid: they run for less than a cell,
// and without staleness markers a counter is seen for 5 minutes after its end, so that it rises in another cell (SEMANTICS §2: usage on a
// grid is what PromQL sees there).
func crashing(sampled bool) []string {
	if sampled {
		return []string{"webhook"}
	}
	return nil
}

// compareSets checks that two sets have the same rows, with the same values but for rounding; usage of CPU of the containers of the
// names in crashing may differ by 2 %. Where there are such, samples are those of a grid: what was not seen for less than 5 minutes is not
// known there, so bounds are wider, but both hold the truth: they have to overlap.
func compareSets(t *testing.T, got, want *allocation.Set, crashing ...string) {
	t.Helper()
	if got.Len() != want.Len() || len(got.Nodes) != len(want.Nodes) {
		t.Fatalf("%d allocations and %d nodes, want %d and %d", got.Len(), len(got.Nodes), want.Len(), len(want.Nodes))
	}
	for row := range want.Len() {
		if got.Name(row) != want.Name(row) || got.Text(allocation.PodUID, row) != want.Text(allocation.PodUID, row) {
			t.Fatalf("row %d is %s, want %s", row, got.Name(row), want.Name(row))
		}
		least, most := max(got.Value(allocation.LeastSeconds, row), want.Value(allocation.LeastSeconds, row)), min(got.Value(allocation.MostSeconds, row), want.Value(allocation.MostSeconds, row))
		if least > most {
			t.Errorf("%s: it ran for %v s at the least by one, for %v at the most by the other", want.Name(row), least, most)
		}
		for column := range allocation.NumColumns {
			if len(crashing) > 0 && (column == allocation.LeastSeconds || column == allocation.MostSeconds) {
				continue
			}
			slack := 1e-9
			if column == allocation.UsageMax.Of(allocation.CPU) {
				slack = 1e-8 // a difference of counters, of which VictoriaMetrics keeps 12 digits
			}
			if column == allocation.UsageHours.Of(allocation.CPU) && slices.Contains(crashing, want.Text(allocation.Container, row)) {
				slack = 0.02
			}
			g, w := got.Value(column, row), want.Value(column, row)
			if (g == g || w == w) && !(math.Abs(g-w) <= slack*math.Abs(w)+1e-12) {
				t.Errorf("%s: %s: got %v, want %v", want.Name(row), column, g, w)
			}
		}
	}
}
