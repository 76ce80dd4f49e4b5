package promquery_test

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// unstarted is a source without the starts of containers, and notes how it is asked for restarts.
type unstarted struct {
	promquery.Source

	raw      bool
	exported bool              // some series name their pods by exported_pod
	names    []string          // of the matchers that are regular expressions
	labels   map[string]string // that other matchers want
}

// Raw implements promquery.Sampler.
func (u *unstarted) Raw(context.Context, int64, int64) bool { return u.raw }

// Select implements promquery.Source.
func (u *unstarted) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		sels = slices.Clone(sels)
		for i := range sels {
			switch metric := sels[i].Metric; metric {
			case "kube_pod_container_state_started", "container_start_time_seconds", "DCGM_FI_PROF_GR_ENGINE_ACTIVE": // which has exported_pod
				if metric != "DCGM_FI_PROF_GR_ENGINE_ACTIVE" || !u.exported {
					sels[i].Metric += "_missing"
				}
			case "kube_pod_container_status_restarts_total":
				if len(sels[i].Matchers) == 0 {
					u.names = append(u.names, "")
				}
				for _, m := range sels[i].Matchers {
					if m.Type == promquery.MatchRegexp {
						u.names, u.labels[m.Name] = append(u.names, m.Value), "names"
					} else {
						u.labels["not "+m.Name] = m.Value
					}
				}
			}
		}
		return promtest.Select(ctx, u.Source, sels, yield)
	})
}

// TestNamesOf checks how many bytes of names are asked for, in how many lists, and when all pods are.
func TestNamesOf(t *testing.T) {
	dotted := func(list []string) []string { return append(list, "node-10.internal") }
	list := func(n int) (names []string) { // of 16 bytes each, and one for the bar
		for i := range n {
			names = append(names, fmt.Sprintf("worker-%09d", i))
		}
		return names
	}
	for _, tt := range []struct {
		name  string
		raw   bool
		list  []string
		lists int
		bytes int // of all of them; 0 asks for all pods
	}{
		{"none", true, nil, 0, 0},
		{"as many as fit", true, list(256 << 10 / 17), 1, 256<<10/17*17 - 1},
		{"one more", true, list(256<<10/17 + 1), 1, 0},
		{"as many as fit, one of them with a dot", true, dotted(list(32<<10/17 - 2)), 1, (32<<10/17 - 1) * 17},
		{"too many with a dot", true, dotted(list(32<<10/17 + 1)), 1, 0},
		{"of a server that is queried, in several lists", false, list(2000), 3, 2000*17 - 3},
		{"too many of a server that is queried", false, list(4 * 12 << 10 / 17), 1, 0},
		{"one that is too long", true, []string{strings.Repeat("a", 256<<10+1)}, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := promquery.NamesOf(tt.raw, tt.list)
			var names []string
			bytes := 0
			for _, re := range got {
				bytes += len(re)
				for name := range strings.SplitSeq(re, "|") {
					names = append(names, strings.ReplaceAll(name, `\.`, "."))
				}
			}
			if len(got) != tt.lists || bytes != tt.bytes {
				t.Errorf("got %d lists of %d bytes, want %d of %d", len(got), bytes, tt.lists, tt.bytes)
			}
			if tt.bytes > 0 && !slices.Equal(names, tt.list) {
				t.Errorf("got %d names, want %d", len(names), len(tt.list))
			}
		})
	}
}

