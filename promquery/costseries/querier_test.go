package costseries_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// noon is when the hours of these tests begin.
var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// someHours are n hours without holes.
func someHours(n int) *hours {
	h := randomHours(rand.New(rand.NewPCG(1, 2)), noon, n)
	clear(h.lacking)
	clear(h.counted)
	return h
}

// spy records the hints of selects.
type spy struct {
	storage.Queryable
	hints []string
}

type spyQuerier struct {
	storage.Querier
	spy *spy
}

func (s *spy) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := s.Queryable.Querier(mint, maxt)
	return &spyQuerier{q, s}, err
}

func (q *spyQuerier) Select(ctx context.Context, sorted bool, h *storage.SelectHints, m ...*labels.Matcher) storage.SeriesSet {
	at := func(t int64) string { return time.UnixMilli(t).UTC().Format("15:04:05.000") }
	q.spy.hints = append(q.spy.hints, fmt.Sprintf("%s by=%v%v range=%d %s to %s", h.Func, h.By, h.Grouping, h.Range/1000, at(h.Start), at(h.End)))
	return q.Querier.Select(ctx, sorted, h, m...)
}

// What the engine hints at is what sums are made early by: nothing but an aggregation that is right above a selector says By.
func TestHintsAreWhatSumsAreMadeEarlyBy(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	const m = "promcost_namespace_hourly_cost"
	for _, tc := range []struct {
		expr string
		want []string
	}{
		{m, []string{" by=false[] range=0 15:50:00.001 to 18:00:00.000"}},
		{"sum(" + m + ")", []string{"sum by=true[] range=0 15:50:00.001 to 18:00:00.000"}},
		{"sum by (namespace) (" + m + " offset 1h)", []string{"sum by=true[namespace] range=0 14:50:00.001 to 17:00:00.000"}},
		{"sum by (namespace) (" + m + " @ 1773156600)", []string{"sum by=true[namespace] range=0 13:20:00.001 to 15:30:00.000"}},
		{"sum without (namespace) (" + m + ")", []string{"sum by=false[namespace] range=0 15:50:00.001 to 18:00:00.000"}},
		{"count by (namespace) (" + m + ")", []string{"count by=true[namespace] range=0 15:50:00.001 to 18:00:00.000"}},
		{"sum by (namespace) ((" + m + "))", []string{"sum by=true[namespace] range=0 15:50:00.001 to 18:00:00.000"}},
		{"sum by (namespace) (-" + m + ")", []string{"sum by=false[] range=0 15:50:00.001 to 18:00:00.000"}},
		{"sum by (namespace) (" + m + " > 1)", []string{" by=false[] range=0 15:50:00.001 to 18:00:00.000"}},
		{"sum by (namespace) (abs(" + m + "))", []string{"abs by=false[] range=0 15:50:00.001 to 18:00:00.000"}},
		{"sum by (namespace) (rate(" + m + "[1h]))", []string{"rate by=false[] range=3600 17:00:00.001 to 18:00:00.000"}},
		{"max_over_time(sum by (namespace) (" + m + ")[3h:1h])", []string{"sum by=true[namespace] range=0 12:50:00.001 to 18:00:00.000"}},
		{"max_over_time(" + m + "[3h:1h])", []string{"max_over_time by=false[] range=0 12:50:00.001 to 18:00:00.000"}},
		{"topk(scalar(sum(" + m + ")), " + m + ")", []string{
			"topk by=true[] range=0 15:50:00.001 to 18:00:00.000", "sum by=true[] range=0 15:50:00.001 to 18:00:00.000",
		}},
		{"sum by (namespace) (" + m + ") / on (namespace) group_right () " + m, []string{
			"sum by=true[namespace] range=0 15:50:00.001 to 18:00:00.000", " by=false[] range=0 15:50:00.001 to 18:00:00.000",
		}},
	} {
		s := &spy{Queryable: newQueryable(someHours(8), costseries.Options{})}
		if r := resultOf(t, engine, s, tc.expr, noon.Add(6*time.Hour), noon.Add(6*time.Hour), 0); r.Err != nil {
			t.Errorf("%s: %v", tc.expr, r.Err)
		}
		slices.Sort(s.hints)
		slices.Sort(tc.want)
		if diff := cmp.Diff(tc.want, s.hints); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.expr, diff)
		}
	}
}

