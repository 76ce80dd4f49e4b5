package collector_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/collector"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// latest is a LatestSet that tests change.
type latest struct {
	set atomic.Pointer[allocation.Set]
}

func (l *latest) Latest() (*allocation.Set, time.Time, error) {
	set := l.set.Load()
	if set == nil {
		return nil, time.Time{}, errors.New("compute last hour: not yet")
	}
	return set, set.Window.End, nil
}

// end is when the hour of every made set ends.
var end = time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)

// newSet is an hour with nothing in it.
func newSet() *allocation.Set {
	set := allocation.NewSet(allocation.Window{Start: end.Add(-time.Hour), End: end}, allocation.NewDict())
	set.Resolution = time.Minute
	return set
}

// appendContainer adds a container that costs, uses and requests as much CPU as it costs RAM twice.
func appendContainer(set *allocation.Set, cluster, namespace, kind, controller string, cost float64) {
	row := &allocation.Row{Start: set.Window.Start, End: set.Window.End}
	row.Text[allocation.Cluster], row.Text[allocation.Namespace] = cluster, namespace
	row.Text[allocation.ControllerKind], row.Text[allocation.Controller] = kind, controller
	for r, factor := range map[allocation.Resource]float64{allocation.CPU: 1, allocation.RAM: 2} {
		row.Values[allocation.Cost.Of(r)] = cost * factor
		row.Values[allocation.RequestHours.Of(r)] = cost * factor
		row.Values[allocation.UsageHours.Of(r)] = cost
	}
	set.Append(row)
}

// madeSet is a small cluster with something of every family.
func madeSet() *allocation.Set {
	set := newSet()
	appendContainer(set, "prod", "shop", "deployment", "web", 0.5)
	appendContainer(set, "prod", "shop", "deployment", "web", 0.25)
	appendContainer(set, "prod", "shop", "", "", 0.125)
	appendContainer(set, "prod", "kube-system", "daemonset", "proxy\"\\\n", 0.0625)
	set.Nodes = []allocation.Node{
		{
			Cluster: "prod", Name: "n1", InstanceType: "m5.large", Region: "eu-west-1", Zone: "eu-west-1a", ProviderID: "aws:///eu-west-1a/i-1",
			Hours: [allocation.NumResources]float64{2, 8 << 30, 0},
			Cost:  [allocation.NumResources]float64{1, 2, 0}, Idle: [allocation.NumResources]float64{0.25, 0.5, 0},
		},
		{
			Cluster: "prod", Name: "n2", Spot: true,
			Hours: [allocation.NumResources]float64{2, 8 << 30, 1},
			Cost:  [allocation.NumResources]float64{1, 2, 3}, Idle: [allocation.NumResources]float64{1, 1, 3},
		},
	}
	set.Residuals = []allocation.Residual{{Cluster: "prod", Resource: allocation.CPU, Cost: 0.0078125, Overcommit: 0.015625}}
	return set
}

// serve is a registry that checks all it can, with a Collector of set in it.
func serve(t testing.TB, set *allocation.Set, cfg collector.Config) (*prometheus.Registry, *latest) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	return reg, register(t, reg, set, cfg)
}

// register adds a Collector of set to reg.
func register(t testing.TB, reg *prometheus.Registry, set *allocation.Set, cfg collector.Config) *latest {
	t.Helper()
	source := &latest{}
	source.set.Store(set)
	reg.MustRegister(collector.New(source, cfg))
	return source
}

// metered serves the subjects that are always served and one more with at most so many series; 0 is the default.
func metered(t testing.TB, name string, most int) collector.Config {
	t.Helper()
	m, err := metering.New(metering.Options{Enabled: []string{name}, MaxSeries: most})
	if err != nil {
		t.Fatal(err)
	}
	return collector.Config{Metering: func() *metering.Metering { return m }}
}

// render is the page that a scrape of the registry gets.
func render(t testing.TB, reg *prometheus.Registry) string {
	t.Helper()
	page := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if page.Code != http.StatusOK {
		t.Fatalf("status %d: %s", page.Code, page.Body)
	}
	return page.Body.String()
}