// TestNamesAskedFor checks that sources are asked by name for the restarts of all pods of which no start is known, and servers that are
// queried only where the names are not too long for them.
func TestNamesAskedFor(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name       string
		pods       int
		raw        bool
		exported   bool
		asked      int
		from, upTo int // bytes of names
		labels     map[string]string
	}{
		{"few pods of blocks", 100, true, false, 1, 100, 12 << 10, map[string]string{"pod": "names"}},
		{"few pods of a server", 100, false, false, 1, 100, 12 << 10, map[string]string{"pod": "names"}},
		{"few pods, by one label or another", 100, true, true, 2, 100, 12 << 10, map[string]string{"pod": "names", "not exported_pod": "", "exported_pod": "names"}},
		{"many pods of blocks", 600, true, false, 1, 12 << 10, 32 << 10, map[string]string{"pod": "names"}},
		{"very many pods of blocks", 2500, true, false, 1, 32 << 10, 256 << 10, map[string]string{"pod": "names"}},
		{"many pods of a server", 600, false, false, 2, 100, 12 << 10, map[string]string{"pod": "names"}},
		{"too many pods of a server", 2500, false, false, 1, 0, 0, map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, blocks := newDemoBlocks(t, democluster.Config{End: end, Duration: 2 * time.Hour, Nodes: max(4, tt.pods/30), Pods: tt.pods, ScrapeInterval: 5 * time.Minute})
			src := &unstarted{Source: blocks, raw: tt.raw, exported: tt.exported, labels: map[string]string{}}
			compute(t, src, allocation.Query{Window: lastHour(end), Resolution: 5 * time.Minute})
			if diff := cmp.Diff(tt.labels, src.labels); diff != "" {
				t.Errorf("asked for restarts by other labels: -want +got\n%s", diff)
			}
			if len(src.names) != tt.asked || tt.exported && src.names[0] != src.names[len(src.names)-1] {
				t.Fatalf("asked %d times for restarts, want %d, and by both labels for the same names", len(src.names), tt.asked)
			}
			asked := map[string]bool{}
			for _, list := range src.names {
				if n := len(list); n < tt.from || n > tt.upTo {
					t.Errorf("asked for %d bytes of names, want %d to %d", n, tt.from, tt.upTo)
				}
				for name := range strings.SplitSeq(list, "|") {
					if asked[name] && !tt.exported {
						t.Errorf("asked twice for %s", name)
					}
					asked[name] = true
				}
			}
			if tt.from > 0 && len(asked) < tt.pods/2 {
				t.Errorf("asked for %d pods of %d", len(asked), tt.pods)
			}
		})
	}
}

// renaming is a source without the starts of containers, whose restarts name every other pod by exported_pod.
type renaming struct {
	promquery.Source

	restarts int // series of them
}

// Raw implements promquery.Sampler.
func (r *renaming) Raw(context.Context, int64, int64) bool { return true }

// Select implements promquery.Source.
func (r *renaming) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) { return r.read(ctx, rs, yield) })
}

func (r *renaming) read(ctx context.Context, sels []promquery.Request, yield promquery.Yield) (stats promquery.Stats, err error) {
	place := func(r *promquery.Request, label string) int {
		return slices.Index(r.Keep, promquery.Label{Name: label})
	}
	for i := range sels {
		sel, give := sels[i], func(_ int, key []promquery.Symbol, p *timeline.Points) error { return yield(i, key, p) }
		switch sel.Metric {
		case "kube_pod_container_state_started", "container_start_time_seconds":
			continue
		case "kube_pod_container_status_restarts_total":
			sel.Matchers = nil
			give = func(_ int, key []promquery.Symbol, p *timeline.Points) error {
				key = slices.Clone(key)
				pod, renamed := place(&sel, "pod"), place(&sel, "exported_pod")
				if name := key[pod].Value(); name[len(name)-1]%2 == 0 {
					key[pod], key[renamed] = promquery.SymbolsOf(ctx).Of("kube-state-metrics"), key[pod]
				}
				for _, m := range sels[i].Matchers {
					if !regexp.MustCompile("^(?:" + m.Value + ")$").MatchString(key[place(&sel, m.Name)].Value()) {
						return nil
					}
				}
				r.restarts++
				return yield(i, key, p)
			}
		}
		got, err := promtest.Select(ctx, r.Source, []promquery.Request{sel}, give)
		if stats.Add(got); err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// TestNamesOfEitherLabel computes an hour in which the restarts of some pods have their names in another label.
func TestNamesOfEitherLabel(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	_, blocks := newDemoBlocks(t, democluster.Config{End: end, Duration: 2 * time.Hour, Nodes: 4, Pods: 100, ScrapeInterval: time.Minute})
	q, renamed := allocation.Query{Window: lastHour(end)}, &renaming{Source: blocks}
	want := compute(t, &unstarted{Source: blocks, raw: true, exported: true, labels: map[string]string{}}, q)
	got := compute(t, renamed, q)
	if diff := cmp.Diff(rowsOf(want[0]), rowsOf(got[0])); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if renamed.restarts == 0 {
		t.Error("no restarts were read")
	}
}