// Only the hours of a range are read, and only columns that are needed; counters are added up from their month on.
func TestOnlyWhatIsNeededIsRead(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	for _, tc := range []struct {
		expr string
		want []string
	}{
		{`sum(promcost_namespace_hourly_cost{resource="cpu"})`, []string{"10T14:40 10T17:50 0+1"}},
		{`sum by (namespace) (promcost_container_hourly_cost{cluster="c1"})`, []string{"10T14:40 10T17:50 2+8"}},
		{`promcost_namespace_efficiency_ratio`, []string{"10T14:40 10T17:50 2+18"}},
		{`promcost_node_hourly_cost`, []string{"10T14:40 10T17:50 0+0"}},
		{`promcost_nothing`, nil},
		{`promcost_node_hourly_cost{nothing="x"}`, nil},
		{`rate(promcost_namespace_cost_total[5h])`, []string{"01T00:00 10T17:50 2+9"}},
	} {
		h := someHours(8)
		if r := resultOf(t, engine, newQueryable(h, costseries.Options{}), tc.expr, noon.Add(6*time.Hour), noon.Add(6*time.Hour), 0); r.Err != nil {
			t.Errorf("%s: %v", tc.expr, r.Err)
		}
		if diff := cmp.Diff(tc.want, h.read); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.expr, diff)
		}
	}
}

