package remote_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// googleRefusal is how Google's store answers a selector of several metrics, as its users have reported.
const googleRefusal = `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": substitute queries failed: convert vector selector failed: =~ is an unsupported matchtype for the __name__ label: invalid argument"}`

// single answers questions about one metric by h, and refuses others.
func single(refuse, h http.HandlerFunc) http.HandlerFunc {
	several := regexp.MustCompile(`__name__=~|__name__.*__name__`)
	return func(w http.ResponseWriter, r *http.Request) {
		if several.MatchString(r.FormValue("query") + r.FormValue("match[]")) {
			refuse(w, r)
			return
		}
		h(w, r)
	}
}

// TestOneMetricAtATime asks a server that takes questions about one metric only. It learns that from the first refusal.
func TestOneMetricAtATime(t *testing.T) {
	f := newFake()
	refuse := status(400, "application/json", googleRefusal)
	answer := func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.FormValue("query"), `{__name__="`), `"`)
		matrix(scrapedSeries(name, "", 60, 120))(w, r)
	}
	f.handle("/api/v1/query", single(refuse, f.handlers["/api/v1/query"]))
	f.handle(rangePath, single(refuse, answer))
	f.handle("/api/v1/series", single(refuse, func(w http.ResponseWriter, r *http.Request) {
		list := ""
		if strings.Contains(r.FormValue("match[]"), `"b"`) {
			list = "{}"
		}
		text("application/json", `{"status":"success","data":[`+list+`]}`)(w, r)
	}))
	src := f.source(t, remote.Config{Mode: remote.ModeQuery, MaxConcurrency: 1})
	var sels []promquery.Request
	for _, name := range []string{"a", "b", "c"} {
		sels = append(sels, promquery.Request{Metric: name, Keep: promquery.Labels("job"), AtOnce: 12, End: 120_000, Grid: promquery.Grid{Step: minuteMs}})
	}
	want := map[string][]string{"0:j": {"60000=1", "120000=1"}, "1:j": {"60000=1", "120000=1"}, "2:j": {"60000=1", "120000=1"}}
	for _, requests := range []int{4, 3} {
		before := f.count(rangePath)
		got, _, err := collect(t, src, sels...)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("points (-want +got):\n%s%v", diff, err)
		}
		if n := f.count(rangePath) - before; n != requests {
			t.Errorf("%d requests, want %d", n, requests)
		}
	}
	at := time.UnixMilli(0)
	if begin, err := src.DataBegin(t.Context(), []string{"a", "b", "c"}, at, at.Add(time.Hour)); err != nil || !begin.Equal(at) {
		t.Errorf("data begin at %v, %v", begin, err)
	}
}

// TestForgottenRefusals asks about several metrics at once again after a server refused everything for a while: that says nothing about
// how many metrics a question may be about.
func TestForgottenRefusals(t *testing.T) {
	f := newFake()
	var down, wasDown atomic.Bool
	answer := f.handlers["/api/v1/query"]
	f.handle("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			status(404, "text/plain", "no route")(w, r)
			return
		}
		answer(w, r)
	})
	f.handle(rangePath, func(w http.ResponseWriter, r *http.Request) {
		if !wasDown.Load() {
			down.Store(true)
			status(404, "text/plain", "no route")(w, r)
			return
		}
		matrix("")(w, r)
	})
	src := f.source(t, remote.Config{Mode: remote.ModeQuery, MaxConcurrency: 1})
	var sels []promquery.Request
	for _, name := range []string{"a", "b", "c"} {
		sels = append(sels, promquery.Request{Metric: name, Keep: promquery.Labels("job"), AtOnce: 12, End: 120_000, Grid: promquery.Grid{Step: minuteMs}})
	}
	if _, _, err := collect(t, src, sels...); err == nil {
		t.Fatal("no error")
	}
	wasDown.Store(true)
	down.Store(false)
	before := f.count(rangePath)
	if _, _, err := collect(t, src, sels...); err != nil || f.count(rangePath)-before != 1 {
		t.Errorf("%d requests, want 1; %v", f.count(rangePath)-before, err)
	}
}

// TestService recognizes stores by what they answer.
func TestService(t *testing.T) {
	header := func(name string, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(name, "dc5b1f3a-4c38-4a4b-a6a5-b5a5bd5e2a11")
			h(w, r)
		}
	}
	const prometheus, mimir = `{"status":"success","data":{"version":"3.5.0","goVersion":"go1.24.4"}}`,
		`{"status":"success","data":{"application":"Grafana Mimir","version":"2.17.0","features":{"ruler_config_api":"true"}}}`
	for _, tc := range []struct {
		name  string
		url   string
		build http.HandlerFunc
		query http.HandlerFunc // of several metrics; nil takes it
		want  string
	}{
		{"Prometheus", "http://prometheus:9090", text("application/json", prometheus), nil, ""},
		{"without build information", "http://prometheus:9090", http.NotFound, nil, ""},
		{"not JSON", "http://prometheus:9090", text("text/html", "<html>"), nil, ""},
		{"Mimir", "http://mimir/prometheus", text("application/json", mimir), nil, "Grafana Mimir"},
		{"Grafana Cloud", "https://prometheus-prod-01.grafana.net/api/prom", text("application/json", mimir), nil, "Grafana Cloud"},
		{"Amazon by its address", "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1", status(403, "application/json", `{"message":"Missing Authentication Token"}`), nil, "Amazon Managed Service for Prometheus"},
		{"Amazon behind a proxy", "http://sigv4-proxy:8005/workspaces/ws-1", header("x-amzn-RequestId", status(404, "application/json", `{"message":null}`)), nil, "Amazon Managed Service for Prometheus"},
		{"Azure", "https://w-abcd.eastus.prometheus.monitor.azure.com", status(404, "text/plain", ""), status(422, "application/json", `{"status":"error","error":"one name"}`), "Azure Monitor managed Prometheus"},
		{"Google's frontend", "http://frontend:9090", text("application/json", prometheus), status(400, "application/json", googleRefusal), "Google Managed Service for Prometheus"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			base, err := url.Parse(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			f.handle(base.Path+"/api/v1/status/buildinfo", tc.build)
			f.handle(base.Path+"/api/v1/query", f.handlers["/api/v1/query"])
			if tc.query != nil {
				f.handle(base.Path+"/api/v1/query", tc.query)
			}
			src, err := remote.New(remote.Config{URL: tc.url, Client: &http.Client{Transport: f}, Backoff: time.Microsecond})
			if err != nil {
				t.Fatal(err)
			}
			got, err := src.Service(t.Context())
			if name := nameOf(got); name != tc.want || err != nil {
				t.Errorf("got %q, %v, want %q", name, err, tc.want)
			}
		})
	}
}

func nameOf(s *remote.Service) string {
	if s == nil {
		return ""
	}
	return s.Name
}
