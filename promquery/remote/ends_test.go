package remote_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestEnds asks a real Prometheus for the last values of stretches of time: those at regular distances are one request, and all
// are what asking for whole stretches ends with.
func TestEnds(t *testing.T) {
	_, dir := promtest.WriteDemo(t, democluster.New, democluster.Config{End: fixed, Duration: 6 * time.Hour, Nodes: 4, Pods: 40, Seed: 2})
	upstream := promtest.Start(t, dir, promtest.Config{})
	var requests atomic.Int64
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, upstream+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(counting.Close)
	at := func(minutes ...int) (sels []promquery.Request) {
		for _, m := range minutes {
			end := fixed.Add(time.Duration(m-300) * time.Minute).UnixMilli()
			sels = append(sels, promquery.Request{
				Metric: "node_cpu_seconds_total", Keep: promquery.Labels("instance", "cpu", "mode"), Start: end - 5*minuteMs + 1, End: end, Grid: promquery.Grid{Step: minuteMs},
			})
		}
		return sels
	}
	for _, tc := range []struct {
		name string
		sels []promquery.Request
		want int64 // requests
	}{
		{"one", at(0), 1},
		{"hours", at(0, 60, 120, 180, 240, 300), 1},
		{"an edge on the way", at(0, 30, 60, 120), 1},
		{"in any order", at(120, 0, 60), 1},
		{"odd", at(0, 7, 60, 299), 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src, err := remote.New(remote.Config{URL: counting.URL, Mode: remote.ModeQuery})
			if err != nil {
				t.Fatal(err)
			}
			whole, _, err := collect(t, src, tc.sels...)
			if err != nil {
				t.Fatal(err)
			}
			last := slices.Clone(tc.sels)
			for i := range last {
				last[i].Grid.Last = true
			}
			requests.Store(0)
			got, _, err := collect(t, src, last...)
			if err != nil {
				t.Fatal(err)
			}
			if n := requests.Load(); n != tc.want {
				t.Errorf("%d requests, want %d", n, tc.want)
			}
			if len(got) != len(whole) || len(got) == 0 {
				t.Errorf("%d series, want %d", len(got), len(whole))
			}
			for key, points := range whole {
				if ends := points[len(points)-1:]; !slices.Equal(got[key], ends) {
					t.Errorf("%s: got %v, want %v", key, got[key], ends)
				}
			}
		})
	}
}
