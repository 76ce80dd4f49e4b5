package costseries_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// matchersOf are those of a selector, none for "".
func matchersOf(t *testing.T, selector string) []*labels.Matcher {
	t.Helper()
	if selector == "" {
		return nil
	}
	m, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLabelsAreThoseOfAPrometheusThatScraped compares names and values of labels with those in the TSDB of a Prometheus that
// scraped.
func TestLabelsAreThoseOfAPrometheusThatScraped(t *testing.T) {
	h := someHours(30)
	db, q := storageOf(t, h, time.UTC), newQueryable(h, costseries.Options{})
	for _, r := range [][2]time.Duration{{6 * time.Hour, 7 * time.Hour}, {grace, 31 * time.Hour}} {
		mint, maxt := noon.Add(r[0]).UnixMilli(), noon.Add(r[1]).UnixMilli()
		for _, selector := range []string{
			`promcost_namespace_hourly_cost`, `{namespace="shop"}`, `{__name__=~"promcost_(pod|node)_.*", cluster!="c1"}`, `promcost_persistentvolume_cost_total`,
			`{resource="cpu", node=~".*-1"}`, `promcost_resolution_seconds`, `promcost_nothing`, `{__name__=~".+"}`, `promcost_node_hourly_cost{region=""}`,
		} {
			m := matchersOf(t, selector)
			answers := map[string][2][]string{}
			for i, of := range []storage.Queryable{q, db} {
				querier, err := of.Querier(mint, maxt)
				if err != nil {
					t.Fatal(err)
				}
				add := func(what string, list []string, err error) {
					if err != nil {
						t.Error(err)
					}
					both := answers[what]
					both[i] = append([]string{}, list...)
					answers[what] = both
				}
				// A TSDB lists the labels of its whole block. Only its series tell what was there in the range.
				var series, names, values []string
				set := querier.Select(t.Context(), true, &storage.SelectHints{Start: mint, End: maxt}, m...)
				for set.Next() {
					if l := set.At().Labels(); set.At().Iterator(nil).Next() != 0 && living(set.At()) {
						series = append(series, l.String())
						l.Range(func(l labels.Label) { names = append(names, l.Name) })
						values = append(values, l.Get("resource"))
					}
				}
				add("series", series, set.Err())
				if i == 0 {
					set := querier.Select(t.Context(), true, &storage.SelectHints{Start: mint, End: maxt, Func: "series"}, m...)
					series = nil
					for set.Next() {
						series = append(series, set.At().Labels().String())
					}
					add("series", series, set.Err())
					names, _, err = querier.LabelNames(t.Context(), nil, m...)
					add("names", names, err)
					values, _, err = querier.LabelValues(t.Context(), "resource", nil, m...)
					add("values", values, err)
				} else {
					slices.Sort(names)
					slices.Sort(values)
					add("names", slices.Compact(names), nil)
					add("values", slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" }), nil)
				}
				querier.Close()
			}
			for what, both := range answers {
				if diff := cmp.Diff(both[1], both[0]); diff != "" {
					t.Errorf("%s of %s in %v (-want +got):\n%s", what, selector, r, diff)
				}
			}
		}
	}
}

// living reports whether a series has a sample that is no stale marker.
func living(s storage.Series) bool {
	for it := s.Iterator(nil); it.Next() != 0; {
		if _, v := it.At(); !math.IsNaN(v) {
			return true
		}
	}
	return false
}

func TestLabelsWithoutMatchers(t *testing.T) {
	h := someHours(3)
	querier, err := newQueryable(h, costseries.Options{}).Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	names, _, err := querier.LabelNames(t.Context(), nil)
	if err != nil || !slices.Contains(names, model.MetricNameLabel) || !slices.Contains(names, "persistentvolumeclaim") || !slices.IsSorted(names) {
		t.Errorf("names %v, %v", names, err)
	}
	metrics, _, err := querier.LabelValues(t.Context(), model.MetricNameLabel, &storage.LabelHints{Limit: 3})
	if err != nil || len(metrics) != 3 || !slices.IsSorted(metrics) {
		t.Errorf("metrics %v, %v", metrics, err)
	}
	if len(h.read) > 0 {
		t.Errorf("%v was read", h.read)
	}
	values, _, err := querier.LabelValues(t.Context(), "namespace", nil)
	if diff := cmp.Diff([]string{"__unallocated__", "a", "b", "shop"}, values); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if values, _, err := querier.LabelValues(t.Context(), "nothing", nil); err != nil || len(values) > 0 {
		t.Errorf("values %v of nothing, %v", values, err)
	}
}

// Every family is told of with its help, and series never have other labels than it says.
func TestFamilies(t *testing.T) {
	h := someHours(20)
	h.budget = &metering.Budget{Name: "all", Amount: 100, Period: metering.BudgetMonth, Billed: true}
	h.sets[10] = usedHours(11).sets[10]
	q := newQueryable(h, costseries.Options{Currency: func() string { return "EUR" }, Bounds: func(_, _, _ time.Duration) (float64, float64) { return -0.5, 0.5 }})
	known := map[string]costseries.Family{}
	for _, f := range q.Families() {
		if f.Help == "" || (f.Type == "counter") != strings.HasSuffix(f.Name, "_total") {
			t.Errorf("odd family %+v", f)
		}
		known[f.Name] = f
	}
	querier, err := q.Querier(noon.UnixMilli(), noon.Add(24*time.Hour).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	set := querier.Select(t.Context(), false, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		l := set.At().Labels()
		f := known[l.Get(model.MetricNameLabel)]
		seen[f.Name] = true
		l.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel && !slices.Contains(f.Labels, l.Name) {
				t.Errorf("%s has the label %s", f.Name, l.Name)
			}
		})
	}
	for name := range known {
		if !seen[name] && strings.HasPrefix(name, "promcost_") && name != "promcost_budget_forecast" && !strings.Contains(name, "loadbalancer") {
			t.Errorf("there is no series of %s", name)
		}
	}
	if set.Err() != nil {
		t.Error(set.Err())
	}
}

// Budgets are as they stood at each hour.
func TestBudgets(t *testing.T) {
	h := someHours(20)
	h.budget = &metering.Budget{Name: "all", Amount: 100, Period: metering.BudgetMonth}
	engine := promapi.NewEngine(promapi.EngineOptions{})
	r := resultOf(t, engine, newQueryable(h, costseries.Options{}), `sum by (budget) (promcost_budget_spent) / sum by (budget) (promcost_budget_limit{period="month"})`, noon.Add(3*time.Hour+grace), noon.Add(4*time.Hour+grace), time.Hour)
	if diff := cmp.Diff([]string{`{budget="all"} 1773155400:0.03 1773159000:0.04`}, lines(r, nearly)); r.Err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", r.Err, diff)
	}
}

