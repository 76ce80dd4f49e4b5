package remote_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// unmarked asks for the minutes of series that get no staleness markers and are scraped once a minute.
var unmarked = promquery.Request{
	Metric: "container_memory_working_set_bytes", Keep: promquery.Labels("pod"), Start: fixed.Add(-5 * time.Hour).UnixMilli(), End: fixed.UnixMilli(),
	Grid: promquery.Grid{Step: 60_000, Lookback: 120_000, Interval: 60_000},
}

// scraped are the samples of pods that come and go. Some of their scrapes are on the grid, some fail, and some series have markers. If
// edges is not set, no sample is exactly a lookback older than a point of the grid.
func scraped(edges bool) (list []promtest.Series) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		s := promtest.Series{Labels: []string{"__name__", unmarked.Metric, "pod", fmt.Sprint("pod-", i), "namespace", fmt.Sprint("n", i%3)}}
		first := unmarked.Start - 600_000 + r.Int64N(5*3_600_000)
		last := min(first+r.Int64N(8*3_600_000), unmarked.End+600_000)
		if i%2 == 0 {
			first -= first % 60_000
			if !edges {
				first += 15_000
			}
		}
		for at := first; at <= last; at += 60_000 {
			switch r.IntN(12) {
			case 0: // a failed scrape
			case 1:
				at += 60_000 * r.Int64N(8)
				if i%5 == 0 {
					s.Samples = append(s.Samples, promtest.Stale(at))
				}
			default:
				s.Samples = append(s.Samples, promtest.Sample{T: at, V: float64(r.IntN(1 << 40))})
			}
			if i%2 == 1 && edges {
				at += r.Int64N(3) - 1
			}
		}
		list = append(list, s)
	}
	return list
}

// lastOverTime is what the server itself makes of the selector's grid, in the form of collect.
func lastOverTime(t *testing.T, server string, sel promquery.Request) map[string][]string {
	t.Helper()
	return pointsOf(t, server, fmt.Sprintf("last_over_time(%s[%dms])", sel.Metric, sel.Grid.Lookback), sel)
}

// pointsOf is what the server makes of an expression on the selector's grid, in the form of collect.
func pointsOf(t *testing.T, server, expr string, sel promquery.Request) map[string][]string {
	t.Helper()
	params := url.Values{
		"query": {expr}, "nocache": {"1"},
		"start": {strconv.FormatInt(sel.Start/1000, 10)}, "end": {strconv.FormatInt(sel.End/1000, 10)}, "step": {strconv.FormatInt(sel.Grid.Step/1000, 10)},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/v1/query_range?"+params.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it was read
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		t.Fatal(err)
	}
	points := map[string][]string{}
	for _, series := range answer.Data.Result {
		key := "0:" + series.Metric["pod"]
		for _, p := range series.Values {
			v, err := strconv.ParseFloat(p[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			points[key] = append(points[key], fmt.Sprintf("%.0f=%v", p[0].(float64)*1000, v))
		}
	}
	return points
}

// ranges counts the requests for range vectors and for grids.
type ranges struct{ raw, grids atomic.Int64 }

// RoundTrip implements http.RoundTripper.
func (c *ranges) RoundTrip(req *http.Request) (*http.Response, error) {
	switch query := req.URL.Query().Get("query"); {
	case strings.HasSuffix(req.URL.Path, "/query_range"):
		c.grids.Add(1)
	case strings.HasSuffix(query, "ms]"):
		c.raw.Add(1)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// sameOnGrid compares points that are made here of raw samples with what the server makes of the same samples.
func sameOnGrid(t *testing.T, server string) {
	t.Helper()
	for _, tc := range []struct {
		name       string
		maxSamples int64
		sel        func(*promquery.Request)
		raw        bool
	}{
		{"minutes", 0, func(*promquery.Request) {}, true},
		{"in parts", 700, func(*promquery.Request) {}, true},
		{"half minutes", 0, func(s *promquery.Request) { s.Grid.Step = 30_000 }, true},
		{"two minutes", 0, func(s *promquery.Request) { s.Grid.Step = 120_000 }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sel := unmarked
			tc.sel(&sel)
			var count ranges
			src, err := remote.New(remote.Config{URL: server, Mode: remote.ModeQuery, MaxSamples: tc.maxSamples, Client: &http.Client{Transport: &count}})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := collect(t, src, sel)
			if err != nil {
				t.Fatal(err)
			}
			want := lastOverTime(t, server, sel)
			if len(want) < 50 {
				t.Fatalf("the server has points of %d series only", len(want))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("points (-server +raw):\n%s", diff)
			}
			if raw, grids := count.raw.Load() > 0, count.grids.Load() > 0; raw != tc.raw || grids == tc.raw {
				t.Errorf("raw samples were asked for: %v, grids: %v", raw, grids)
			}
		})
	}
}

// TestRawOnGrid asks real servers for raw samples of a grid.
func TestRawOnGrid(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, scraped(true)...)
	t.Run("Prometheus", func(t *testing.T) { sameOnGrid(t, promtest.Start(t, dir, promtest.Config{})) })
	t.Run("VictoriaMetrics", func(t *testing.T) { sameOnGrid(t, promtest.StartVictoria(t, dir, true)) })
}

// TestGivenLookback leaves it to the server to see samples for as long as a flag says.
func TestGivenLookback(t *testing.T) {
	f := newFake()
	src := f.source(t, remote.Config{Mode: remote.ModeQuery, Lookback: 2 * time.Minute})
	var asked []string
	f.handle("/api/v1/query", text("application/json", `{"status":"success","data":{"resultType":"vector","result":[]}}`))
	f.handle(rangePath, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.FormValue("query")+" "+r.FormValue("lookback_delta"))
		matrix("")(w, r)
	})
	if _, _, err := collect(t, src, unmarked); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`{__name__="container_memory_working_set_bytes"} 120.000`}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
