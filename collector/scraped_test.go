package collector_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery/promtest"
)

// count is how many series a Prometheus finds.
func count(t *testing.T, server, expr string, at time.Time) int {
	t.Helper()
	values := url.Values{"query": {"count(" + expr + ")"}, "time": {strconv.FormatInt(at.Unix(), 10)}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/v1/query?"+values.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]json.RawMessage }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Data.Result) == 0 {
		return 0
	}
	var n int
	if err := json.Unmarshal([]byte(strings.Trim(string(answer.Data.Result[0].Value[1]), `"`)), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A real Prometheus takes /metrics in OpenMetrics; told to take created timestamps, it asks for protobuf, which has them, and
// counters begin at 0 when the month did. Lines _created in OpenMetrics would be series of their own to it, one a counter:
// that is why there are none.
func TestRealPrometheusScrapes(t *testing.T) {
	for _, tt := range []struct {
		name      string
		lines     bool // _created
		flags     []string
		format    string
		zero, own bool // what it makes of created timestamps: a sample of 0, series of their own
	}{
		{name: "as it is", format: "application/openmetrics-text"},
		{name: "with created timestamps", flags: []string{"--enable-feature=created-timestamp-zero-ingestion"}, format: "application/vnd.google.protobuf", zero: true},
		{name: "with lines of them", lines: true, format: "application/openmetrics-text", own: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			month := time.Now().Add(-30 * time.Minute) // longer ago, and a head that is new does not take it
			set := madeSet()
			set.Window = allocation.Window{Start: month, End: month.Add(time.Minute)}
			accrued := metering.NewAccrued(month, nil).Add(set)
			reg := prometheus.NewPedanticRegistry()
			register(t, reg, set, collector.Config{Accrued: func() *metering.Accrued { return accrued }})
			page := promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true, EnableOpenMetricsTextCreatedSamples: tt.lines})
			var scrapes atomic.Int64
			var format atomic.Value
			ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page.ServeHTTP(w, r)
				format.Store(w.Header().Get("Content-Type"))
				scrapes.Add(1)
			}))
			defer ours.Close()
			server := promtest.Start(t, "", promtest.Config{Scrape: strings.TrimPrefix(ours.URL, "http://"), Flags: tt.flags})
			deadline := time.Now().Add(10 * time.Minute)
			for count(t, server, "promcost_namespace_cost_total", time.Now()) == 0 {
				if time.Now().After(deadline) {
					t.Fatalf("it has nothing after %d scrapes", scrapes.Load())
				}
				time.Sleep(100 * time.Millisecond)
			}
			if got, _ := format.Load().(string); !strings.HasPrefix(got, tt.format) {
				t.Errorf("it was sent %s, want %s", got, tt.format)
			}
			if n := count(t, server, `{__name__=~"promcost_.+_created"}`, time.Now()); n > 0 != tt.own {
				t.Errorf("%d series _created, want some: %t", n, tt.own)
			}
			if n := count(t, server, "promcost_namespace_cost_total == 0", month.Add(time.Minute)); n > 0 != tt.zero {
				t.Errorf("%d counters of 0 when the month began, want some: %t", n, tt.zero)
			}
		})
	}
}
