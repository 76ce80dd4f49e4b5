package costseries_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
)

// Selectors of one query that need the same hours read them once, with the columns that any of them needs; where reading
// more for one than it needs takes longer than to read twice, they do not.
func TestSelectorsShareReading(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	for _, tc := range []struct {
		name, expr string
		want       []string
	}{
		{
			"the same hours", `sum by (namespace) (promcost_namespace_hourly_cost{resource="cpu"}) / sum by (cluster) (promcost_container_hourly_cost{resource="ram"})`,
			[]string{"10T14:40 10T17:50 2+2"},
		},
		{"the same twice", `promcost_node_hourly_cost + promcost_node_hourly_cost`, []string{"10T14:40 10T17:50 0+0"}},
		{"the later part of them", `sum(promcost_node_hourly_cost) / sum(avg_over_time(promcost_node_hourly_cost[6h]))`, []string{"10T10:50 10T17:50 0+0"}},
		{"hours that overlap", `sum(promcost_node_hourly_cost) - sum(promcost_node_hourly_cost offset 2h)`, []string{"10T12:40 10T17:50 0+0"}},
		{
			"hours that do not", `sum(promcost_node_hourly_cost) - sum(promcost_node_hourly_cost offset 20h)`,
			[]string{"09T18:40 09T21:50 0+0", "10T14:40 10T17:50 0+0"},
		},
		{
			"many columns of few hours, few of many", `sum(promcost_container_efficiency_ratio) / sum(avg_over_time(promcost_namespace_hourly_cost{resource="cpu"}[20h]))`,
			[]string{"09T20:50 10T17:50 2+1", "10T14:40 10T17:50 7+17"},
		},
		{
			"gauges, and counters of the same month", `promcost_node_hourly_cost + promcost_node_cost_total + rate(promcost_node_cost_total[3h])`,
			[]string{"10T14:40 10T17:50 0+0", "01T00:00 10T17:50 0+0"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := someHours(8)
			if r := resultOf(t, engine, newQueryable(h, costseries.Options{}), tc.expr, noon.Add(6*time.Hour), noon.Add(6*time.Hour), 0); r.Err != nil {
				t.Error(r.Err)
			}
			if diff := cmp.Diff(tc.want, h.read); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The selectors of /federate, too, read the hours once, and a series that several select is there once.
func TestFederateReadsOnce(t *testing.T) {
	h := someHours(8)
	base := apitest.Serve(t, newQueryable(h, costseries.Options{}), promapi.Options{Lookback: promapi.DefaultLookback, Now: func() time.Time { return noon.Add(6 * time.Hour) }})
	apitest.Ask(t, "GET", base, "/federate", "match[]=promcost_node_hourly_cost")
	want := h.read
	if h.read = nil; len(want) == 0 {
		t.Fatal("one selector reads nothing")
	}
	r := apitest.Ask(t, "GET", base, "/federate", "match[]=promcost_node_hourly_cost&match[]=promcost_node_hourly_cost{node!=%22%22}&match[]={__name__=~%22promcost_node_hourly_.*%22}")
	if diff := cmp.Diff(want, h.read); diff != "" {
		t.Errorf("three selectors read (-one +three):\n%s", diff)
	}
	lines := strings.Split(strings.TrimSpace(r.Body.(string)), "\n")
	slices.Sort(lines)
	if len(lines) < 2 || len(slices.Compact(slices.Clone(lines))) != len(lines) {
		t.Errorf("lines: %q", lines)
	}
}

// TestSharedReadingChangesNothing checks that selectors that are read together get what each gets by itself, with its warnings.
func TestSharedReadingChangesNothing(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	parts := []string{
		`sum by (namespace) (promcost_namespace_hourly_cost)`, `promcost_namespace_hourly_cost offset 5h`, `sum by (pod) (promcost_pod_cost_total)`,
		`avg_over_time(promcost_node_hourly_cost[7h])`, `promcost_container_efficiency_ratio{resource="cpu"}`, `{__name__=~"promcost_idle_.*"} offset 2h`,
		`promcost_label_cost_total`, `promcost_resolution_seconds`, `promcost_persistentvolume_hourly_cost @ 1773160000`, `promcost_nothing`,
	}
	for seed := range uint64(20) {
		h := randomHours(rand.New(rand.NewPCG(seed, 5)), noon, 30)
		h.lacking[noon.Add(time.Duration(seed)*time.Hour)] = allocation.ErrUpstream
		q := newQueryable(h, costseries.Options{})
		var asked, want, warnings []string
		for i, part := range parts {
			if (seed+uint64(i))%3 == 0 {
				continue
			}
			asked = append(asked, `label_replace(`+part+`, "part", "`+string(rune('a'+i))+`", "", "")`)
			r := resultOf(t, engine, q, asked[len(asked)-1], noon.Add(10*time.Hour), noon.Add(25*time.Hour), time.Hour)
			if r.Err != nil {
				t.Fatal(part, r.Err)
			}
			want = append(want, lines(r, toTheBit)...)
			told, _ := r.Warnings.AsStrings("", 0, 0)
			warnings = append(warnings, told...)
		}
		r := resultOf(t, engine, q, strings.Join(asked, " or "), noon.Add(10*time.Hour), noon.Add(25*time.Hour), time.Hour)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		got := lines(r, toTheBit)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: -alone +together:\n%s", seed, diff)
		}
		told, _ := r.Warnings.AsStrings("", 0, 0)
		slices.Sort(warnings)
		slices.Sort(told)
		if diff := cmp.Diff(slices.Compact(warnings), told); diff != "" {
			t.Errorf("seed %d: warnings: -alone +together:\n%s", seed, diff)
		}
	}
}

// What fails fails every selector that it was read for.
func TestSharedReadingFails(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	h := someHours(8)
	h.fatal = errors.New("disk is gone")
	r := resultOf(t, engine, newQueryable(h, costseries.Options{}), `promcost_node_hourly_cost or promcost_idle_hourly_cost`, noon.Add(6*time.Hour), noon.Add(6*time.Hour), 0)
	if r.Err == nil || !strings.Contains(r.Err.Error(), "disk is gone") || len(h.read) != 1 {
		t.Errorf("%v after %d readings, want the error of one", r.Err, len(h.read))
	}
}

func toTheBit(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
