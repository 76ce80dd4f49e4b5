package costseries_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
)

// monthHours are hours around the end of a month, of which the first fails: how many were looked at is counted.
func monthHours(n int) (h *hours, looked *int) {
	start := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	h, looked = &hours{lacking: map[time.Time]error{}}, new(int)
	for i := range n {
		w := allocation.Window{Start: start.Add(time.Duration(i) * time.Hour), End: start.Add(time.Duration(i+1) * time.Hour)}
		s := allocation.NewSet(w, allocation.NewDict())
		r := &allocation.Row{Start: w.Start, End: w.End}
		r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.NodeName] = "c", "a", "n1"
		r.Values[allocation.Cost.Of(allocation.CPU)] = 1
		s.Append(r)
		h.sets = append(h.sets, s)
	}
	h.lacking[start.Add(2*time.Hour)] = fmt.Errorf("%w: refused", allocation.ErrUpstream)
	h.before = func(*allocation.Set) { *looked++ }
	return h, looked
}

// A counter that has ended is not read for until the next month.
func TestEndedCountersAreNotRead(t *testing.T) {
	h, looked := monthHours(16)
	base := apitest.Serve(t, newQueryable(h, costseries.Options{}), promapi.Options{Lookback: promapi.DefaultLookback})
	times := fmt.Sprintf("&start=%d&end=%d&step=3600", h.sets[0].Window.End.Add(grace).Unix(), h.sets[15].Window.End.Add(grace).Unix())
	r := apitest.Ask(t, http.MethodGet, base, "/api/v1/query_range", "query=sum(promcost_namespace_cost_total)"+times)
	text := fmt.Sprint(r.Body)
	if r.Code != http.StatusOK || !strings.Contains(text, "2026-03-31T14:00:00Z to 2026-03-31T15:00:00Z are missing, and counters from then on until the month ends: upstream failure: refused") {
		t.Errorf("%+v", r)
	}
	// From the lacking hour to midnight nothing is read but what says so.
	if diff := cmp.Diff(3+4, *looked); diff != "" {
		t.Errorf("hours (-want +got):\n%s", diff)
	}
	// The last value is seen for two hours, and the sum of April begins at 0.
	if want := "values:[[1.7749626e+09 1] [1.7749662e+09 2] [1.7749698e+09 2] [1.7749734e+09 2] [1.7750058e+09 1] [1.7750094e+09 2] [1.775013e+09 3] [1.7750166e+09 4]]"; !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
}

// What is not read in time is an error of the kind that Prometheus has for it. It says why and what to do.
func TestLateCosts(t *testing.T) {
	h, _ := monthHours(16)
	h.fatal = fmt.Errorf("read hours: %w (the source failed last in refused)", context.DeadlineExceeded)
	now := h.sets[9].Window.End.Add(grace)
	base := apitest.Serve(t, newQueryable(h, costseries.Options{}), promapi.Options{Lookback: promapi.DefaultLookback, Now: func() time.Time { return now }})
	at := fmt.Sprintf("&time=%d&start=%[1]d&end=%[1]d&step=1", now.Unix())
	for _, path := range []string{"/api/v1/query?query=promcost_node_hourly_cost", "/api/v1/query_range?query=promcost_namespace_cost_total", "/api/v1/series?match[]=promcost_node_hourly_cost", "/api/v1/label/node/values?match[]=promcost_node_hourly_cost"} {
		path, query, _ := strings.Cut(path, "?")
		r := apitest.Ask(t, http.MethodGet, base, path, query+at)
		body, _ := r.Body.(map[string]any)
		if text := fmt.Sprint(body["error"]); r.Code != http.StatusServiceUnavailable || body["errorType"] != "timeout" || !strings.Contains(text, "refused") || !strings.Contains(text, "--promql.timeout") {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if r := apitest.Ask(t, http.MethodGet, base, "/federate", "match[]=promcost_node_hourly_cost"); r.Code != http.StatusServiceUnavailable || !strings.Contains(fmt.Sprint(r.Body), "--promql.timeout") {
		t.Errorf("/federate: %+v", r)
	}
}

// TestFederateWithoutCosts checks that a federation without any costs fails if costs cannot be computed, because an empty scrape
// looks healthy. If only a part is missing, that is logged.
func TestFederateWithoutCosts(t *testing.T) {
	h, _ := monthHours(6)
	now := h.sets[3].Window.End.Add(grace)
	var logged bytes.Buffer
	base := apitest.Serve(t, newQueryable(h, costseries.Options{}), promapi.Options{
		Lookback: promapi.DefaultLookback, Now: func() time.Time { return now }, Logger: log.NewLogfmtLogger(&logged),
	})
	match := "match[]=promcost_namespace_hourly_cost"
	if r := apitest.Ask(t, http.MethodGet, base, "/federate", match); r.Code != http.StatusOK || !strings.Contains(fmt.Sprint(r.Body), `namespace="a"`) {
		t.Errorf("some costs: %+v", r)
	}
	if text := logged.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "are missing: upstream failure: refused") {
		t.Errorf("logged: %s", text)
	}
	for _, s := range h.sets {
		h.lacking[s.Window.Start] = fmt.Errorf("%w: refused", allocation.ErrUpstream)
	}
	if r := apitest.Ask(t, http.MethodGet, base, "/federate", match); r.Code != http.StatusServiceUnavailable || !strings.Contains(fmt.Sprint(r.Body), "are missing: upstream failure: refused") {
		t.Errorf("no costs: %+v", r)
	}
	clear(h.lacking)
	if r := apitest.Ask(t, http.MethodGet, base, "/federate", "match[]=promcost_nothing"); r.Code != http.StatusOK || r.Body != "" {
		t.Errorf("no such series: %+v", r)
	}
}
