package promquery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// dialects is a cluster in both dialects.
type dialects struct {
	classic, otel []promtest.Series
	sent          []otelSeries // what otel is made of
	window        allocation.Window
}

func bothDialects(t *testing.T) dialects {
	t.Helper()
	c, _ := newDemoBlocks(t, democluster.Config{End: time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC), Duration: 5 * time.Hour, Nodes: 4, Pods: 40, Seed: 4})
	classic, sent := inBoth(t, seriesOfCluster(t, c))
	return dialects{classic, storedAs(t, sent, otlptranslator.UnderscoreEscapingWithSuffixes, true), sent, allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End().Add(-time.Hour)}}
}

// during are the samples of series from one time to another.
func during(list []promtest.Series, from, to time.Time) (out []promtest.Series) {
	for _, s := range list {
		s.Samples = slices.DeleteFunc(slices.Clone(s.Samples), func(x promtest.Sample) bool { return x.T < from.UnixMilli() || x.T >= to.UnixMilli() })
		if len(s.Samples) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// mapped are series with other values.
func mapped(list []promtest.Series, metric string, value func(promtest.Sample) float64) []promtest.Series {
	list = slices.Clone(list)
	for i := range list {
		if s := &list[i]; label(s, "__name__") == metric {
			s.Samples = slices.Clone(s.Samples)
			for k, x := range s.Samples {
				s.Samples[k].V = value(x)
			}
		}
	}
	return list
}

// withoutLabels are series that lack labels.
func withoutLabels(list []promtest.Series, names ...string) (out []promtest.Series) {
	for _, s := range list {
		var kept []string
		for i := 0; i+1 < len(s.Labels); i += 2 {
			if !slices.Contains(names, s.Labels[i]) {
				kept = append(kept, s.Labels[i], s.Labels[i+1])
			}
		}
		out = append(out, promtest.Series{Labels: kept, Samples: s.Samples})
	}
	return out
}

// TestBothDialects has what OpenTelemetry's receivers tell beside what other programs do, all the time or for a part of it: nothing counts twice.
func TestBothDialects(t *testing.T) {
	t.Parallel()
	d := bothDialects(t)
	whole := func(list []promtest.Series) []promtest.Series { return list }
	middle := d.window.Start.Add(d.window.Duration() / 2)
	before := func(list []promtest.Series) []promtest.Series {
		return during(list, d.window.Start.Add(-time.Hour), middle)
	}
	after := func(list []promtest.Series) []promtest.Series {
		return during(list, middle, d.window.End.Add(time.Hour))
	}
	for _, resolution := range grids() {
		q := allocation.Query{Window: d.window, Resolution: resolution}
		want := otelRows(compute(t, blocksOf(t, d.classic), q)[0])
		for _, tt := range []struct {
			name          string
			classic, otel func([]promtest.Series) []promtest.Series
			within        float64 // of the cost
			said          string
		}{
			{"all the time", whole, whole, 1e-9, "kube-state-metrics counts, and k8s_cluster only while that has no samples"},
			{"first OpenTelemetry, later both", after, whole, 0.02, "cAdvisor counts, and kubeletstats only while that has no samples"},
			{"first both, later OpenTelemetry", before, whole, 0.02, "cAdvisor counts, and kubeletstats only while that has no samples"},
			{"first OpenTelemetry, later others", after, before, 0.02, "only while that has no samples"},
			{"first others, later OpenTelemetry", before, after, 0.02, "only while that has no samples"},
		} {
			t.Run(allocation.ResolutionText(resolution)+" "+tt.name, func(t *testing.T) {
				set := compute(t, blocksOf(t, append(tt.classic(d.classic), tt.otel(d.otel)...)), q)[0]
				got := otelRows(set)
				if tt.within < 1e-6 {
					if diff := cmp.Diff(want, got, cmpopts.EquateApprox(tt.within, tt.within)); diff != "" {
						t.Errorf("(-classic +both):\n%.3000s", diff)
					}
				}
				sum := func(rows map[string]otelRow) (cost, seconds float64) {
					for _, r := range rows {
						cost, seconds = cost+r.Cost, seconds+r.Seconds
					}
					return cost, seconds
				}
				cost, seconds := sum(want)
				if c, s := sum(got); !near(c, cost, tt.within) || !near(s, seconds, tt.within) {
					t.Errorf("cost %g of %g s, want %g of %g s", c, s, cost, seconds)
				}
				if !slices.ContainsFunc(set.Warnings, func(text string) bool { return strings.Contains(text, tt.said) }) {
					t.Errorf("no %q in %q", tt.said, set.Warnings)
				}
			})
		}
	}
}

// TestDialectsByHours has OpenTelemetry's receivers stand in for other programs amid a window or an hour: hours add up to the window, and to what both told.
func TestDialectsByHours(t *testing.T) {
	t.Parallel()
	d := bothDialects(t)
	w := allocation.Window{Start: d.window.Start.Add(-30 * time.Minute), End: d.window.End.Add(-30 * time.Minute)}
	begin, end := w.Start.Add(-2*time.Hour), w.End.Add(2*time.Hour)
	at := func(minutes time.Duration) time.Time { return w.Start.Add(minutes * time.Minute) }
	without := func(from, to time.Time) []promtest.Series {
		return append(during(d.classic, begin, from), during(d.classic, to, end)...)
	}
	for _, tt := range []struct {
		name          string
		classic, otel []promtest.Series
		within        float64
	}{
		{"away amid the window", without(at(95), at(155)), d.otel, 0.06},
		{"away amid an hour", without(at(65), at(105)), d.otel, 0.06},
		{"a switch within an hour", during(d.classic, at(95), end), during(d.otel, begin, at(95)), 0.02},
		{"added within an hour", during(d.classic, at(95), end), d.otel, 0.02},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cost := func(list []promtest.Series, step time.Duration) (sum float64) {
				for _, set := range compute(t, blocksOf(t, list), allocation.Query{Window: w, Step: step, Alone: step > 0}) {
					for _, row := range otelRows(set) {
						sum += row.Cost
					}
				}
				return sum
			}
			list := slices.Concat(tt.classic, tt.otel)
			want, whole, hours := cost(d.classic, 0), cost(list, 0), cost(list, time.Hour)
			if !near(whole, want, tt.within) || !near(hours, want, tt.within) {
				t.Errorf("cost %g, by hours %g, want %g", whole, hours, want)
			}
		})
	}
}

