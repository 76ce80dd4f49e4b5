package remote_test

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// TestGarbage answers each request with something that is not an answer, with and without a good beginning.
func TestGarbage(t *testing.T) {
	body, ends := stream(t)
	for _, tc := range []struct {
		name    string
		mode    remote.Mode
		handler http.HandlerFunc
	}{
		{"frames", remote.ModeRemoteRead, frames(body[:ends[1]], bytes.Repeat([]byte{0xa5}, 3000))},
		{"HTML for frames", remote.ModeRemoteRead, text("text/html", html)},
		{"unauthorized", remote.ModeRemoteRead, status(401, "text/plain", "")},
		{"JSON", remote.ModeQuery, text(jsonType, `{"status":"success","data":{"result":[{"metric":{},"values":[[1,"1"],`+strings.Repeat("}", 3000))},
		{"HTML for JSON", remote.ModeQuery, text("text/html", html)},
		{"nothing", remote.ModeQuery, text(jsonType, "")},
		{"unauthorized query", remote.ModeQuery, status(401, "text/plain", "")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/read", probed(tc.handler))
			f.handle(rangePath, tc.handler)
			sel := selector
			sel.End, sel.Grid.Step = 100_000, 1000
			_, _, err := collect(t, f.source(t, remote.Config{Mode: tc.mode, MaxConcurrency: 1}), sel, sel)
			if err == nil || !strings.Contains(err.Error(), "http://prometheus.test") {
				t.Errorf("got %v, want an error that names the server", err)
			}
		})
	}
}