func TestWarnings(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	for _, tc := range []struct {
		name     string
		prepare  func(h *hours)
		expr     string
		from, to time.Duration
		series   int
		warnings []string
		infos    []string
		err      string
	}{
		{name: "all is there", expr: "sum(promcost_node_hourly_cost)", to: 5 * time.Hour, from: 2 * time.Hour, series: 1},
		{
			name: "an hour fails", expr: "sum(promcost_node_hourly_cost)", from: 2 * time.Hour, to: 5 * time.Hour, series: 1,
			prepare:  func(h *hours) { h.lacking[noon.Add(2*time.Hour)] = fmt.Errorf("%w: refused", allocation.ErrUpstream) },
			warnings: []string{"PromQL warning: costs of 2026-03-10T14:00:00Z to 2026-03-10T15:00:00Z are missing: upstream failure: refused"},
		},
		{
			name: "two that fail for one reason", expr: "sum(promcost_node_hourly_cost)", from: 2 * time.Hour, to: 5 * time.Hour, series: 1,
			prepare: func(h *hours) {
				h.lacking[noon.Add(2*time.Hour)], h.lacking[noon.Add(time.Hour)] = allocation.ErrUpstream, allocation.ErrUpstream
			},
			warnings: []string{"PromQL warning: costs of 2026-03-10T13:00:00Z to 2026-03-10T15:00:00Z are missing: upstream failure"},
		},
		{
			name: "an hour of incomplete data", expr: "sum(promcost_node_hourly_cost)", from: 2 * time.Hour, to: 5 * time.Hour, series: 1,
			prepare:  func(h *hours) { h.sets[2].Incomplete = true },
			warnings: []string{"PromQL warning: costs of 2026-03-10T14:00:00Z to 2026-03-10T15:00:00Z are of incomplete data of the source"},
		},
		{
			name: "hours of older rules", expr: "sum(promcost_node_hourly_cost)", from: 2 * time.Hour, to: 5 * time.Hour, series: 1,
			prepare: func(h *hours) { h.sets[2].Rules, h.sets[3].Rules = 1, 1 },
			warnings: []string{fmt.Sprintf("PromQL warning: hours from 2026-03-10T14:00:00Z to 2026-03-10T16:00:00Z were computed by older rules (version 1, the current one is %d), the rest by the current ones, so they may differ: "+
				"promcost backfill --recompute --from=2026-03-10T14:00:00Z --to=2026-03-10T16:00:00Z computes them again", allocation.RulesVersion)},
		},
		{
			name: "only hours of older rules", expr: "sum(promcost_node_hourly_cost)", from: 2 * time.Hour, to: 5 * time.Hour, series: 1,
			prepare: func(h *hours) {
				for _, s := range h.sets {
					s.Rules = 1
				}
			},
		},
		{
			name: "budgets of hours of older rules", expr: "promcost_budget_spent", from: 5 * time.Hour, to: 6 * time.Hour, series: 1,
			prepare: func(h *hours) {
				h.budget, h.sets[1].Rules = &metering.Budget{Name: "all", Period: metering.BudgetMonth}, 1
			},
			warnings: []string{fmt.Sprintf("PromQL warning: hours from 2026-03-10T13:00:00Z to 2026-03-10T14:00:00Z were computed by older rules (version 1, the current one is %d), the rest by the current ones, so they may differ: "+
				"promcost backfill --recompute --from=2026-03-10T13:00:00Z --to=2026-03-10T14:00:00Z computes them again", allocation.RulesVersion)},
		},
		{
			name: "budgets that are not known yet", expr: "promcost_budget_spent", from: 3 * time.Hour, to: 6 * time.Hour, series: 1,
			prepare: func(h *hours) {
				h.budget, h.unknown = &metering.Budget{Name: "all", Period: metering.BudgetMonth}, noon.Add(4*time.Hour+grace)
			},
			warnings: []string{"PromQL warning: budgets all are not told for 2026-03-10T12:00:00Z to 2026-03-10T15:00:00Z: hours of their period have yet to be computed: ask again later"},
		},
		{
			name: "before all history", expr: "sum(promcost_node_hourly_cost)", from: -50 * time.Hour, to: -49 * time.Hour,
			infos: []string{"PromQL info: there are no costs of 2026-03-08T06:40:00Z to 2026-03-08T10:50:00Z: neither the history nor the source has anything of that time"},
		},
		{
			name: "the future", expr: "sum(promcost_node_hourly_cost)", from: 60 * time.Hour, to: 61 * time.Hour,
			infos: []string{"PromQL info: there are no costs of 2026-03-12T20:40:00Z to 2026-03-13T00:50:00Z: neither the history nor the source has anything of that time"},
		},
		{
			name: "the history fails", expr: "sum(promcost_node_hourly_cost)", from: 2 * time.Hour, to: 5 * time.Hour,
			prepare: func(h *hours) { h.fatal = errors.New("disk is gone") }, err: "read costs: disk is gone",
		},
		{name: "too many hours", expr: "sum_over_time(promcost_node_hourly_cost[3y])", from: 2 * time.Hour, to: 5 * time.Hour, err: "at most 10000 are read at once: ask for a shorter range"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := someHours(8)
			if tc.prepare != nil {
				tc.prepare(h)
			}
			r := resultOf(t, engine, newQueryable(h, costseries.Options{}), tc.expr, noon.Add(tc.from), noon.Add(tc.to), 10*time.Minute)
			if tc.err != "" {
				if r.Err == nil || !strings.Contains(r.Err.Error(), tc.err) {
					t.Fatalf("error %v, want %s", r.Err, tc.err)
				}
				return
			}
			if r.Err != nil || len(lines(r, nearly)) != tc.series {
				t.Errorf("%v %v, want %d series", r.Err, lines(r, nearly), tc.series)
			}
			warnings, infos := r.Warnings.AsStrings(tc.expr, 0, 0)
			if diff := cmp.Diff([][]string{tc.warnings, tc.infos}, [][]string{warnings, infos}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Counters end where an hour fails, and begin anew with the next month: they are never too low.
func TestCountersEndWhereAnHourCannotBeHad(t *testing.T) {
	start := time.Date(2026, 3, 31, 18, 0, 0, 0, time.UTC)
	h := randomHours(rand.New(rand.NewPCG(1, 2)), start, 12)
	clear(h.lacking)
	h.lacking[start.Add(2*time.Hour)] = allocation.ErrUpstream
	engine := promapi.NewEngine(promapi.EngineOptions{Lookback: time.Hour})
	r := resultOf(t, engine, newQueryable(h, costseries.Options{}), "count(promcost_node_cost_total) > bool 0", start.Add(grace), start.Add(12*time.Hour), time.Hour)
	var at []string
	matrix, err := r.Matrix()
	if err != nil || len(matrix) != 1 {
		t.Fatal(err, matrix)
	}
	for _, p := range matrix[0].Floats {
		at = append(at, time.UnixMilli(p.T).UTC().Format("15:04"))
	}
	if diff := cmp.Diff([]string{"19:10", "20:10", "01:10", "02:10", "03:10", "04:10", "05:10"}, at); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	h := someHours(48)
	q := newQueryable(h, costseries.Options{})
	budget := memory.New(25_000)
	ask := func(expr string) error {
		ctx, _, done := budget.Within(t.Context(), "sum them by fewer labels")
		defer done()
		query, err := engine.NewRangeQuery(ctx, q, nil, expr, noon.Add(2*time.Hour), noon.Add(40*time.Hour), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		defer query.Close()
		return query.Exec(ctx).Err
	}
	if err := ask(`sum(promcost_container_hourly_cost)`); err != nil {
		t.Errorf("a sum: %v", err)
	}
	read := 0
	h.before = func(*allocation.Set) { read++ }
	err := ask(`promcost_container_hourly_cost`)
	if !errors.Is(err, allocation.ErrTooMuch) || !strings.Contains(fmt.Sprint(err), "--query.max-memory=24KB") || !strings.Contains(fmt.Sprint(err), "sum them by fewer labels") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	if read > 3 {
		t.Errorf("%d hours were read before it was refused", read)
	}
	if err := ask(strings.Repeat("sum(promcost_container_hourly_cost) by (pod) + ", 30) + "1"); !errors.Is(err, allocation.ErrTooMuch) {
		t.Errorf("many small ones: %v, want ErrTooMuch", err)
	}
	if used := budget.Stats().Used; used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

func TestCancelled(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	h := someHours(48)
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	h.before = func(*allocation.Set) {
		if read++; read == 5 {
			cancel()
		}
	}
	query, err := engine.NewRangeQuery(ctx, newQueryable(h, costseries.Options{}), nil, "sum(promcost_node_hourly_cost)", noon, noon.Add(40*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	if r := query.Exec(ctx); r.Err == nil || read > 6 {
		t.Errorf("%d hours were read, %v", read, r.Err)
	}
}
