package promquery_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/thanos"
	"github.com/promcost/promcost/promquery/victoria"
)

// lastHour is the last hour of the demo.
func lastHour(end time.Time) allocation.Window {
	return allocation.Window{Start: end.Add(-time.Hour), End: end}
}

// TestDiagnose hides metrics from a source and checks what is said of the inputs that they served.
func TestDiagnose(t *testing.T) {
	c, db := demoBlocks(t)
	for _, tt := range []struct {
		name     string
		metrics  []string
		states   map[string]diagnosis.State // of the others: found, but none of endpoint addresses
		complete bool
	}{
		{"everything", nil, nil, true},
		{"labels", []string{"kube_pod_labels", "kube_node_labels"}, map[string]diagnosis.State{"pod labels": "missing", "node labels": "missing"}, true},
		{"what stands in", []string{"kube_pod_container_status_running", "kube_node_status_capacity"}, map[string]diagnosis.State{
			"running": "fallback", "node cpu": "fallback", "node memory": "fallback", "node gpu": "fallback", "node disk": "fallback",
		}, true},
		{"what may rightly not be there", []string{"kube_pod_deletion_timestamp", "node_gpu_hourly_cost"}, map[string]diagnosis.State{
			"node gpu price": "none",
		}, true},
		{"what other inputs show to be missing", []string{"kube_pod_init_container_status_running"}, map[string]diagnosis.State{"init running": "missing"}, true},
		{"usage", []string{"container_cpu_usage_seconds_total", "container_memory_working_set_bytes"}, map[string]diagnosis.State{
			"cpu usage": "missing", "memory usage": "missing",
		}, true},
		{"pods", []string{"kube_pod_info"}, map[string]diagnosis.State{"pod": "missing"}, false},
		{"all that runs", []string{"kube_pod_container_status_running", "container_memory_working_set_bytes", "kube_pod_container_info"}, map[string]diagnosis.State{
			"running": "missing", "memory usage": "missing",
		}, false},
		{"capacity", []string{"kube_node_status_capacity", "kube_node_status_allocatable"}, map[string]diagnosis.State{
			"node cpu": "missing", "node memory": "missing", "node gpu": "fallback", "node disk": "fallback",
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := promquery.NewEngine(without{db, tt.metrics}, config).Diagnose(t.Context(), lastHour(c.End()))
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Clusters) != 1 || d.Complete() != tt.complete {
				t.Fatalf("%d clusters, complete %t, want 1 and %t", len(d.Clusters), d.Complete(), tt.complete)
			}
			for i := range d.Clusters[0].Inputs {
				checkInput(t, &d.Clusters[0].Inputs[i], tt.states, c.End())
			}
		})
	}
}

// rare are inputs that a cluster has only some of the time.
var rare = []string{
	"sidecar running", "init started", "volume labels", "service labels", "claim capacity", "claim usage", "node disk", "node disk usage", "network egress", "zone egress price", "region egress price",
	"internet egress price", "cluster management price", "pod scheduled", "pod pending", "gpu usage", "node cpu time", "node total memory",
	"node available memory", "node buffers", "node caches", "init state started", "init terminated", "cpu allocated", "memory allocated",
	"pod cpu reserve", "pod memory reserve", "pod cpu overhead", "pod memory overhead",
	"pod cpu usage", "pod memory usage", "pod claims", "other devices", "node taints", "pod capacity",
	"cpu periods", "throttled cpu periods", "oom kills", "killed for memory", "cpu waiting time", "autoscaler", "autoscaler metric",
	"instance price", "instance cpu price", "instance memory price", "whole volume price", "offering price",
}

// checkInput checks that an input has the state it should, and what goes with that.
func checkInput(t *testing.T, in *diagnosis.Input, states map[string]diagnosis.State, end time.Time) {
	t.Helper()
	want, ok := states[in.Name]
	switch {
	case ok:
	case in.Name == "endpoint addresses" || in.Name == "service selectors" || in.Name == "pod deleted":
		want = diagnosis.None
	case slices.Contains(rare, in.Name) && len(in.Alternatives) == 0:
		return
	default:
		want = diagnosis.Found
	}
	there := want == diagnosis.Found || want == diagnosis.Fallback
	if in.State != want || there != (len(in.Alternatives) > 0) || (want == diagnosis.Found) == (in.Remedy != "") || (in.Remedy != "") != (in.Missing != "") {
		t.Errorf("%s is %s, want %s: %+v", in.Name, in.State, want, in)
	}
	if there && (end.Sub(in.Newest) > time.Minute || in.ScrapeInterval.Round(time.Second) != 30*time.Second) {
		t.Errorf("%s: newest sample %s, every %s", in.Name, in.Newest, in.ScrapeInterval)
	}
}

