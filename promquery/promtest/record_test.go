//go:build e2e

package promtest_test

import (
	"flag"
	"maps"
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

// kept are the metrics that a recording of several scrapes has: what inputs read, and what is near it. The others are in
// the recording of one scrape.
var kept = regexp.MustCompile(`^(kube_pod_(info|owner|labels|annotations|created|start_time|completion_time|deletion_timestamp|status_phase|status_scheduled_time` +
	`|spec_volumes_persistentvolumeclaims_info|(init_)?container_.*)|kube_namespace_(labels|annotations|created)|kube_node_(info|labels|created|status_.*)` +
	`|kube_(replicaset|job)_owner|kube_service_.*|kube_endpointslice_(info|labels|endpoints)|kube_persistentvolume.*|node_.*)$`)

// recorded are the targets.
var recorded = []struct {
	name  string
	start func(t *testing.T, k *promtest.Kubernetes) (url string)
	once  bool // the last scrape is kept as it is
}{
	{"kube-state-metrics", func(t *testing.T, k *promtest.Kubernetes) string { return promtest.StartKubeStateMetrics(t, k) }, true},
	{"kube-state-metrics-allowlists", func(t *testing.T, k *promtest.Kubernetes) string {
		return promtest.StartKubeStateMetrics(t, k, promtest.Allowlists...)
	}, false},
	{"node-exporter", func(t *testing.T, _ *promtest.Kubernetes) string {
		return promtest.StartNodeExporter(t, "--collector.disable-defaults", "--collector.cpu", "--collector.meminfo", "--web.disable-exporter-metrics")
	}, false},
}

// TestRecordE2E scrapes real exporters over a real API. With -record it writes what they expose; without, it checks that
// the recordings still have the metrics and label names that they expose.
func TestRecordE2E(t *testing.T) {
	k := promtest.StartKubernetes(t)
	var urls []string
	for _, r := range recorded {
		urls = append(urls, r.start(t, k))
	}
	objects, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k.Create(t, string(objects))
	all := make([]promtest.Recording, len(recorded))
	last := make([]string, len(recorded))
	ticks := time.NewTicker(scrapeEvery)
	defer ticks.Stop()
	start := time.Now()
	for i := range scrapes {
		<-ticks.C
		at := start.Add(time.Duration(i+1) * scrapeEvery).Truncate(time.Second)
		for n, url := range urls {
			last[n] = promtest.Fetch(t, url+"/metrics")
			scrape, err := promtest.ParseRecording(last[n])
			if err != nil {
				t.Fatal(err)
			}
			all[n].Add(at, scrape, kept.MatchString)
		}
	}
	for n, r := range recorded {
		text := all[n].Format(scrapeEvery)
		if r.once {
			text = sortFamilies(last[n])
		}
		if *record {
			if err := os.WriteFile(filepath.Join("testdata/recorded", r.name+".txt"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		fresh, err := promtest.ParseRecording(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shapes(promtest.Recorded(t, r.name)), shapes(fresh)); diff != "" {
			t.Errorf("%s exposes other metrics or labels than were recorded; `make record` records them (-recorded +now):\n%s", r.name, diff)
		}
	}
}

// sortFamilies sorts the lines of each metric: their order is another one at each scrape.
func sortFamilies(exposition string) string {
	lines := strings.SplitAfter(exposition, "\n")
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && !strings.HasPrefix(lines[j], "# HELP") {
			j++
		}
		family := lines[i:j]
		comments := 0
		for comments < len(family) && strings.HasPrefix(family[comments], "#") {
			comments++
		}
		slices.Sort(family[comments:])
		i = j
	}
	return strings.Join(lines, "")
}

// shapes are the label names of each metric.
func shapes(r promtest.Recording) map[string][]string {
	names := map[string]map[string]bool{}
	for _, s := range r.Series {
		metric := ""
		for i := 0; i < len(s.Labels); i += 2 {
			if s.Labels[i] == "__name__" {
				metric = s.Labels[i+1]
			}
		}
		if names[metric] == nil {
			names[metric] = map[string]bool{}
		}
		for i := 0; i < len(s.Labels); i += 2 {
			names[metric][s.Labels[i]] = true
		}
	}
	out := map[string][]string{}
	for metric, labels := range names {
		out[metric] = slices.Sorted(maps.Keys(labels))
	}
	return out
}