func TestExposition(t *testing.T) {
	for _, test := range []struct {
		name string
		set  *allocation.Set
		cfg  collector.Config
	}{
		{name: "defaults", set: madeSet(), cfg: collector.Config{Bounds: timeline.ServedBounds}},
		{name: "only-nodes", set: madeSet(), cfg: metered(t, "node", 0)},
		{name: "before-first-set", cfg: collector.Config{Bounds: timeline.ServedBounds}},
		{name: "empty-set", set: newSet(), cfg: collector.Config{Bounds: timeline.ServedBounds}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg, _ := serve(t, test.set, test.cfg)
			golden(t, test.name, render(t, reg))
		})
	}
}

// golden compares got with a golden file, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".metrics")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("exposition differs from %s (-want +got):\n%s", path, diff)
	}
}

func TestBoundsOfExactMode(t *testing.T) {
	for _, tt := range []struct {
		name     string
		interval time.Duration
		want     bool
	}{
		{"scrape interval unknown", 0, false},
		{"scrape interval known", time.Minute, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := madeSet()
			set.Resolution, set.ScrapeInterval = 0, tt.interval
			reg, _ := serve(t, set, collector.Config{Bounds: timeline.ServedBounds})
			page := render(t, reg)
			got := strings.Contains(page, `promcost_error_bound_ratio{bound="lower",running="1h"} 0.98`)
			if got != tt.want || !strings.Contains(page, "promcost_resolution_seconds 0\n") {
				t.Errorf("bounds %v, want %v, and resolution 0:\n%s", got, tt.want, page)
			}
		})
	}
}

func TestLastSetStays(t *testing.T) {
	reg, source := serve(t, madeSet(), collector.Config{})
	want := render(t, reg)
	source.set.Store(nil)
	if diff := cmp.Diff(want, render(t, reg)); diff != "" {
		t.Errorf("exposition changed when the set went away (-before +after):\n%s", diff)
	}
}