// TestDialectsOfClusters has one cluster in each dialect: both count.
func TestDialectsOfClusters(t *testing.T) {
	t.Parallel()
	d := bothDialects(t)
	of := func(list []promtest.Series, cluster string) (out []promtest.Series) {
		for _, s := range list {
			out = append(out, promtest.Series{Labels: append([]string{"cluster", cluster}, s.Labels...), Samples: s.Samples})
		}
		return out
	}
	q := allocation.Query{Window: d.window}
	want := compute(t, blocksOf(t, d.classic), q)[0]
	set := compute(t, blocksOf(t, append(of(d.classic, "one"), of(d.otel, "two")...)), q)[0]
	cost := map[string]float64{}
	for row := range set.Len() {
		cost[set.Text(allocation.Cluster, row)] += set.TotalCost(row)
	}
	sum := 0.0
	for row := range want.Len() {
		sum += want.TotalCost(row)
	}
	if len(cost) != 2 || !near(cost["one"], sum, 1e-9) || !near(cost["two"], sum, 1e-9) {
		t.Errorf("%v, want twice %g", cost, sum)
	}
	if slices.ContainsFunc(set.Warnings, func(text string) bool { return strings.Contains(text, "both report") }) {
		t.Errorf("%q", set.Warnings)
	}
}

// blocksOf are series as blocks.
func blocksOf(t *testing.T, list []promtest.Series) promquery.Source {
	t.Helper()
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	return openBlocks(t, dir)
}

