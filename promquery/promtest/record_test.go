//go:build e2e

package promtest_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promtest"
)

var record = flag.Bool("record", false, "write the recordings below testdata/recorded again")

const (
	scrapes     = 9
	scrapeEvery = 15 * time.Second
)

// kept are the metrics of a recording of several scrapes: those that inputs read and related ones. The recording of one scrape has
// the others.
var kept = regexp.MustCompile(`^(kube_pod_(info|owner|labels|annotations|created|start_time|completion_time|deletion_timestamp|status_phase|status_scheduled_time` +
	`|spec_volumes_persistentvolumeclaims_info|(init_)?container_.*)|kube_namespace_(labels|annotations|created)|kube_node_(info|labels|created|status_.*)` +
	`|kube_(replicaset|job)_owner|kube_service_.*|kube_endpointslice_(info|labels|endpoints)|kube_persistentvolume.*|node_.*)$`)

// ofCollector are the metrics of an OpenTelemetry Collector that inputs read and related ones.
var ofCollector = regexp.MustCompile(`^(container_(cpu_time|memory_working_set)|k8s_(container_(cpu|memory|ready|restarts|status)|node_|pod_(phase|cpu_time|memory_working|network_io)|volume_))`)

// prices are those that OpenCost is given, in its own format.
const prices = `{"provider": "custom", "description": "made up", "CPU": "0.04", "spotCPU": "0.012", "RAM": "0.005", "spotRAM": "0.0015", "GPU": "1.1",
"storage": "0.0001", "zoneNetworkEgress": "0.01", "regionNetworkEgress": "0.02", "internetNetworkEgress": "0.09",
"spotLabel": "eks.amazonaws.com/capacityType", "spotLabelValue": "SPOT", "defaultLBPrice": "0.0225"}`

// target is what is scraped.
type target struct {
	name, url string
	once      bool                     // the last scrape is recorded as it is
	keep      func(metric string) bool // of the metrics
	all       promtest.Recording
	last      string // exposition
}

// cluster starts a cluster with the objects, and what exports metrics of it.
func cluster(t *testing.T) (*promtest.Kubernetes, *promtest.Observer, []*target) {
	k := promtest.StartKubernetes(t)
	everything := func(string) bool { return true }
	first := promtest.StartKubeStateMetrics(t, k)
	targets := []*target{
		{name: "kube-state-metrics", url: first, once: true, keep: everything},
		{name: "kube-state-metrics-allowlists", url: promtest.StartKubeStateMetrics(t, k, promtest.Allowlists...), keep: kept.MatchString},
		{name: "kube-state-metrics-more", once: true, keep: everything, url: promtest.StartKubeStateMetrics(t, k,
			"--resources=endpoints,persistentvolumes,services", "--metric-labels-allowlist=persistentvolumes=[*],services=[*]")},
		{name: "node-exporter", keep: kept.MatchString, url: promtest.StartNodeExporter(t,
			"--collector.disable-defaults", "--collector.cpu", "--collector.meminfo", "--web.disable-exporter-metrics")},
	}
	if os.Getenv("OTELCOL") == "" {
		t.Log("the OpenTelemetry Collector is not recorded: OTELCOL does not name its binary")
	} else {
		targets = append(targets, &target{name: "opentelemetry", url: promtest.StartCollector(t, k, ""), once: true, keep: ofCollector.MatchString})
	}
	observer := promtest.Observe(t, k)
	objects, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k.Create(t, string(objects))
	if os.Getenv("OPENCOST") == "" {
		t.Log("OpenCost is not recorded: OPENCOST does not name its binary")
		return k, observer, targets
	}
	prometheus := promtest.Start(t, "", promtest.Config{YAML: "scrape_configs: [{job_name: ksm, scrape_interval: 5s, static_configs: [{targets: [" +
		strings.TrimPrefix(first, "http://") + "]}]}]\n"})
	return k, observer, append(targets, &target{name: "opencost", once: true, keep: costs.MatchString, url: promtest.StartOpenCost(t, k, prometheus, prices)})
}

// costs are the metrics of OpenCost that are not about its process.
var costs = regexp.MustCompile(`^(container_|deployment_|kube_|kubecost_(cluster|load|network|node|pv)_|node_|opencost_|pod_|pv_|service_|statefulSet_)`)

// events are what happens before a scrape.
var events = map[int]func(t *testing.T, k *promtest.Kubernetes) error{
	3: func(t *testing.T, k *promtest.Kubernetes) error {
		return k.Do(t.Context(), http.MethodDelete, promtest.Path("Pod", "batch", "leaves"), nil, nil)
	},
	5: func(t *testing.T, k *promtest.Kubernetes) error {
		relabeled := map[string]any{"metadata": map[string]any{"labels": map[string]any{"Team": "Platform"}}}
		return k.Do(t.Context(), http.MethodPatch, promtest.Path("Namespace", "", "batch"), relabeled, nil)
	},
}

// TestRecordE2E scrapes real exporters over a real API. With -record it writes what they expose; without, it checks that
// the recordings still have the metrics and label names that they expose.
func TestRecordE2E(t *testing.T) {
	k, observer, targets := cluster(t)
	ticks := time.NewTicker(scrapeEvery)
	defer ticks.Stop()
	start := time.Now()
	for i := range scrapes {
		<-ticks.C
		at := start.Add(time.Duration(i+1) * scrapeEvery).Truncate(time.Second)
		for _, target := range targets {
			target.last = promtest.Fetch(t, target.url+"/metrics")
			scrape, err := promtest.ParseRecording(target.last)
			if err != nil {
				t.Fatal(err)
			}
			target.all.Add(at, scrape, target.keep)
		}
		if event := events[i]; event != nil {
			if err := event(t, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *record {
		if err := os.WriteFile("testdata/recorded/runs", []byte(promtest.FormatRuns(observer.Runs(t))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range targets {
		text := target.all.Format(scrapeEvery)
		if target.once {
			text = sortFamilies(target.last, target.keep)
		}
		if *record {
			if err := os.WriteFile(filepath.Join("testdata/recorded", target.name+".txt"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		fresh, err := promtest.ParseRecording(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(promtest.Recorded(t, target.name).Shapes(), fresh.Shapes()); diff != "" {
			t.Errorf("%s exposes other metrics or labels than were recorded; `make record` records them (-recorded +now):\n%s", target.name, diff)
		}
	}
}

// sortFamilies sorts the lines of each metric, for their order is another one at each scrape, and drops the metrics that
// are not kept.
func sortFamilies(exposition string, keep func(metric string) bool) string {
	var out []string
	lines := strings.SplitAfter(exposition, "\n")
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && !strings.HasPrefix(lines[j], "# HELP") {
			j++
		}
		family := lines[i:j]
		if fields := strings.Fields(family[0]); len(fields) < 3 || keep(fields[2]) {
			comments := slices.IndexFunc(family, func(line string) bool { return !strings.HasPrefix(line, "#") })
			slices.Sort(family[max(comments, 0):])
			out = append(out, family...)
		}
		i = j
	}
	return strings.Join(out, "")
}
