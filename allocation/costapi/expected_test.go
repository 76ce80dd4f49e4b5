package costapi_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// rhythms has namespaces that cost something each hour, as functions say. The node costs what they do together.
type rhythms struct {
	hourly map[string]func(hour time.Time) float64
	lacks  func(hour time.Time) bool // hours without data
}

// Sets implements costapi.Ledger.
func (r *rhythms) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		dict := allocation.NewDict() // to which nothing is added once a set was yielded
		sets := make([]*allocation.Set, len(windows))
		for i, w := range windows {
			set := allocation.NewSet(w, dict)
			costs, node := map[string]float64{}, allocation.Node{Cluster: "c", Name: "n", Start: w.Start, End: w.End}
			for h := w.Start; h.Before(w.End); h = h.Add(time.Hour) {
				if r.lacks(h) {
					continue
				}
				set.Covered = append(set.Covered, allocation.Covered{Cluster: "c", Start: h, End: h.Add(time.Hour)})
				for name, cost := range r.hourly {
					costs[name] += cost(h)
					node.Cost[allocation.CPU] += cost(h)
				}
			}
			for _, name := range []string{"batch", "new", "web"} {
				if costs[name] > 0 {
					row := &allocation.Row{Start: w.Start, End: w.End}
					row.Text[allocation.Cluster], row.Text[allocation.Namespace], row.Text[allocation.NodeName] = "c", name, "n"
					row.Values[allocation.Cost.Of(allocation.CPU)] = costs[name]
					set.Append(row)
				}
			}
			set.Nodes = append(set.Nodes, node)
			sets[i] = set
		}
		for _, set := range sets {
			if !yield(set, nil) {
				return
			}
		}
	}
}

// weekly is a web namespace at a dollar an hour and three on the 18th, a batch on Saturdays from two to six, and a namespace that is new since
// yesterday. It is 04:13:46 on Saturday, the 21st.
func weekly() *rhythms {
	return &rhythms{lacks: func(h time.Time) bool { return h.Month() == time.November && h.Day() == 17 }, hourly: map[string]func(time.Time) float64{
		"web": func(h time.Time) float64 {
			if h.Month() == time.November && h.Day() == 18 {
				return 3
			}
			return 1
		},
		"batch": func(h time.Time) float64 {
			if h.Weekday() == time.Saturday && h.Hour() >= 2 && h.Hour() < 6 {
				return 6
			}
			return 0
		},
		"new": func(h time.Time) float64 {
			if h.Before(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)) {
				return 0
			}
			return 2
		},
	}}
}

// unusualAnswer is what tests read of an answer.
type unusualAnswer struct {
	Data struct {
		Count, Unknown int
		Notes          []string
		Rows           []struct {
			Name                          string
			Day                           struct{ Start, End string }
			Cost, Expected, Spread, Score float64
			Change                        string
		}
	}
	Warnings []string
}

