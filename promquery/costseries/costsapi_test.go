package costseries_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
)

// bomb is an hour in which every container has a name of its own, and a long one.
func bomb(rng *rand.Rand, w allocation.Window, n int) *allocation.Set {
	s := allocation.NewSet(w, allocation.NewDict())
	for range n {
		name := fmt.Sprintf("%x%s", rng.Uint64(), strings.Repeat("x", 200))
		r := &allocation.Row{Start: w.Start, End: w.End, Labels: map[string]string{"app": name}}
		r.Text = [allocation.Services]string{"c1", "node-1", "ns-1", name, name, "main", "deployment", name, ""}
		r.Values[allocation.Cost.Of(allocation.CPU)] = 1
		s.Append(r)
	}
	return s
}

// TestAPIOfCosts checks that queries about costs that fail or have no result are answered as Prometheus answers.
func TestAPIOfCosts(t *testing.T) {
	h := someHours(8)
	h.sets[6] = bomb(rand.New(rand.NewPCG(1, 2)), h.sets[6].Window, 5000)
	h.lacking[noon.Add(time.Hour)] = errors.New("the source has not loaded all of its history yet: ask again later")
	base := apitest.Serve(t, newQueryable(h, costseries.Options{}), promapi.Options{Memory: memory.New(1 << 20), Lookback: promapi.DefaultLookback})
	span := func(from, to time.Duration) string {
		return fmt.Sprintf("&start=%d&end=%d&step=3600", noon.Add(from).Unix(), noon.Add(to).Unix())
	}
	for _, tt := range []struct {
		name, path, query, times string
		code                     int
		want                     []string // in the answer
		without                  string
	}{
		{"all is there", "/api/v1/query_range", `query=sum(promcost_node_hourly_cost)`, span(5*time.Hour, 6*time.Hour), 200, []string{`"values":[[`}, "warnings"},
		{
			"too many labels", "/api/v1/query_range", `query=promcost_container_hourly_cost`, span(2*time.Hour, 8*time.Hour), 422,
			[]string{`"errorType":"execution"`, "--query.max-memory=1024KB", "select fewer by labels", "sum them by fewer labels"},
			"",
		},
		{"too many labels, summed", "/api/v1/query_range", `query=sum by (namespace) (promcost_container_hourly_cost)`, span(3*time.Hour, 8*time.Hour), 200, []string{`"namespace":"ns-1"`}, ""},
		{"too many labels, looked up", "/api/v1/series", `match[]=promcost_container_hourly_cost`, span(2*time.Hour, 8*time.Hour), 422, []string{"--query.max-memory"}, ""},
		{"too many values of a label", "/api/v1/label/pod/values", `match[]=promcost_pod_hourly_cost`, span(2*time.Hour, 8*time.Hour), 422, []string{"--query.max-memory"}, ""},
		{"before the history and the source", "/api/v1/query_range", `query=sum(promcost_node_hourly_cost)`, span(-50*time.Hour, -40*time.Hour), 200, []string{`"result":[]`, `"infos":["PromQL info: there are no costs of`}, "warnings"},
		{"the future", "/api/v1/query_range", `query=sum(promcost_node_hourly_cost)`, span(500*time.Hour, 510*time.Hour), 200, []string{`"result":[]`, `"infos":[`}, "warnings"},
		{
			"hours that are still to come in", "/api/v1/query_range", `query=sum(promcost_node_hourly_cost)`, span(2*time.Hour, 6*time.Hour), 200,
			[]string{`"values":[[`, "costs of 2026-03-10T13:00:00Z to 2026-03-10T14:00:00Z are missing: the source has not loaded all of its history yet"},
			"infos",
		},
		{"counters of them", "/api/v1/query_range", `query=sum(promcost_node_cost_total)`, span(2*time.Hour, 6*time.Hour), 200, []string{"2026-03-10T13:00:00Z to 2026-03-10T14:00:00Z are missing"}, "infos"},
		{"series in them", "/api/v1/series", `match[]=promcost_node_hourly_cost`, span(2*time.Hour, 6*time.Hour), 200, []string{"2026-03-10T13:00:00Z to 2026-03-10T14:00:00Z are missing"}, "infos"},
		{"an unknown metric", "/api/v1/query_range", `query=promcost_nothing`, span(2*time.Hour, 6*time.Hour), 200, []string{`"result":[]`}, "infos"},
		{"an unknown label", "/api/v1/query_range", `query=promcost_node_hourly_cost{nothing="x"}`, span(2*time.Hour, 6*time.Hour), 200, []string{`"result":[]`}, "infos"},
		{"a bad regular expression", "/api/v1/query_range", `query=promcost_node_hourly_cost{node=~"("}`, span(2*time.Hour, 6*time.Hour), 400, []string{`"errorType":"bad_data"`, "missing closing )"}, ""},
		{"too many points", "/api/v1/query_range", `query=promcost_node_hourly_cost`, fmt.Sprintf("&start=0&end=%d&step=1", noon.Unix()), 400, []string{"exceeded maximum resolution of 11,000 points per timeseries"}, ""},
		{"too many hours", "/api/v1/query", `query=sum_over_time(promcost_node_hourly_cost[3y])`, "", 422, []string{"ask for a shorter range"}, ""},
	} {
		query, text, _ := strings.Cut(tt.query, "=")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if method == http.MethodPost && strings.Contains(tt.path, "/label/") {
				continue
			}
			r := apitest.Ask(t, method, base, tt.path, query+"="+url.QueryEscape(text)+tt.times)
			packed, err := json.Marshal(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			body := strings.NewReplacer(`\\u003e`, ">").Replace(string(packed))
			if r.Code != tt.code {
				t.Errorf("%s: %s %d %.500s, want %d", tt.name, method, r.Code, body, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("%s: %s %.500s, want %s", tt.name, method, body, want)
				}
			}
			if tt.without != "" && strings.Contains(body, tt.without) {
				t.Errorf("%s: %s %.500s, want no %s", tt.name, method, body, tt.without)
			}
		}
	}
}

