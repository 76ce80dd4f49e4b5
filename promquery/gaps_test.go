package promquery_test

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// holed is a source that lacks the samples of a metric from one time to another, Unix milliseconds.
type holed struct {
	src      promquery.Source
	metric   string
	from, to int64
}

// Select implements promquery.Source.
func (h holed) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		return promtest.Select(ctx, h.src, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			if sels[i].Metric != h.metric {
				return yield(i, key, p)
			}
			return yieldSome(yield, i, key, p, 0, func(t int64) bool { return t < h.from || t >= h.to })
		})
	})
}

// yieldSome yields a stretch of a series moved in time by shift, and of that the samples whose times are there; nothing
// where none is.
func yieldSome(yield promquery.Yield, i int, key []promquery.Symbol, p *timeline.Points, shift int64, there func(t int64) bool) error {
	var q timeline.Points
	for t, v := range p.All() {
		if there(t + shift) {
			q.Append(t+shift, v)
		}
	}
	if q.Len() == 0 {
		return nil
	}
	if p.Continued() {
		q.MarkContinued()
	}
	return yield(i, key, &q)
}

// sweep is the total cost in a window and what is warned of.
func sweep(t *testing.T, src promquery.Source, w allocation.Window, resolution time.Duration) (total float64, warnings []string) {
	t.Helper()
	unlisted := config
	unlisted.Rates = pricing.Default() // a list price is a price: that it stands in for another is told by its source
	sets, err := promquery.NewEngine(src, unlisted).Compute(t.Context(), allocation.Query{Window: w, Resolution: resolution})
	if err != nil {
		t.Fatal(err)
	}
	for row := range sets[0].Len() {
		total += sets[0].TotalCost(row)
	}
	return total, sets[0].Warnings
}

// metrics are all that the table of inputs names.
func metrics() []string {
	var out []string
	for _, in := range promquery.Inputs {
		for _, alt := range in.Alternatives {
			out = append(out, alt.Metric)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// named reports whether a warning names a metric. What has no price is told by the metrics' pattern.
func named(metric, warning string) bool {
	if strings.HasPrefix(metric, "node_") && strings.Contains(warning, "node_*_hourly_cost") {
		return true
	}
	return strings.Contains(warning, metric)
}

// TestNothingIsSilent takes each metric away, for hours and for good: if that changes the costs, a warning says so.
func TestNothingIsSilent(t *testing.T) {
	t.Parallel()
	const most = 0.001 // of the costs
	outages := 0
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}
	for _, resolution := range grids() {
		base, usual := sweep(t, db, w, resolution)
		for _, x := range []struct {
			name     string
			from, to int64
		}{
			{"for good", 0, math.MaxInt64},
			{"for 20 minutes", w.Start.Add(3 * time.Hour).UnixMilli(), w.Start.Add(3*time.Hour + 20*time.Minute).UnixMilli()},
			{"for two hours", w.Start.Add(3 * time.Hour).UnixMilli(), w.Start.Add(5 * time.Hour).UnixMilli()},
		} {
			for i, metric := range metrics() {
				if (i+outages)%soak.Of(6, 1) != 0 { // each metric for one of them
					continue
				}
				got, warnings := sweep(t, holed{db, metric, x.from, x.to}, w, resolution)
				told := slices.ContainsFunc(warnings, func(s string) bool { return named(metric, s) && !slices.Contains(usual, s) })
				if off := got/base - 1; math.Abs(off) > most && !told {
					t.Errorf("%s at %s without %s: costs are %.2f%% off, and nothing says so: %q", x.name, resolution, metric, 100*off, warnings)
				}
			}
			outages++
		}
	}
}

// outage is a source in which whole targets were down from one time to another, Unix milliseconds: all metrics whose names
// begin so.
type outage struct {
	src      promquery.Source
	prefix   string
	from, to int64
}

// Select implements promquery.Source.
func (o outage) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		return promtest.Select(ctx, o.src, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			if !strings.HasPrefix(sels[i].Metric, o.prefix) {
				return yield(i, key, p)
			}
			return yieldSome(yield, i, key, p, 0, func(t int64) bool { return t < o.from || t >= o.to })
		})
	})
}