func TestAnomalies(t *testing.T) {
	for _, tc := range []struct {
		name, params string
		want         []string
		unknown      int
		warning      string
	}{
		// The 17th has no data, and the last Saturday is like the other three.
		{name: "a week", params: "window=7d", want: []string{"web 2026-11-18 72 24 1.2 40"}, unknown: 2, warning: "2 days of results have no expected cost"},
		{name: "the running day", params: "window=today&threshold=0.0001", unknown: 1},
		{name: "a lower threshold finds no more", params: "window=7d&threshold=0.001&filter=namespace:\"web\",\"batch\"", want: []string{"web 2026-11-18 72 24 1.2 40"}},
		{name: "a higher one", params: "window=7d&threshold=40.1"},
		{name: "filtered", params: "window=7d&filter=namespace:\"batch\""},
		{name: "by cluster", params: "window=2026-11-18,2026-11-19&aggregate=cluster", want: []string{"c 2026-11-18 72 24 1.2 40"}},
		{name: "all but the first", params: "window=7d&offset=1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := get(costapi.New(weekly(), log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), "/model/anomalies", strings.Split(tc.params, "&")...)
			var answer unusualAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %s", err, w.Code, w.Body)
			}
			var got []string
			for _, r := range answer.Data.Rows {
				got = append(got, strings.Join([]string{r.Name, r.Day.Start[:10], number(r.Cost), number(r.Expected), number(r.Spread), number(r.Score)}, " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(answer.Data.Notes) != 2 || tc.unknown > 0 && answer.Data.Unknown != tc.unknown || !strings.Contains(strings.Join(answer.Warnings, "\n"), tc.warning) {
				t.Errorf("%+v", answer)
			}
		})
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// TestAnomaliesLeadToWhy checks that the question of a row is answered, for its day, with what the request asks for.
func TestAnomaliesLeadToWhy(t *testing.T) {
	h := costapi.New(weekly(), log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
	var answer unusualAnswer
	if err := json.Unmarshal(get(h, "/model/anomalies", "window=7d", "filterNamespaces=web", "idle=false", "threshold=5", "limit=3").Body.Bytes(), &answer); err != nil || len(answer.Data.Rows) != 1 {
		t.Fatalf("%v: %+v", err, answer)
	}
	path, query, _ := strings.Cut(answer.Data.Rows[0].Change, "?")
	values, err := url.ParseQuery(query)
	if err != nil || path != "/model/allocation/change" {
		t.Fatal(err, path)
	}
	want := url.Values{
		"window": {"2026-11-18T00:00:00Z,2026-11-19T00:00:00Z"}, "baseline": {"2026-11-11T00:00:00Z,2026-11-12T00:00:00Z"},
		"aggregate": {"namespace"}, "filterNamespaces": {"web"}, "idle": {"false"}, "unbilled": {"estimate"},
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, answer.Data.Rows[0].Change, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := do(h, r); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"change":48`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// predicted is a forecast in Kubecost's shape.
type predicted struct {
	Data map[string]struct {
		Model, Status, Aggregate                                              string
		Window                                                                struct{ Start, End string }
		ClosedCost, TotalPredictedCost, BestCasePredicted, WorstCasePredicted *float64
		Predictions                                                           map[string][]predictedDay
		Totals                                                                map[string]struct{ ClosedCost, PredictedCost, LowerConfidenceLimit, UpperConfidenceLimit *float64 }
	}
	Warnings []string
}

type predictedDay struct {
	Window             struct{ Start, End string }
	PredictedCost      float64
	ConfidenceInterval struct{ ConfidenceLevel, LowerConfidenceLimit, UpperConfidenceLimit float64 }
}

func TestForecast(t *testing.T) {
	for _, tc := range []struct {
		name, path, params, key string
		start, end              string
		closed, want            float64 // of web, or of nodes
		days                    int
		low, high               float64
	}{
		// Of the last Tuesday, the 17th, there are no data, so the next one is like the last seven days, one of which cost 72, as one of the last
		// four Wednesdays did. Seldom do both.
		{name: "the next week", path: "allocation", params: "predictionWindow=7d&filter=namespace:\"web\"", key: "web", start: "2026-11-22T00:00:00Z", end: "2026-11-29T00:00:00Z", want: 7 * 24, days: 7, low: 168, high: 216},
		// Closed are 18 days at 24 and one at 72, none of the 17th, and four hours of today. Left are 20 hours and nine days.
		{name: "the running month", path: "allocation", params: "period=month&filter=namespace:\"web\"", key: "web", start: "2026-11-01T00:00:00Z", end: "2026-12-01T00:00:00Z", closed: 18*24 + 72 + 4, want: 18*24 + 72 + 4 + 20 + 9*24, days: 10, low: 744, high: 792},
		{name: "the rest of the day", path: "allocation", params: "period=day&filter=namespace:\"batch\"", key: "batch", start: "2026-11-21T00:00:00Z", end: "2026-11-22T00:00:00Z", closed: 12, want: 24, days: 1, low: 24, high: 24},
		{name: "a rhythm", path: "allocation", params: "predictionWindow=14d&filter=namespace:\"batch\"", key: "batch", start: "2026-11-22T00:00:00Z", end: "2026-12-06T00:00:00Z", want: 48, days: 14, low: 48, high: 72},
		{name: "assets", path: "assets", params: "period=day&aggregate=type", key: "Node", start: "2026-11-21T00:00:00Z", end: "2026-11-22T00:00:00Z", closed: 4 + 12 + 8, want: 4 + 12 + 8 + 20 + 12, days: 1, low: 56, high: 56},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := get(costapi.New(weekly(), log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), "/forecasting/forecast/"+tc.path, strings.Split(tc.params, "&")...)
			var answer predicted
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || len(answer.Data) != 1 {
				t.Fatalf("%v: status %d: %s", err, w.Code, w.Body)
			}
			for key, f := range answer.Data {
				got := f.Totals[tc.key]
				if f.Model != "median" || key != "arima/"+f.Aggregate || f.Window.Start != tc.start || f.Window.End != tc.end || got.PredictedCost == nil || len(f.Predictions[tc.key]) != tc.days {
					t.Fatalf("%s: %s", key, w.Body)
				}
				if diff := cmp.Diff([]float64{tc.closed, tc.want, tc.low, tc.high}, []float64{*got.ClosedCost, *got.PredictedCost, *got.LowerConfidenceLimit, *got.UpperConfidenceLimit}); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				sum := *got.ClosedCost
				for _, day := range f.Predictions[tc.key] {
					sum += day.PredictedCost
				}
				if sum != *got.PredictedCost {
					t.Errorf("days sum to %v, the period is %v", sum, *got.PredictedCost)
				}
			}
		})
	}
}

// TestForecastOfTheUnknown checks that what is new is null and not nothing, and that all together are what they are without names.
func TestForecastOfTheUnknown(t *testing.T) {
	w := get(costapi.New(weekly(), log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), "/forecasting/forecast/allocation", "predictionWindow=1d")
	var answer predicted
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%v: status %d: %s", err, w.Code, w.Body)
	}
	f := answer.Data["arima/namespace"]
	if x, ok := f.Totals["new"]; !ok || x.PredictedCost != nil || x.ClosedCost == nil || len(f.Predictions["new"]) > 0 {
		t.Errorf("new: %s", w.Body)
	}
	if f.Status != "trained" || f.TotalPredictedCost == nil || *f.TotalPredictedCost != 24 || len(f.Predictions["all"]) != 1 {
		t.Errorf("all: %s", w.Body)
	}
	if !slices.ContainsFunc(answer.Warnings, func(s string) bool { return strings.HasPrefix(s, "1 results have no forecast") }) {
		t.Errorf("warnings %q", answer.Warnings)
	}
}

// listening is a ledger that keeps what it is asked.
type listening struct {
	costapi.Ledger
	asked []allocation.Query
}

// Sets implements costapi.Ledger.
func (l *listening) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	l.asked = append(l.asked, q)
	return l.Ledger.Sets(ctx, q)
}

// TestExpectedOfTheHistory wants what is expected of hours of the history: the source may keep only the last of five weeks, and reading them takes long.
func TestExpectedOfTheHistory(t *testing.T) {
	for _, path := range []string{"/model/anomalies?window=7d", "/model/anomalies?window=yesterday", "/forecasting/forecast/allocation"} {
		l := &listening{Ledger: weekly()}
		path, params, _ := strings.Cut(path, "?")
		w := get(costapi.New(l, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), path, params)
		if w.Code != http.StatusOK || len(l.asked) == 0 {
			t.Errorf("%s?%s: status %d after %d questions: %s", path, params, w.Code, len(l.asked), w.Body)
		}
		for _, q := range l.asked {
			if !q.Stored || q.Resolution != allocation.AutoResolution || q.Only == nil {
				t.Errorf("%s?%s: the ledger was asked for %+v", path, params, q)
			}
		}
	}
}

// TestExpectedMistakes checks what parameters refuse.
func TestExpectedMistakes(t *testing.T) {
	h := costapi.New(weekly(), log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
	for target, want := range map[string]string{
		"/model/anomalies":                                                  "parameter window is missing",
		"/model/anomalies?window=7d&threshold=0":                            "parameter threshold=0: must be a number above 0",
		"/model/anomalies?window=7d&threshold=NaN":                          "parameter threshold=NaN",
		"/forecasting/forecast/allocation?predictionWindow=36h":             "whole days",
		"/forecasting/forecast/allocation?predictionWindow=367d":            "at most 366d",
		"/forecasting/forecast/allocation?predictionWindow=7d&period=month": "leave one of them out",
		"/forecasting/forecast/assets?period=hour":                          "unknown value: use day or week or month or quarter",
		"/forecasting/forecast/assets?aggregate=podd":                       "parameter aggregate",
		"/forecasting/forecast/cloudcost":                                   "not there yet",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w := do(h, r); w.Code < 400 || w.Code >= 500 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, %s", target, w.Code, w.Body)
		}
	}
}