// Chunks hold the samples that iterators give.
func TestChunks(t *testing.T) {
	h := someHours(20)
	h.lacking[noon.Add(7*time.Hour)] = fmt.Errorf("%w: nothing", allocation.ErrNoData)
	q := newQueryable(h, costseries.Options{})
	mint, maxt := noon.UnixMilli(), noon.Add(24*time.Hour).UnixMilli()
	m := matchersOf(t, `{__name__=~"promcost_(namespace|pod)_.*"}`)
	samples, err := q.Querier(mint, maxt)
	if err != nil {
		t.Fatal(err)
	}
	chunked, err := q.ChunkQuerier(mint, maxt)
	if err != nil {
		t.Fatal(err)
	}
	a, b := samples.Select(t.Context(), true, nil, m...), chunked.Select(t.Context(), true, nil, m...)
	for a.Next() {
		if !b.Next() {
			t.Fatal("there are fewer series of chunks")
		}
		var want, got []string
		for it := a.At().Iterator(nil); it.Next() != 0; {
			at, v := it.At()
			want = append(want, fmt.Sprint(at, math.Float64bits(v)))
		}
		for it := b.At().Iterator(nil); it.Next(); {
			for in := it.At().Chunk.Iterator(nil); in.Next() != 0; {
				at, v := in.At()
				got = append(got, fmt.Sprint(at, math.Float64bits(v)))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !labels.Equal(a.At().Labels(), b.At().Labels()) {
			t.Fatalf("%s (-want +got):\n%s", a.At().Labels(), diff)
		}
	}
	if b.Next() || a.Err() != nil || b.Err() != nil {
		t.Error(a.Err(), b.Err())
	}
}