// TestRestartsDoNotWarn checks that no input is reported missing after a restart of its exporter. From minutes on, the outage is
// reported instead.
func TestRestartsDoNotWarn(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}
	from := w.Start.Add(3 * time.Hour)
	for _, resolution := range grids() {
		_, usual := sweep(t, db, w, resolution)
		for _, tt := range []struct {
			name, prefix string
			length       time.Duration
			want         string // in the only new warnings; empty for none
		}{
			{"one scrape of kube-state-metrics", "kube_", 40 * time.Second, ""},
			{"kube-state-metrics restarts", "kube_", 3 * time.Minute, ""},
			{"kube-state-metrics is away", "kube_", 10 * time.Minute, "was kube-state-metrics down?"},
			{"one scrape of kubelets", "container_", 40 * time.Second, ""},
			{"kubelets restart", "container_", 3 * time.Minute, ""},
		} {
			t.Run(allocation.ResolutionText(resolution)+"/"+tt.name, func(t *testing.T) {
				_, warnings := sweep(t, outage{db, tt.prefix, from.UnixMilli(), from.Add(tt.length).UnixMilli()}, w, resolution)
				for _, text := range warnings {
					if strings.Contains(text, "no sample") && !slices.Contains(usual, text) && (tt.want == "" || !strings.Contains(text, tt.want)) {
						t.Errorf("told of: %s", text)
					}
				}
				if tt.want != "" && !slices.ContainsFunc(warnings, func(text string) bool { return strings.Contains(text, tt.want) }) {
					t.Errorf("want %q in %q", tt.want, warnings)
				}
			})
		}
	}
}

// TestLacks checks what is said of inputs without samples.
func TestLacks(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}
	from := w.Start.Add(3 * time.Hour)
	const hours, good = 2 * time.Hour, time.Duration(math.MaxInt64)
	for _, tt := range []struct {
		name, metric string
		length       time.Duration
		want         string // part of a warning; empty for none of the metric
	}{
		{"requests, for hours", "kube_pod_container_resource_requests", hours, "no sample from 2026-03-03T05:59:58Z to 2026-03-03T08:00:28Z, while pods ran, of kube_pod_container_resource_requests (cpu request: containers cost what they use), "},
		{"requests, for good", "kube_pod_container_resource_requests", good, "no sample in the window of kube_pod_container_resource_requests (cpu request: containers cost what they use)"},
		{"an occasional one, for hours", "kubecost_pod_network_egress_bytes_total", hours, "kubecost_pod_network_egress_bytes_total (network egress: "},
		{"an occasional one, for good", "kube_pod_status_phase", good, ""},
		{"an occasional one that others tell of", "kubecost_pod_network_egress_bytes_total", good, "kubecost_pod_network_egress_bytes_total (network egress: "},
		{"prices, for hours", "node_cpu_hourly_cost", hours, "node_cpu_hourly_cost (node cpu price: prices are the sheet's)"},
		{"what others stand in for", "kube_pod_container_status_running", good, "kube_pod_container_status_running (running: what stands in for it is less exact)"},
		{"requests, for 20 minutes", "kube_pod_container_resource_requests", 20 * time.Minute, "no sample from 2026-03-03T05:59:58Z to 2026-03-03T06:20:28Z, while pods ran, of kube_pod_container_resource_requests ("},
		{"usage, for 20 minutes", "container_cpu_usage_seconds_total", 20 * time.Minute, "container_cpu_usage_seconds_total (cpu usage: "},
		{"labels, for 20 minutes", "kube_pod_labels", 20 * time.Minute, "kube_pod_labels (pod labels: "},
		{"prices, for 20 minutes", "node_ram_hourly_cost", 20 * time.Minute, "node_ram_hourly_cost (node memory price: "},
		{"requests, for some scrapes", "kube_pod_container_resource_requests", 7 * time.Minute, "kube_pod_container_resource_requests (cpu request: "},
		{"usage, for some scrapes", "container_cpu_usage_seconds_total", 7 * time.Minute, "container_cpu_usage_seconds_total (cpu usage: "},
		{"requests, for a few scrapes", "kube_pod_container_resource_requests", 5 * time.Minute, ""},
		{"what all containers have, for a few scrapes", "kube_pod_container_status_running", 4 * time.Minute, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := holed{db, tt.metric, from.UnixMilli(), from.Add(tt.length).UnixMilli()}
			if tt.length == good {
				h.from, h.to = 0, math.MaxInt64
			}
			_, warnings := sweep(t, h, w, time.Minute)
			told := slices.ContainsFunc(warnings, func(s string) bool {
				return strings.HasPrefix(s, "cluster "+config.Clusters.Default+": ") && strings.Contains(s, tt.metric+" (") && strings.Contains(s, tt.want)
			})
			if told != (tt.want != "") {
				t.Errorf("want %q in %q", tt.want, warnings)
			}
		})
	}
}
