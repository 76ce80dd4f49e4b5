package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestBegin asks a real Prometheus when its data begin.
func TestBegin(t *testing.T) {
	end := fixed.Truncate(time.Hour)
	d := newDemo(t, end)
	upstream := promtest.Start(t, d.dir, promtest.Config{})
	start := end.Add(-10 * time.Hour) // of the demo
	for _, tc := range []struct {
		name     string
		from, to time.Time
		metrics  []string
		want     time.Time
	}{
		{"days before the data", start.Add(-72 * time.Hour), end, []string{"kube_node_info", "kube_pod_info"}, start},
		{"one hour before the data", start.Add(-time.Hour), end, []string{"kube_node_info"}, start},
		{"within the data", start.Add(2 * time.Hour), end, []string{"kube_node_info"}, start.Add(2 * time.Hour)},
		{"hours that begin at the half", start.Add(-3*time.Hour - 30*time.Minute), end, []string{"kube_node_info"}, start.Add(-30 * time.Minute)},
		{"only other metrics", start.Add(-72 * time.Hour), end, []string{"kube_no_such_thing"}, end},
		{"before the data", start.Add(-72 * time.Hour), start.Add(-24 * time.Hour), []string{"kube_node_info"}, start.Add(-24 * time.Hour)},
		{"no time at all", end, end, []string{"kube_node_info"}, end},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src, err := remote.New(remote.Config{URL: upstream})
			if err != nil {
				t.Fatal(err)
			}
			got, err := src.DataBegin(t.Context(), tc.metrics, tc.from, tc.to)
			if err != nil || !got.Equal(tc.want) {
				t.Errorf("data begin at %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// TestBeginOfAServerThatCannotTell has servers that do not know all series.
func TestBeginOfAServerThatCannotTell(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"no such path": http.NotFound,
		"part of it": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status":"success","data":[],"warnings":["a store is down"]}`)
		},
		"something else": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status":"success","data":{}}`)
		},
		"no list": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status":"success","data":null}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			src, err := remote.New(remote.Config{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if at, err := src.DataBegin(t.Context(), []string{"kube_node_info"}, fixed.Add(-time.Hour), fixed); err == nil {
				t.Errorf("it begins at %v", at)
			}
		})
	}
}