// TestOddOpenTelemetry reads series that no receiver should send.
func TestOddOpenTelemetry(t *testing.T) {
	t.Parallel()
	d := bothDialects(t)
	q := allocation.Query{Window: d.window}
	want := compute(t, blocksOf(t, d.otel), q)[0]
	for _, tt := range []struct {
		name string
		list []promtest.Series
		rows int    // how many rows of pods there are; -1 is all
		said string // by a warning
	}{
		{"a phase with a fraction", mapped(d.otel, "k8s_pod_phase", func(x promtest.Sample) float64 { return 2 + float64(x.T/60_000%2)/2 }), -1, ""},
		{"phases that do not exist", mapped(d.otel, "k8s_pod_phase", func(promtest.Sample) float64 { return 9 }), -1, "receiver k8s_cluster"},
		{"no labels of pods", withoutLabels(d.otel, "k8s_pod_name", "k8s_container_name"), 0, "some series name no pod"},
		{"no UIDs", withoutLabels(d.otel, "k8s_pod_uid"), -1, ""},
		{"no states of containers", slices.DeleteFunc(slices.Clone(d.otel), func(s promtest.Series) bool { return label(&s, "__name__") == "k8s_container_status_state" }), -1, "k8s.container.status.state"},
		{"no capacity", slices.DeleteFunc(slices.Clone(d.otel), func(s promtest.Series) bool { return strings.HasPrefix(label(&s, "__name__"), "k8s_node_allocatable") }), -1, "allocatable_types_to_report: [cpu, memory]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sets, err := promquery.NewEngine(oneSeriesEach(t, tt.list), config).Compute(t.Context(), q)
			if tt.rows == 0 {
				if err == nil && sets[0].Len() > 0 && len(otelRows(sets[0])) > 3 {
					t.Errorf("%d rows", sets[0].Len())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := sets[0].Len(); tt.rows < 0 && (got < want.Len()-8 || got > want.Len()+8) {
				t.Errorf("%d rows, want about %d", got, want.Len())
			}
			if !slices.ContainsFunc(sets[0].Warnings, func(text string) bool { return strings.Contains(text, tt.said) }) {
				t.Errorf("no %q in %q", tt.said, sets[0].Warnings)
			}
		})
	}
}

// oneSeriesEach is a source of series of which those that became alike are one, with the samples of the first.
func oneSeriesEach(t *testing.T, list []promtest.Series) promquery.Source {
	t.Helper()
	seen := map[string]bool{}
	return blocksOf(t, slices.DeleteFunc(slices.Clone(list), func(s promtest.Series) bool {
		key := labels.FromStrings(s.Labels...).String()
		defer func() { seen[key] = true }()
		return seen[key]
	}))
}

// TestDiagnoseOpenTelemetry says of a source of OpenTelemetry what is there by its names, and which setting of the Collector adds the rest.
func TestDiagnoseOpenTelemetry(t *testing.T) {
	t.Parallel()
	d := bothDialects(t)
	got, err := promquery.NewEngine(blocksOf(t, d.otel), config).Diagnose(t.Context(), d.window)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		input  string
		state  diagnosis.State
		metric string
		remedy string
	}{
		{"running", diagnosis.Found, "k8s_container_status_state", ""},
		{"pod", diagnosis.Found, "k8s_pod_phase", ""},
		{"cpu request", diagnosis.Found, "k8s_container_cpu_request", ""},
		{"memory request", diagnosis.Found, "k8s_container_memory_request_bytes", ""},
		{"node cpu", diagnosis.Fallback, "k8s_node_allocatable_cpu", "allocatable_types_to_report"},
		{"cpu usage", diagnosis.Found, "container_cpu_time_seconds_total", ""},
		{"memory usage", diagnosis.Found, "container_memory_working_set_bytes", ""},
		{"bytes sent", diagnosis.Found, "k8s_pod_network_io_bytes_total", ""},
		{"node disk", diagnosis.Missing, "", "kubeletstats"},
		{"service", diagnosis.Missing, "", "run kube-state-metrics"},
	} {
		in := inputOf(t, &got.Clusters[0], want.input)
		metric := ""
		if len(in.Alternatives) > 0 {
			metric = in.Alternatives[0].Metric
		}
		if in.State != want.state || metric != want.metric || !strings.Contains(in.Remedy, want.remedy) {
			t.Errorf("%s: %+v, want %+v", want.input, in, want)
		}
	}
}