// TestDiagnoseSources diagnoses the same blocks through every source.
func TestDiagnoseSources(t *testing.T) {
	c, dir := demoDir(t)
	cfg, named := config, map[string]string{"chunks over a TSDB": "tsdb", "blocks": "blocks", "remote read": "remote-read", "query API": "query", "VictoriaMetrics": victoria.Name, "Thanos": thanos.Name, "bucket": bucket.Name}
	var first []diagnosis.Cluster
	for _, source := range sources {
		t.Run(source.name, func(t *testing.T) {
			src := source.open(t, dir)
			d, err := promquery.NewEngine(src.Source, cfg).Diagnose(t.Context(), lastHour(c.End()))
			if err != nil {
				t.Fatal(err)
			}
			if start := c.End().Add(-time.Hour); source.name == "blocks" != d.Oldest.Before(start) || d.Oldest.Sub(start) > time.Minute {
				t.Errorf("oldest sample %s", d.Oldest)
			}
			if len(d.Sources) != 1 || d.Sources[0].Samples == 0 || d.Sources[0].Requests == 0 || d.Sources[0].Name != named[source.name] {
				t.Errorf("read %+v", d.Sources)
			}
			for i := range d.Clusters {
				for k := range d.Clusters[i].Inputs {
					d.Clusters[i].Inputs[k].Oldest = d.Clusters[i].Inputs[k].Oldest.Truncate(time.Minute)
					// Staleness markers count as samples, too, for sources that return them.
					d.Clusters[i].Inputs[k].Newest = d.Clusters[i].Inputs[k].Newest.Truncate(time.Minute)
				}
				d.Clusters[i].Oldest = d.Clusters[i].Oldest.Truncate(time.Minute)
				d.Clusters[i].Newest = d.Clusters[i].Newest.Truncate(time.Minute)
			}
			if first == nil {
				first = d.Clusters
			}
			if diff := cmp.Diff(first, d.Clusters); diff != "" {
				t.Errorf("differs from the first source (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDiagnoseUncovered looks at windows that reach beyond what a source has.
func TestDiagnoseUncovered(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	hour := c.Start().Add(6 * time.Hour)
	for _, source := range sources {
		t.Run(source.name, func(t *testing.T) {
			engine := promquery.NewEngine(source.open(t, dir).Source, config)
			for _, tt := range []struct {
				name       string
				from, to   time.Time
				start, end time.Duration // the uncovered time, after hour
			}{
				{"before", c.Start().Add(-10 * time.Hour), hour, c.Start().Add(-10 * time.Hour).Sub(hour), c.Start().Sub(hour)},
				{"all", hour.Add(-time.Hour), hour, 0, 0},
				{"a lookback and a scrape after", c.End().Add(-time.Hour), c.End().Add(5*time.Minute + 30*time.Second), 0, 0},
				{"just after", c.End().Add(-time.Hour), c.End().Add(8 * time.Minute), c.End().Sub(hour), c.End().Add(8 * time.Minute).Sub(hour)},
				{"after", c.End().Add(-time.Hour), c.End().Add(2 * time.Hour), c.End().Sub(hour), c.End().Add(2 * time.Hour).Sub(hour)},
			} {
				t.Run(tt.name, func(t *testing.T) {
					d, err := engine.Diagnose(t.Context(), allocation.Window{Start: tt.from, End: tt.to})
					if err != nil {
						t.Fatal(err)
					}
					var want []allocation.Window
					if tt.start != tt.end {
						want = []allocation.Window{{Start: hour.Add(tt.start), End: hour.Add(tt.end)}}
					}
					if diff := cmp.Diff(want, d.Clusters[0].Uncovered, cmpopts.EquateApproxTime(time.Minute)); diff != "" || d.Complete() != (want == nil) {
						t.Errorf("complete %t; uncovered (-want +got):\n%s", d.Complete(), diff)
					}
				})
			}
		})
	}
}

// TestDiagnoseClusters diagnoses each cluster by itself, and distinguishes labels from empty lists of labels.
func TestDiagnoseClusters(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	first, last := end.Add(-time.Hour).UnixMilli(), end.UnixMilli()
	one := promtest.Regular(first, last, 60_000, func(int64) float64 { return 1 })
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, append(oldScrape(first, last),
		promtest.Series{Labels: []string{"__name__", "kube_pod_labels", "cluster", "new", "pod", "a", "label_app", "web"}, Samples: one},
		promtest.Series{Labels: []string{"__name__", "kube_pod_labels", "cluster", "old", "pod", "a"}, Samples: one},
	)...)
	d, err := promquery.NewEngine(openBlocks(t, dir), config).Diagnose(t.Context(), lastHour(end))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Clusters) != 2 || d.Clusters[0].Cluster != "new" || d.Clusters[1].Cluster != "old" {
		t.Fatalf("clusters %+v", d.Clusters)
	}
	state := func(cluster int, input string) diagnosis.State {
		in := d.Clusters[cluster].Inputs
		return in[slices.IndexFunc(in, func(x diagnosis.Input) bool { return x.Name == input })].State
	}
	for _, tt := range []struct {
		cluster int
		input   string
		want    diagnosis.State
	}{
		{0, "pod labels", "found"},
		{1, "pod labels", "missing"},
		{0, "running", "missing"},
		{1, "running", "found"},
		{1, "cpu request", "fallback"},
		{1, "cpu usage", "fallback"},
	} {
		if got := state(tt.cluster, tt.input); got != tt.want {
			t.Errorf("%s of cluster %s is %s, want %s", tt.input, d.Clusters[tt.cluster].Cluster, got, tt.want)
		}
	}
	if d.Clusters[0].ScrapeInterval != time.Minute || d.Clusters[1].ScrapeInterval != 30*time.Second {
		t.Errorf("scraped every %s and %s", d.Clusters[0].ScrapeInterval, d.Clusters[1].ScrapeInterval)
	}
}

// partial is a source that has nothing, and says that it does not know all.
type partial struct{}

func (partial) Select(_ context.Context, _ []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(_ promquery.Yield) (promquery.Stats, error) {
		return promquery.Stats{Warnings: []string{"a store is down"}}, nil
	})
}

func TestDiagnoseErrors(t *testing.T) {
	_, db := demoBlocks(t)
	w := allocation.Window{Start: time.Unix(0, 0), End: time.Unix(7200, 0)}
	if d, err := promquery.NewEngine(db, config).Diagnose(t.Context(), w); err != nil || !d.Nothing || d.Complete() || len(d.Clusters[0].Inputs) != 4 {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := promquery.NewEngine(failing{errors.New("connection refused")}, config).Diagnose(t.Context(), w); !errors.Is(err, allocation.ErrUpstream) {
		t.Errorf("no answer: %v", err)
	}
	if _, err := promquery.NewEngine(partial{}, config).Diagnose(t.Context(), w); !errors.Is(err, allocation.ErrUpstream) || !strings.Contains(fmt.Sprint(err), "a store is down") {
		t.Errorf("an answer that is not whole: %v", err)
	}
}

// TestReading checks that what a computation says it read is what there was to read.
func TestReading(t *testing.T) {
	c, db := demoBlocks(t)
	cfg, progress := config, int64(0)
	var seen promquery.Observation
	cfg.Progress = func(n int64) { progress += n }
	cfg.Observe = func(o promquery.Observation) { seen = o }
	w := allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End()}
	sets, err := promquery.NewEngine(without{db, []string{"kube_node_status_capacity"}}, cfg).Compute(t.Context(), allocation.Query{Window: w, Resolution: 5 * time.Minute, Step: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	r := sets[0].Reading
	if r == nil || r != sets[3].Reading || r != seen.Reading {
		t.Fatal("the sets and the observation do not share a reading")
	}
	if r.Window != w || r.Resolution != 5*time.Minute || r.ScrapeInterval != 30*time.Second || r.Read <= 0 || r.Integrate <= 0 || r.Read+r.Integrate > r.Total {
		t.Errorf("reading %+v", r)
	}
	stages, inputs := int64(0), int64(0)
	for _, s := range r.Stages {
		stages += s.Samples
	}
	alternatives := map[string]int{} // with data
	for _, in := range r.Inputs {
		for _, a := range in.Alternatives {
			for _, k := range a.Clusters {
				alternatives[in.Name+"/"+a.Metric]++
				inputs += k.Samples
			}
		}
	}
	if len(r.Sources) != 1 || r.Sources[0].Samples != stages || stages != progress || seen.Stats.Samples != stages || inputs > stages || inputs < stages*9/10 {
		t.Errorf("%d samples in stages, %d in inputs, %d of progress, sources %+v", stages, inputs, progress, r.Sources)
	}
	if alternatives["node cpu/kube_node_status_capacity"] != 0 || alternatives["node cpu/kube_node_status_allocatable"] != 1 || alternatives["running/kube_pod_container_status_running"] != 1 {
		t.Errorf("alternatives %v", alternatives)
	}
}

// TestBudget refuses computations that would take more than they may, and names the flag.
func TestBudget(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End()}
	for _, tt := range []struct {
		name            string
		samples, memory int64
		step            time.Duration
		want            string // "": it is computed
	}{
		{"enough", 1 << 30, 1 << 30, 0, ""},
		{"samples", 1000, 0, 0, "--compute.max-samples"},
		{"memory", 0, 100_000, 0, "of --query.max-memory=97KB: ask for a longer step, accumulate or a shorter window, or raise --query.max-memory"},
		{"memory of one set", 0, 16 << 20, 0, ""},
		{"memory of many sets", 0, 16 << 20, time.Minute, "--query.max-memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config
			cfg.MaxSamples, cfg.Memory = tt.samples, memory.New(tt.memory)
			_, err := promquery.NewEngine(db, cfg).Compute(t.Context(), allocation.Query{Window: w, Resolution: time.Minute, Step: tt.step})
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, allocation.ErrTooMuch) || errors.Is(err, allocation.ErrUpstream) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to name %s", err, tt.want)
			}
		})
	}
}

// TestMemoryWhileGathering ends a computation as soon as it has read too much, and returns its memory.
func TestMemoryWhileGathering(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End()}
	run := func(most, others int64) (samples int64, err error) {
		cfg := config
		cfg.Memory = memory.New(most)
		if err := cfg.Memory.Open("").Draw(others); err != nil {
			t.Fatal(err)
		}
		cfg.Observe = func(o promquery.Observation) { samples = o.Stats.Samples }
		_, err = promquery.NewEngine(db, cfg).Compute(t.Context(), allocation.Query{Window: w, Resolution: time.Minute})
		if held := cfg.Memory.Stats().Used; held != others {
			t.Errorf("%d bytes are held", held-others)
		}
		return samples, err
	}
	all, err := run(1<<30, 0)
	if err != nil {
		t.Fatal(err)
	}
	if early, err := run(1<<20, 0); !errors.Is(err, allocation.ErrTooMuch) || early > all/4 {
		t.Errorf("it ends with %v after %d samples of %d", err, early, all)
	}
	if _, err := run(32<<20, 28<<20); !errors.Is(err, allocation.ErrBusy) || errors.Is(err, allocation.ErrUpstream) || !strings.Contains(err.Error(), "ask again later") {
		t.Errorf("beside others it ends with %v", err)
	}
}

// TestExactBelowTheScrapeInterval is what maxError asks for.
func TestExactBelowTheScrapeInterval(t *testing.T) {
	c, db := demoBlocks(t)
	for _, tt := range []struct{ asked, used time.Duration }{{20 * time.Second, 0}, {30 * time.Second, 30 * time.Second}, {time.Minute, time.Minute}} {
		s := compute(t, db, allocation.Query{Window: lastHour(c.End()), Resolution: tt.asked, ExactBelow: true})[0]
		if s.Resolution != tt.used || s.Reading.Resolution != tt.used {
			t.Errorf("%s: used %s", tt.asked, s.Resolution)
		}
	}
}