// waiting is a costseries.Sets that takes for ever.
type waiting struct{ begun, ended chan struct{} }

func (w waiting) Hours(ctx context.Context, _ allocation.Window, _ *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		w.begun <- struct{}{}
		<-ctx.Done()
		w.ended <- struct{}{}
		yield(nil, ctx.Err())
	}
}

func (w waiting) Counted(ctx context.Context, in allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return w.Hours(ctx, in, only)
}

func (w waiting) SpendingsIn(ctx context.Context, _ allocation.Window) (func(context.Context, time.Time) (*metering.Spending, error), error) {
	w.begun <- struct{}{}
	<-ctx.Done()
	w.ended <- struct{}{}
	return nil, ctx.Err()
}

// A request that is given up ends what reads for it at once, and makes room for the next one.
func TestGivenUpRequests(t *testing.T) {
	sets := waiting{make(chan struct{}), make(chan struct{})}
	q := costseries.New(sets, costseries.Options{Grace: grace, Now: func() time.Time { return noon.Add(48 * time.Hour) }})
	base := apitest.Serve(t, q, promapi.Options{MaxConcurrency: 1, Lookback: promapi.DefaultLookback, Now: func() time.Time { return noon }})
	at := fmt.Sprintf("&time=%d&start=%[1]d&end=%[1]d&step=1", noon.Unix())
	for _, path := range []string{
		"/api/v1/query?query=promcost_node_hourly_cost" + at, "/api/v1/query?query=promcost_node_cost_total" + at, "/api/v1/query_range?query=promcost_node_hourly_cost" + at,
		"/api/v1/series?match[]=promcost_node_hourly_cost" + at, "/api/v1/label/node/values?match[]=promcost_node_hourly_cost" + at, "/federate?match[]=promcost_node_hourly_cost",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
				t.Errorf("%s: %s", path, resp.Status)
			}
		}()
		<-sets.begun
		cancel()
		<-answered
		<-sets.ended // it is read for no more
		if r := apitest.Ask(t, http.MethodGet, base, "/api/v1/query", "query=1"); r.Code != http.StatusOK {
			t.Errorf("after %s: %+v", path, r)
		}
	}
}