// TestSuccessWithoutData answers requests with something that looks like a success. No repetition can mend that, so each is sent once.
func TestSuccessWithoutData(t *testing.T) {
	null, vector := text(jsonType, `{"status":"success","data":null}`), text(jsonType, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	sel := selector
	sel.End, sel.Grid.Step = 100_000, 1000
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		always bool
		want   int // requests for data
		err    string
	}{
		{"always", null, true, 0, "not a Prometheus API: got JSON without a result"},
		{"for samples", null, false, 1, "/api/v1/query_range: it says success, but has no result"},
		{"of another type", vector, true, 1, `/api/v1/query_range: it has a result of type "vector"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle(rangePath, tc.answer)
			if tc.always {
				f.handle("/api/v1/query", tc.answer)
				f.handle("/api/v1/status/config", tc.answer)
				f.handle("/api/v1/read", tc.answer)
			}
			_, _, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), sel)
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %v, want an error with %q", err, tc.err)
			}
			if n := f.count(rangePath); n != tc.want {
				t.Errorf("asked for samples %d times, want %d", n, tc.want)
			}
			if n := f.count("/api/v1/query"); n != 1 {
				t.Errorf("asked what it is %d times, want 1", n)
			}
		})
	}
}

// TestOddSeries reads series that no server should send: unordered or repeated times, values that are not numbers, the same series
// twice. What has a time is counted, once; what is left out gets a warning.
func TestOddSeries(t *testing.T) {
	values := chunkenc.NewXORChunk()
	app, err := values.Appender()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1), math.Float64frombits(value.StaleNaN), 2} {
		app.Append(0, int64(i)*10, v)
	}
	odd := prompb.Chunk{Type: prompb.Chunk_XOR, MaxTimeMs: 50, Data: values.Bytes()}
	one, early, middle, late := chunk(t, chunkenc.EncXOR, 0, 1), chunk(t, chunkenc.EncXOR, 0, 2), chunk(t, chunkenc.EncXOR, 100, 2), chunk(t, chunkenc.EncXOR, 200, 2)
	mixed := []string{"0=1", "10=2", "100=1", "110=2", "200=1", "210=2"}
	for _, tc := range []struct {
		name   string
		mode   remote.Mode
		answer http.HandlerFunc
		want   map[string][]string
		warned string
	}{
		{"values in frames", remote.ModeRemoteRead, frames(frame(t, 0, "pod=a", odd)), map[string][]string{"0:a": {"0=1", "10=NaN", "20=+Inf", "30=-Inf", "40=NaN", "50=2"}}, ""},
		{"order in a frame", remote.ModeRemoteRead, frames(frame(t, 0, "pod=a", middle, late, early)), map[string][]string{"0:a": mixed}, ""},
		{"order of frames", remote.ModeRemoteRead, frames(frame(t, 0, "pod=a", middle), frame(t, 0, "pod=a", early, late)), map[string][]string{"0:a": {"100=1", "110=2", "200=1", "210=2"}}, "times do not ascend"},
		{"order in a chunk", remote.ModeRemoteRead, frames(frame(t, 0, "pod=a", early, chunkAt(t, chunkenc.EncXOR, 110, 100, 120), late)), map[string][]string{"0:a": {"0=1", "10=2", "200=1", "210=2"}}, "times do not ascend"},
		{"order in a chunk of XOR2", remote.ModeRemoteRead, frames(frame(t, 0, "pod=a", early, chunkAt(t, chunkenc.EncXOR2, 110, 100, 120), late)), map[string][]string{"0:a": {"0=1", "10=2", "200=1", "210=2"}}, "times do not ascend"},
		{"a chunk twice", remote.ModeRemoteRead, frames(frame(t, 0, "pod=a", early, early, late)), map[string][]string{"0:a": {"0=1", "10=2", "200=1", "210=2"}}, ""},
		{"twice in frames", remote.ModeRemoteRead, frames(frame(t, 0, "pod=a", one), frame(t, 0, "pod=b", one), frame(t, 0, "pod=a", one)), map[string][]string{"0:a": {"0=1", "0=1"}, "0:b": {"0=1"}}, ""},
		{"values in JSON", remote.ModeQuery, matrix(`{"metric":{"pod":"a"},"values":[[0.01,"NaN"],[0.02,"+Inf"],[0.03,"-Inf"],[0.04,"2"]]}`), map[string][]string{"0:a": {"10=NaN", "20=+Inf", "30=-Inf", "40=2"}}, ""},
		{"order in JSON", remote.ModeQuery, matrix(`{"metric":{"pod":"a"},"values":[[0.02,"1"],[0.01,"2"],[0.02,"3"],[0.03,"4"]]}`), map[string][]string{"0:a": {"10=2", "20=1", "30=4"}}, ""},
		{"twice in JSON", remote.ModeQuery, matrix(`{"metric":{"pod":"a"},"values":[[0.01,"1"]]},{"metric":{"pod":"a"},"values":[[0.01,"1"]]}`), map[string][]string{"0:a": {"10=1"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/read", probed(tc.answer))
			f.handle(rangePath, tc.answer)
			sel := selector
			sel.End, sel.Grid.Step = 100_000, 10
			got, stats, err := collect(t, f.source(t, remote.Config{Mode: tc.mode}), sel)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("series (-want +got):\n%s%v", diff, err)
			}
			if warnings := fmt.Sprint(stats.Warnings); (len(stats.Warnings) > 0) != (tc.warned != "") || !strings.Contains(warnings, tc.warned) {
				t.Errorf("warnings %s, want %q", warnings, tc.warned)
			}
		})
	}
}

// TestReplicaLabels sees to it that replicas are series of one key.
func TestReplicaLabels(t *testing.T) {
	one := chunk(t, chunkenc.EncXOR, 10, 1)
	f := newFake()
	f.handle("/api/v1/read", probed(frames(frame(t, 0, "pod=a,replica=0", one), frame(t, 0, "pod=a,replica=1", one))))
	f.handle(rangePath, matrix(`{"metric":{"pod":"a","replica":"0"},"values":[[0.01,"1"]]},{"metric":{"pod":"a","replica":"1"},"values":[[0.01,"1"]]}`))
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		for _, keep := range [][]promquery.Label{nil, promquery.Labels("pod", "replica")} {
			sel := selector
			sel.Keep, sel.End, sel.Grid.Step = keep, 10, 10
			want := map[string][]string{"0:pod|a": {"10=1", "10=1"}}
			if keep != nil {
				want = map[string][]string{"0:a|": {"10=1", "10=1"}}
			}
			f.handle("/api/v1/read", probed(frames(frame(t, 0, "pod=a,replica=0", one), frame(t, 0, "pod=a,replica=1", one))))
			got, stats, err := collect(t, f.source(t, remote.Config{Mode: mode, ReplicaLabels: []string{"x", "replica"}}), sel)
			if diff := cmp.Diff(want, got); diff != "" || err != nil || stats.Series != 2 {
				t.Errorf("%s, keep %v: %d series (-want +got):\n%s%v", mode, keep, stats.Series, diff, err)
			}
		}
	}
}

// TestParams sees to it that parameters go with every query.
func TestParams(t *testing.T) {
	l := &limited{t: t, series: inNamespaces("namespace", 1, "a", "b"), limit: 60, refuse: tooMany}
	var seen []string
	note := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("query") != "1" {
				seen = append(seen, fmt.Sprint(r.URL.Path, " ", r.FormValue("dedup"), r.FormValue("partial_response"), " ", r.FormValue("max_lookback"), r.FormValue("lookback_delta")))
			}
			h(w, r)
		}
	}
	f := newFake()
	f.handle("/api/v1/query", note(l.query))
	f.handle(rangePath, note(l.query))
	f.handle("/api/v1/label/namespace/values", note(l.values("namespace")))
	f.handle("/api/v1/label/exported_namespace/values", note(l.values("exported_namespace")))
	src := f.source(t, remote.Config{Mode: remote.ModeQuery, MaxConcurrency: 1, Params: map[string][]string{"dedup": {"false"}, "partial_response": {"true"}}})
	sel := promquery.Request{Metric: "m", Start: minuteMs, End: hourMs, Grid: promquery.Grid{Step: minuteMs}}
	raw := sel
	raw.Grid.Step = 0
	if _, _, err := collect(t, src, sel, raw); err != nil {
		t.Fatal(err)
	}
	const all = " falsetrue "
	want := []string{
		"/api/v1/label/exported_namespace/values" + all, "/api/v1/label/namespace/values" + all,
		"/api/v1/query" + all, rangePath + all + "120000ms",
	}
	if diff := cmp.Diff(want, slices.Compact(slices.Sorted(slices.Values(seen)))); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}

	seen = nil
	src = f.source(t, remote.Config{Mode: remote.ModeQuery, Lookback: 30 * time.Second})
	l.limit = math.MaxInt
	if _, _, err := collect(t, src, sel); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{rangePath + "  30000ms30.000"}, seen); diff != "" {
		t.Errorf("requests with a lookback (-want +got):\n%s", diff)
	}
}

// TestBounded sees to it that an answer cannot make its reader hold more than it asked for.
func TestBounded(t *testing.T) {
	points := strings.Repeat(`[1,"1"],`, 100)
	for _, tc := range []struct{ name, body, want string }{
		{"points", `{"metric":{},"values":[` + points + `[1,"1"]]}`, "fewer points"},
		{"labels", `{"metric":{` + strings.Repeat(`"a":"b",`, 2000) + `"a":"b"}}`, "fewer labels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle(rangePath, matrix(tc.body))
			_, _, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), promquery.Request{Metric: "m", Start: 1000, End: 100_000, Grid: promquery.Grid{Step: 1000}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
	f := newFake()
	f.handle(rangePath, text(jsonType, `{"status":"success","data":{"result":[]},"warnings":[`+strings.Repeat(`"w",`, 1000)+`"w"]}`))
	if _, stats, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), promquery.Request{Metric: "m", End: 1, Grid: promquery.Grid{Step: 1}}); err != nil || len(stats.Warnings) != 1 {
		t.Errorf("got %d warnings and %v", len(stats.Warnings), err)
	}
}
