package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// readHours are the hours that the history in a directory has.
func readHours(t *testing.T, dir string, w allocation.Window) []*allocation.Set {
	t.Helper()
	store, list := storedSets(t, dir, history.Hourly, w)
	sets, err := store.Read(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// ownPrices are the series of prices that promcost exposes of hours, with some more labels, from the grace period after each hour to
// that after the next, a sample a minute.
func ownPrices(hours []*allocation.Set, until time.Time, more ...string) []promtest.Series {
	prices := map[string]bool{}
	for i := range promquery.Inputs {
		for _, a := range promquery.Inputs[i].Alternatives {
			prices[a.Metric] = a.Price
		}
	}
	byKey := map[string]*promtest.Series{}
	for _, set := range hours {
		for _, subject := range metering.Subjects() {
			for _, f := range subject.Families() {
				if !prices[f.Name] {
					continue
				}
				f.Emit(subject.Totals(set), func(_ int, values []string, v float64) {
					labels := []string{"__name__", f.Name}
					for k, name := range f.Labels {
						if values[k] != "" {
							labels = append(labels, name, values[k])
						}
					}
					for k := 0; k < len(more); k += 2 { // honor_labels
						if !slices.Contains(f.Labels, more[k]) {
							labels = append(labels, more[k], more[k+1])
						}
					}
					key := strings.Join(labels, "\xff")
					if byKey[key] == nil {
						byKey[key] = &promtest.Series{Labels: labels}
					}
					from := set.Window.End.Add(10 * time.Minute)
					for at := from; at.Before(from.Add(time.Hour)) && at.Before(until); at = at.Add(time.Minute) {
						byKey[key].Samples = append(byKey[key].Samples, promtest.Sample{T: at.UnixMilli(), V: v})
					}
				})
			}
		}
	}
	var out []promtest.Series
	for _, s := range byKey {
		if len(s.Samples) > 0 {
			out = append(out, *s)
		}
	}
	return out
}

// sameHours checks that hours cost the same, to the last bit of every amount where the options do not say otherwise.
func sameHours(t *testing.T, want, got []*allocation.Set, opts ...cmp.Option) {
	t.Helper()
	opts = append(opts, cmpopts.EquateNaNs())
	if len(got) != len(want) {
		t.Fatalf("%d hours, want %d", len(got), len(want))
	}
	for i := range want {
		at := want[i].Window.Start.UTC().Format(time.RFC3339)
		for col := range allocation.NumColumns {
			if diff := cmp.Diff(column(want[i], col), column(got[i], col), opts...); diff != "" {
				t.Errorf("the hour of %s: %s (-want +got):\n%s", at, col, diff)
			}
		}
		for _, assets := range [][2]any{
			{want[i].Nodes, got[i].Nodes},
			{want[i].Disks, got[i].Disks},
			{want[i].Balancers, got[i].Balancers},
			{want[i].Networks, got[i].Networks},
			{want[i].Management, got[i].Management},
		} {
			if diff := cmp.Diff(assets[0], assets[1], opts...); diff != "" {
				t.Errorf("the hour of %s: assets (-want +got):\n%s", at, diff)
			}
		}
	}
}

// whileScraped are series without what they have at times at which the Prometheus of a demo did not run.
func whileScraped(truth *democluster.Truth, series []promtest.Series) []promtest.Series {
	for i := range series {
		series[i].Samples = slices.DeleteFunc(series[i].Samples, func(s promtest.Sample) bool {
			return slices.ContainsFunc(truth.Outages, func(x democluster.OutageTruth) bool {
				return x.Job == "" && x.Start.UnixMilli() <= s.T && s.T < x.End.UnixMilli()
			})
		})
	}
	return series
}

// computed is what a promcost answers to computations of a window, by resolution.
func computed(t *testing.T, base string, w allocation.Window) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, resolution := range []string{"1m", "exact"} {
		_, body := get(t, fmt.Sprintf("%s/model/allocation/compute?window=%d,%d&step=1h&aggregate=namespace,node&idle=true&resolution=%s", base, w.Start.Unix(), w.End.Unix(), resolution))
		var answer struct{ Data any }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Data == nil {
			t.Fatalf("%v: %.300s", err, body)
		}
		out[resolution] = answer.Data
	}
	return out
}

// serving serves a Prometheus with a history in a directory, until all hours are kept.
func serving(t *testing.T, prometheus, dir string, w allocation.Window, more ...string) (base string) {
	t.Helper()
	p := start(t, append([]string{"serve", "--web.listen-address=127.0.0.1:0", "--prometheus.url=" + prometheus, "--storage.path=" + dir, "--history.backfill=1d"}, more...)...)
	base = p.url(t)
	eventually(t, "not all hours are kept", func() bool {
		_, list := storedSets(t, dir, history.Hourly, w)
		return len(list) == int(w.Duration()/time.Hour)
	})
	return base
}

// TestOwnPrices checks that costs by OpenCost's prices are the same whether or not the same Prometheus scrapes what promcost
// exposes, to the last digit if the target is known. It checks what is computed, and the history that the loop and backfill
// --recompute store.
func TestOwnPrices(t *testing.T) {
	// The 7 minutes in which this demo's Prometheus does not run, an hour and three quarters before its end, cross the border of an hour.
	now := time.Now().Truncate(time.Hour).Add(-20 * time.Minute)
	plain, truth := writeTruth(t, append([]string{"--demo.end=" + now.Format(time.RFC3339)}, smallDemo...)...)
	w := allocation.Window{Start: now.Add(-7 * time.Hour).Truncate(time.Hour), End: now.Add(-10 * time.Minute).Truncate(time.Hour)}
	odd := allocation.Window{Start: w.Start.Add(20 * time.Minute), End: w.End.Add(-5 * time.Minute)}
	reference := filepath.Join(t.TempDir(), "history")
	base := serving(t, promtest.Start(t, plain, promtest.Config{}), reference, w)
	hours, answers := readHours(t, reference, w), computed(t, base, odd)
	priced := hours[len(hours)-1].Nodes[0].PriceSource[allocation.CPU]
	if priced != "node_cpu_hourly_cost" {
		t.Fatalf("nodes are priced by %s", priced)
	}
	scraped := func(name string, labels ...string) promtest.Series {
		value := func(int64) float64 { return 1 }
		return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: promtest.Regular(w.Start.Add(-time.Hour).UnixMilli(), now.UnixMilli(), 60_000, value)}
	}
	target := []string{"job", "promcost", "instance", "promcost:9004"}
	for _, tt := range []struct {
		name  string
		own   []promtest.Series
		known bool // the target of the exposed prices
	}{
		{"known target", append(ownPrices(hours, now, target...), scraped("promcost_build_info", target...), scraped("up", target...)), true},
		{"lost target", append(ownPrices(hours, now), scraped("promcost_build_info", "version", "1")), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both, dir := filepath.Join(t.TempDir(), "blocks"), filepath.Join(t.TempDir(), "history")
			if err := os.CopyFS(both, os.DirFS(plain)); err != nil {
				t.Fatal(err)
			}
			promtest.WriteBlocks(t, both, 2*time.Hour, whileScraped(truth, tt.own)...)
			prometheus := promtest.Start(t, both, promtest.Config{})
			var rounding []cmp.Option
			// If the target is lost, a series that repeats what promcost exposed may be the only one with a price. That was a cost
			// divided by an amount, so OpenCost's price comes back with rounding: a few units in the last of 16 digits.
			if !tt.known {
				rounding = append(rounding, cmpopts.EquateApprox(1e-12, 0))
				if err := os.CopyFS(dir, os.DirFS(reference)); err != nil {
					t.Fatal(err)
				}
				last := fmt.Sprintf("--window=%s,%s", w.End.Add(-time.Hour).UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339))
				mustRun(t, "history", "rm", "--yes", "--storage.path="+dir, last)
			}
			base := serving(t, prometheus, dir, w, "--collector.opencost")
			sameHours(t, hours, readHours(t, dir, w), rounding...)
			if diff := cmp.Diff(answers, computed(t, base, odd), rounding...); diff != "" {
				t.Errorf("computed (-want +got):\n%s", diff)
			}
			mustRun(t, "backfill", "--prometheus.url="+prometheus, "--storage.path="+dir, "--recompute", "--from="+w.Start.UTC().Format(time.RFC3339), "--to="+w.End.UTC().Format(time.RFC3339), "--log.level=error")
			again := readHours(t, dir, w)
			sameHours(t, hours, again, rounding...)
			warns := slices.ContainsFunc(again[0].Warnings, func(text string) bool {
				return strings.HasPrefix(text, "nothing says which prices this promcost exposed")
			})
			if warns == tt.known {
				t.Errorf("warnings %q", again[0].Warnings)
			}
		})
	}
}

// column are the values of a column that was read.
func column(s *allocation.Set, c allocation.Column) []float64 {
	values, err := s.Column(c)
	if err != nil {
		panic(err)
	}
	return values
}
