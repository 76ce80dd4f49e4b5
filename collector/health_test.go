package collector_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/collector"
)

// newHealth registers Health with reg.
func newHealth(t *testing.T, reg *prometheus.Registry) *collector.Health {
	t.Helper()
	h, err := collector.NewHealth(reg, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// observed registers Health with reg and records something for every metric of it.
func observed(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	h := newHealth(t, reg)
	h.ObserveComputation(end, 3*time.Second, nil)
	h.ObserveSource(reading("blocks", allocation.InputUse{Input: "pod", Requests: 1, Samples: 2, Bytes: 3, Durations: []time.Duration{time.Second}}))
	r, err := collector.NewReloads(reg)
	if err != nil {
		t.Fatal(err)
	}
	r.Observe(end, nil)
	if err := collector.NewPrices(reg, func() time.Time { return end }, func() []collector.PriceSource {
		return []collector.PriceSource{{Kind: "sheet", Name: "prices.yaml", Currency: "EUR", AsOf: end.Add(-time.Hour)}}
	}); err != nil {
		t.Fatal(err)
	}
	if err := collector.NewPriceFetches(reg, func() []collector.PriceFetch {
		return []collector.PriceFetch{{Provider: "aws", Failures: 2, LastSuccess: end}, {Provider: "gcp", Failures: 1}}
	}); err != nil {
		t.Fatal(err)
	}
	answer(h.Instrument("/model/assets", http.NotFoundHandler()), httptest.NewRequest(http.MethodGet, "/model/assets", nil))
}

// answer has handler answer r.
func answer(handler http.Handler, r *http.Request) { handler.ServeHTTP(httptest.NewRecorder(), r) }

// compare compares metrics of reg with their text.
func compare(t *testing.T, reg *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestHealthComputations(t *testing.T) {
	for _, test := range []struct {
		name                string
		err                 error
		wantErrors, wantEnd int64
	}{
		{"success", nil, 0, end.Unix()},
		{"failure", errors.New("read samples: no answer"), 1, 0},
		{"given up", fmt.Errorf("read samples: %w", context.Canceled), 0, 0},
		{"out of time", fmt.Errorf("read samples: %w", context.DeadlineExceeded), 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			newHealth(t, reg).ObserveComputation(end, 3*time.Second, test.err)
			compare(t, reg, fmt.Sprintf(`
# HELP promcost_computation_errors_total Computations of costs that failed.
# TYPE promcost_computation_errors_total counter
promcost_computation_errors_total %d
# HELP promcost_computation_last_success_timestamp_seconds When costs were last computed without an error, in Unix seconds; 0 before the first time.
# TYPE promcost_computation_last_success_timestamp_seconds gauge
promcost_computation_last_success_timestamp_seconds %d
`, test.wantErrors, test.wantEnd), "promcost_computation_errors_total", "promcost_computation_last_success_timestamp_seconds")
			if n := countOf(t, reg, "promcost_computation_duration_seconds"); n != 1 {
				t.Errorf("there are %d histograms of durations, want 1", n)
			}
		})
	}
}

// reading is what was taken of a source.
func reading(name string, inputs ...allocation.InputUse) allocation.SourceReading {
	return allocation.SourceReading{Name: name, Inputs: inputs}
}

// TestHealthSource counts by source and input, and each request's duration.
func TestHealthSource(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	h := newHealth(t, reg)
	h.ObserveSource(reading("query",
		allocation.InputUse{Input: "cpu usage", Requests: 2, Samples: 100, Bytes: 400, Durations: []time.Duration{time.Second, 40 * time.Millisecond}},
		allocation.InputUse{Input: "pod", Samples: 7, Bytes: 9}))
	h.ObserveSource(reading("query", allocation.InputUse{Input: "cpu usage", Requests: 2, Retries: 1, Errors: 1, Samples: 10, Bytes: 40, Durations: []time.Duration{0, 0}}))
	h.ObserveSource(reading("blocks", allocation.InputUse{Input: "cpu usage", Errors: 1}))
	page := render(t, reg)
	for _, want := range []string{
		`promcost_source_requests_total{input="cpu usage",source="query"} 4`,
		`promcost_source_requests_total{input="pod",source="query"} 0`,
		`promcost_source_retries_total{input="cpu usage",source="query"} 1`,
		`promcost_source_errors_total{input="cpu usage",source="query"} 1`,
		`promcost_source_errors_total{input="cpu usage",source="blocks"} 1`,
		`promcost_source_samples_total{input="cpu usage",source="query"} 110`,
		`promcost_source_samples_total{input="pod",source="query"} 7`,
		`promcost_source_bytes_total{input="cpu usage",source="query"} 440`,
		`promcost_source_request_duration_seconds_count{input="cpu usage",source="query"} 4`,
		`promcost_source_request_duration_seconds_sum{input="cpu usage",source="query"} 1.04`,
		`promcost_source_request_duration_seconds_bucket{input="cpu usage",source="query",le="0.05"} 3`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, page)
		}
	}
	if strings.Contains(page, `duration_seconds_count{input="pod"`) {
		t.Error("an input without a request of its own has durations")
	}
}

func TestHealthBeforeAnythingHappened(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	newHealth(t, reg)
	page := render(t, reg)
	for _, want := range []string{
		"promcost_build_info{", `promcost_currency_info{currency="EUR"} 1`, "promcost_computation_duration_seconds_count 0",
		"promcost_computation_last_success_timestamp_seconds 0", "promcost_computation_errors_total 0",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s in\n%s", want, page)
		}
	}
}

func TestHealthTwiceInARegistry(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	newHealth(t, reg)
	if _, err := collector.NewHealth(reg, "EUR"); err == nil || !strings.HasPrefix(err.Error(), "register health metrics: ") {
		t.Errorf("error is %v, want one that says what was registered twice", err)
	}
}

func TestInstrument(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	h := newHealth(t, reg)
	parses := h.Instrument("/a", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
	}))
	fails := h.Instrument("/b", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) }))
	answer(parses, httptest.NewRequest(http.MethodGet, "/a?labelSelector=app%3Dweb", nil))
	form := httptest.NewRequest(http.MethodPost, "/a", strings.NewReader("fieldSelector=pod%3Dweb-1"))
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer(parses, form)
	answer(fails, httptest.NewRequest(http.MethodGet, "/b/whatever?fieldSelector=", nil))
	answer(fails, httptest.NewRequest("INVENTED", "/b?fieldSelector=x", nil))
	answer(fails, httptest.NewRequest("MADEUP", "/b?fieldSelector=x", nil))
	compare(t, reg, `
# HELP promcost_http_requests_total HTTP requests answered, by route and by whether they select by field or label.
# TYPE promcost_http_requests_total counter
promcost_http_requests_total{code="200",handler="/a",has_field_selector="false",has_label_selector="true",method="get"} 1
promcost_http_requests_total{code="200",handler="/a",has_field_selector="true",has_label_selector="false",method="post"} 1
promcost_http_requests_total{code="400",handler="/b",has_field_selector="false",has_label_selector="false",method="get"} 1
promcost_http_requests_total{code="400",handler="/b",has_field_selector="true",has_label_selector="false",method="unknown"} 2
`, "promcost_http_requests_total")
	if n := countOf(t, reg, "promcost_http_request_duration_seconds"); n != 4 {
		t.Errorf("there are %d histograms of durations, want one a route and kind of selectors", n)
	}
}

// countOf is the number of metrics of a name that reg has.
func countOf(t *testing.T, reg *prometheus.Registry, name string) int {
	t.Helper()
	n, err := testutil.GatherAndCount(reg, name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