func TestSwitches(t *testing.T) {
	want := []collector.Switch{
		{Name: "namespace", Help: "Export cost and efficiency of namespaces.", Default: true},
		{Name: "controller", Help: "Export cost and efficiency of controllers (deployments, daemonsets, cronjobs, …).", Default: true},
		{Name: "pod", Help: "Export cost and efficiency of pods: many series."},
		{Name: "container", Help: "Export cost and efficiency of containers: very many series."},
		{Name: "label", Help: "Export cost and efficiency by the values of the labels that --collector.label.names names."},
		{Name: "idle", Help: "Export cost of what nodes have and no workload was allocated.", Default: true},
		{Name: "node", Help: "Export cost of nodes.", Default: true},
		{Name: "volume", Help: "Export cost of persistent volumes.", Default: true},
		{Name: "loadbalancer", Help: "Export cost of load balancers.", Default: true},
		{Name: "network", Help: "Export cost of traffic to other zones, other regions and the internet.", Default: true},
		{Name: "attacheddisk", Help: "Export cost of the disks attached to nodes.", Default: true},
		{Name: "clustermanagement", Help: "Export cost of running clusters' control planes.", Default: true},
		{Name: "budget", Help: "Export what is spent of the budgets of the config file, and what they will come to.", Default: true},
		{Name: "expected", Help: "Export what namespaces and controllers should cost by their last four weeks, and how unusual their cost is.", Default: true},
		{Name: "recommended", Help: "Export what containers should request, by the last 14 days of the history."},
		{Name: "opencost", Help: "Export what dashboards and rules for OpenCost read, by the names and labels of its metrics: scrape with honor_labels."},
		{Name: "opencost-kube", Help: "Export the few series of kube-state-metrics that dashboards for OpenCost want of the same job."},
	}
	if diff := cmp.Diff(want, collector.Switches()); diff != "" {
		t.Errorf("switches differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"namespace", "controller", "pod", "container", "label", "idle", "node", "volume", "loadbalancer", "network", "attacheddisk", "clustermanagement", "budget", "expected", "recommended", "opencost", "opencost-kube"}, collector.Names()); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
}

// families are the metric families of the registry, by name.
func families(t testing.TB, reg *prometheus.Registry) map[string][]*dto.Metric {
	t.Helper()
	gathered, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]*dto.Metric{}
	for _, f := range gathered {
		byName[f.GetName()] = f.GetMetric()
	}
	return byName
}

// label is the value of a metric's label.
func label(m *dto.Metric, name string) string {
	for _, p := range m.GetLabel() {
		if p.GetName() == name {
			return p.GetValue()
		}
	}
	return ""
}

// dropped is promcost_series_dropped_total of a collector.
func dropped(metrics map[string][]*dto.Metric, name string) float64 {
	for _, m := range metrics["promcost_series_dropped_total"] {
		if label(m, "collector") == name {
			return m.GetCounter().GetValue()
		}
	}
	return math.NaN()
}

func TestCap(t *testing.T) {
	const limit = 300
	for _, test := range []struct {
		name                  string
		clusters, namespaces  int
		wantOtherClusters     []string
		wantKept, wantDropped int // namespaces; series
	}{
		{name: "within the limit, with room for others", clusters: 1, namespaces: 72, wantKept: 72},
		{name: "others stay in their cluster", clusters: 3, namespaces: 40, wantOtherClusters: []string{"c0", "c1", "c2"}, wantKept: 68, wantDropped: 52 * 4},
		{name: "more clusters than half the limit holds", clusters: 40, namespaces: 3, wantOtherClusters: []string{allocation.OtherName, "c0", "c1", "c10", "c11", "c12", "c13", "c14", "c15", "c16", "c17", "c18", "c19", "c2", "c20", "c21", "c22"}, wantKept: 36, wantDropped: 84 * 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, sum := newSet(), 0.0
			for i := range test.clusters * test.namespaces {
				appendContainer(set, fmt.Sprintf("c%d", i%test.clusters), fmt.Sprintf("ns%d", i), "deployment", "web", float64(i))
				sum += 3 * float64(i)
			}
			reg, _ := serve(t, set, metered(t, "namespace", limit))
			got := families(t, reg)
			costs := got["promcost_namespace_hourly_cost"]
			if n := len(costs) + len(got["promcost_namespace_efficiency_ratio"]); n > limit {
				t.Errorf("there are %d series, want at most %d", n, limit)
			}
			var others []string
			least, kept, exported := math.Inf(1), 0, 0.0
			for _, m := range costs {
				exported += m.GetGauge().GetValue()
				switch {
				case label(m, "resource") != "cpu":
				case label(m, "namespace") == allocation.OtherName:
					others = append(others, label(m, "cluster"))
				default:
					kept++
					least = min(least, m.GetGauge().GetValue())
				}
			}
			if exported != sum { // whole numbers: their sums are exact
				t.Errorf("exported costs sum to %g, want %g", exported, sum)
			}
			if kept != test.wantKept || dropped(got, "namespace") != float64(test.wantDropped) {
				t.Errorf("%d namespaces are kept and %g series dropped, want %d and %d", kept, dropped(got, "namespace"), test.wantKept, test.wantDropped)
			}
			if smallest := float64(test.clusters*test.namespaces - kept); least != smallest {
				t.Errorf("the smallest cost kept is %g, want %g: the largest are to be kept", least, smallest)
			}
			if diff := cmp.Diff(test.wantOtherClusters, others); diff != "" {
				t.Errorf("clusters of __other__ differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCapCountsEachSetOnceAndWarnsOnce(t *testing.T) {
	capped := func() *allocation.Set {
		set := newSet()
		for i := range 100 {
			appendContainer(set, "c", fmt.Sprintf("ns%d", i), "deployment", "web", float64(i))
		}
		return set
	}
	var logged bytes.Buffer
	cfg := metered(t, "namespace", 100)
	cfg.Logger = log.NewLogfmtLogger(&logged)
	reg, source := serve(t, capped(), cfg)
	first := dropped(families(t, reg), "namespace")
	if again := dropped(families(t, reg), "namespace"); first == 0 || again != first {
		t.Errorf("%g series dropped after one scrape, %g after two of the same set", first, again)
	}
	source.set.Store(capped())
	if second := dropped(families(t, reg), "namespace"); second != 2*first {
		t.Errorf("%g series dropped after two sets, want %g", second, 2*first)
	}
	if n := strings.Count(logged.String(), "collector=namespace"); n != 1 {
		t.Errorf("there are %d warnings of namespace, want 1:\n%s", n, &logged)
	}
}

// TestDropsOfTheMonthAreCounted shows an hour before the month is known. The month has more series than the hour.
func TestDropsOfTheMonthAreCounted(t *testing.T) {
	cfg := metered(t, "namespace", 100)
	var accrued *metering.Accrued
	cfg.Accrued = func() *metering.Accrued { return accrued }
	latest := &latest{}
	c := collector.New(latest, cfg)
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	few := monthHour(1, 5)
	latest.set.Store(few)
	if n := dropped(families(t, reg), "namespace"); n != 0 {
		t.Errorf("%g series dropped of five namespaces", n)
	}
	month := metering.NewAccrued(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), cfg.Metering()).Add(monthHour(0, 90), few)
	accrued = month
	first := dropped(families(t, reg), "namespace")
	if first <= 0 {
		t.Error("what the month drops is not counted before the next hour")
	}
	accrued = month.Until(few.Window.End) // the same
	if again := dropped(families(t, reg), "namespace"); again != first {
		t.Errorf("%g series dropped, %g once the same set was rendered again", first, again)
	}
}

func TestNotFiniteIsDroppedAndCounted(t *testing.T) {
	set := newSet()
	appendContainer(set, "c", "good", "deployment", "web", 1)
	appendContainer(set, "c", "bad", "deployment", "web", math.NaN())
	reg, _ := serve(t, set, collector.Config{})
	got := families(t, reg)
	for name, metrics := range got {
		for _, m := range metrics {
			if v := m.GetGauge().GetValue(); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s{%v} is %g", name, m.GetLabel(), v)
			}
		}
	}
	if n := dropped(got, "controller"); n != 2 {
		t.Errorf("%g series of controllers were dropped, want 2", n)
	}
}

// TestConcurrentScrapes scrapes while sets change; a page must be of one set.
func TestConcurrentScrapes(t *testing.T) {
	sets := make([]*allocation.Set, 4)
	for i := range sets {
		sets[i] = newSet()
		for n := range 20 {
			appendContainer(sets[i], "c", fmt.Sprintf("ns%d", n), "deployment", "web", float64(i+1))
		}
	}
	reg, source := serve(t, sets[0], metered(t, "controller", 200))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				gathered, err := reg.Gather()
				if err != nil {
					t.Error(err)
					return
				}
				values := map[float64]bool{}
				for _, f := range gathered {
					for _, m := range f.GetMetric() {
						if f.GetName() == "promcost_controller_hourly_cost" && label(m, "resource") == "cpu" {
							values[m.GetGauge().GetValue()] = true
						}
					}
				}
				if len(values) != 1 {
					t.Errorf("a scrape has costs of %d sets: %v", len(values), values)
				}
			}
		})
	}
	for i := range 200 {
		source.set.Store(sets[i%len(sets)])
	}
	wg.Wait()
}

func TestPromtoolCheckMetrics(t *testing.T) {
	promtool := os.Getenv("PROMTOOL")
	if promtool == "" {
		promtool = filepath.Join("..", "bin", "promtool")
	}
	if _, err := os.Stat(promtool); err != nil {
		t.Fatalf("find promtool: %v: run make tools, or name the binary in PROMTOOL", err)
	}
	reg := serveEverything(t)
	if err := collector.NewStore(reg, func() collector.StoreState { return collector.StoreState{} }); err != nil {
		t.Fatal(err)
	}
	if err := collector.NewBills(reg, func() int { return 100 }, fullBills, log.NewNopLogger()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(render(t, reg))
	const known = `node_gpu_count non-histogram and non-summary metrics should not have "_count" suffix` // it is OpenCost's name
	if out, _ := cmd.CombinedOutput(); strings.TrimSpace(string(out)) != known {
		t.Errorf("promtool check metrics: %s", out)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) != 1 || problems[0].Metric != "node_gpu_count" {
		t.Errorf("lint: %v, %v", problems, err)
	}
}
