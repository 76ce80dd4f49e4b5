package costapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

func TestGolden(t *testing.T) {
	cluster := func() costapi.ClusterInfo {
		return costapi.ClusterInfo{ID: "one", Provider: "AWS", Region: "eu-1", Version: "1.31"}
	}
	for _, tc := range []struct {
		name, path, kind string
		params           []string
	}{
		{"compute.json", "/model/allocation/compute", "application/json", []string{"window=2h"}},
		{"opencost.json", "/allocation", "application/json", []string{"window=2h", "aggregate=label:app", "includeIdle=true", "accumulate=true"}},
		{"steps.json", "/allocation/compute", "application/json", []string{"window=2026-11-20T00:00:00Z,2026-11-20T03:00:00Z", "step=2h", "aggregate=namespace", "madeUp=1"}},
		{"compute.csv", "/model/allocation/compute", "text/csv; charset=utf-8", []string{"window=3h", "step=1h", "aggregate=namespace", "format=csv"}},
		{"assets.json", "/model/assets", "application/json", []string{"window=yesterday", "accumulate=true", "filterTypes=Node"}},
		{"opencost_assets.json", "/assets", "application/json", []string{"window=yesterday", `filter=assetType:"node"`}},
		{"explain.json", "/model/assets", "application/json", []string{"window=yesterday", "explain=true"}},
		{"diagnose.json", "/model/diagnose", "application/json", nil},
		{"clusterinfo.json", "/model/clusterInfo", "application/json", nil},
		{"clusterinfomap.json", "/clusterInfoMap", "application/json", nil},
		{"configs.json", "/model/getConfigs", "application/json", nil},
		{"healthz.txt", "/healthz", "text/plain; charset=utf-8", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			day := allocation.Window{Start: now.Add(-28 * time.Hour).Truncate(24 * time.Hour), End: now.Truncate(24 * time.Hour)}
			h := newHandler(&fake{reading: sampleReading(day)}, costapi.Config{Cluster: cluster})
			w := get(h, tc.path, tc.params...)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != tc.kind {
				t.Errorf("status %d, type %q, want 200, %q", w.Code, w.Header().Get("Content-Type"), tc.kind)
			}
			body := w.Body.String()
			if tc.kind == "application/json" {
				var indented bytes.Buffer
				if err := json.Indent(&indented, w.Body.Bytes(), "", " "); err != nil {
					t.Fatalf("%v in %s", err, body)
				}
				body = indented.String()
			}
			golden(t, tc.name, body)
		})
	}
}

// names are the keys of the sets of an answer.
func names(t *testing.T, body []byte) [][]string {
	t.Helper()
	var answer struct {
		Data []map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var sets [][]string
	for _, set := range answer.Data {
		sets = append(sets, slices.Sorted(maps.Keys(set)))
	}
	return sets
}

func TestNames(t *testing.T) {
	const model, alias = "/model/allocation/compute", "/allocation/compute"
	for _, tc := range []struct {
		path   string
		params []string
		want   [][]string
	}{
		{model, []string{"aggregate=namespace"}, [][]string{{"__idle__", "batch", "web"}}},
		{alias, []string{"aggregate=namespace"}, [][]string{{"batch", "web"}}},
		{model, []string{"aggregate=namespace", "idle=false"}, [][]string{{"batch", "web"}}},
		{model, []string{"aggregate=namespace", "includeIdle=false"}, [][]string{{"batch", "web"}}},
		{alias, []string{"aggregate=namespace", "idle=true"}, [][]string{{"__idle__", "batch", "web"}}},
		{alias, []string{"aggregate=namespace", "idle=true", "includeIdle=true", "filterNamespaces="}, [][]string{{"__idle__", "batch", "web"}}},
		{alias, []string{"aggregate=namespace", "shareIdle=true"}, [][]string{{"batch", "web"}}},
		{model, []string{"aggregate=namespace", "splitIdle=true"}, [][]string{{"batch", "one/__idle__", "web"}}},
		{model, []string{"aggregate=namespace", "splitIdle=true", "idleByNode=true"}, [][]string{{"batch", "one/n1/__idle__", "web"}}},
		{model, []string{"aggregate=label:app", "idle=false"}, [][]string{{"__unallocated__", "app=front"}}},
		{alias, []string{"aggregate=label:app"}, [][]string{{"__unallocated__", "front"}}},
		{alias, []string{"aggregate=label:app", "labelNames=pair"}, [][]string{{"__unallocated__", "app=front"}}},
		{model, []string{"aggregate=team", "idle=false"}, [][]string{{"__unallocated__", "red"}}},
		{model, []string{"aggregate=cluster,namespace,controller", "idle=false"}, [][]string{{"one/batch/job:sum", "one/web/deployment:front"}}},
		{alias, []string{"aggregate=namespace,pod,uid"}, [][]string{{"batch/sum-1/__unallocated__", "web/front-1/__unallocated__"}}},
		{alias, nil, [][]string{{"one/n1/batch/sum-1/main", "one/n1/web/front-1/nginx"}}},
		{alias, []string{"aggregate=namespace", `filter=namespace:"web"`}, [][]string{{"web"}}},
		{alias, []string{"aggregate=namespace", `filter=namespace!:"web" container:"main"`}, [][]string{{"batch"}}},
		{alias, []string{"aggregate=namespace", `filter=namespace:"nowhere"`}, [][]string{nil}},
		{alias, []string{"aggregate=namespace", "step=1h"}, [][]string{{"batch", "web"}, {"batch", "web"}}},
		{alias, []string{"aggregate=namespace", "step=hour", "accumulate=true"}, [][]string{{"batch", "web"}}},
		{alias, []string{"aggregate=namespace", "step=hour", "accumulate=1"}, [][]string{{"batch", "web"}}},
		{alias, []string{"aggregate=namespace", "step=hour", "accumulate=true", "accumulateBy=none"}, [][]string{{"batch", "web"}, {"batch", "web"}}},
		{alias, []string{"aggregate=namespace", "step=5d"}, [][]string{{"batch", "web"}}},
		{model, []string{"aggregate=namespace", "reconcile=false", "external=true", "shareCost=0.0", "shareSplit=even", "offset=0"}, [][]string{{"__idle__", "batch", "web"}}},
	} {
		t.Run(tc.path+" "+strings.Join(tc.params, " "), func(t *testing.T) {
			w := get(newHandler(&fake{}, costapi.Config{}), tc.path, append([]string{"window=2026-11-20T00:00:00Z,2026-11-20T02:00:00Z"}, tc.params...)...)
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(tc.want, names(t, w.Body.Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadRequests(t *testing.T) {
	const compute = "/model/allocation/compute"
	for _, tc := range []struct {
		name, path string
		params     []string
		status     int
		want       []string
	}{
		{"no window", compute, nil, 400, []string{"window is missing", "window=1d"}},
		{"empty window", compute, []string{"window="}, 400, []string{"window is missing"}},
		{"malformed window", compute, []string{"window=soon"}, 400, []string{"parameter window", `"soon"`, "30m"}},
		{"window in the future", compute, []string{"window=2027-01-01,2027-01-02"}, 400, []string{"future", "2027-01-01T00:00:00Z", "before now"}},
		{"end before start", compute, []string{"window=2026-01-02,2026-01-01"}, 400, []string{"is before start"}},
		{"no length", compute, []string{"window=2026-01-02,2026-01-02"}, 400, []string{"no length"}},
		{"misspelled", compute, []string{"window=1d", "aggregte=namespace"}, 400, []string{`"aggregte"`, `did you mean "aggregate"?`}},
		{"wrong case", compute, []string{"window=1d", "includeidle=true"}, 400, []string{`did you mean "includeIdle"?`}},
		{"given twice", compute, []string{"window=1d", "window=2d"}, 400, []string{"window", "1d", "2d", "once"}},
		{"aliases differ", compute, []string{"window=1d", "idle=true", "includeIdle=false"}, 400, []string{"includeIdle", "once"}},
		{"step 0", compute, []string{"window=1d", "step=0"}, 400, []string{"step=0", "at least 1s", "1h"}},
		{"step below 0", compute, []string{"window=1d", "step=-1h"}, 400, []string{"step=-1h", "at least 1s"}},
		{"malformed step", compute, []string{"window=1d", "step=often"}, 400, []string{"step=often", "hour, day, week, month or quarter"}},
		{"too many sets", compute, []string{"window=1d", "step=1s"}, 400, []string{"86400 sets", "10000", "longer step"}},
		{"malformed resolution", compute, []string{"window=1d", "resolution=fine"}, 400, []string{"resolution=fine", "or exact"}},
		{"resolution 0", compute, []string{"window=1d", "resolution=0s"}, 400, []string{"resolution=0s", "exact"}},
		{"resolution of milliseconds", compute, []string{"window=1d", "resolution=1500ms"}, 400, []string{"whole seconds"}},
		{"unknown field", compute, []string{"window=1d", "aggregate=namespce"}, 400, []string{"aggregate=namespce", "namespace"}},
		{"bad filter", compute, []string{"window=1d", `filter=namespace="web"`}, 400, []string{"filter", "column 10", "expected an operator", "\n           ^"}},
		{"no boolean", compute, []string{"window=1d", "idle=yes"}, 400, []string{"idle=yes", "true or false"}},
		{"alias is named", compute, []string{"window=1d", "includeIdle=yes"}, 400, []string{"includeIdle=yes"}},
		{"accumulate", compute, []string{"window=1d", "accumulate=maybe"}, 400, []string{"accumulate=maybe", "true or false"}},
		{"accumulate by", compute, []string{"window=1d", "accumulateBy=true"}, 400, []string{"accumulateBy=true", "quarter"}},
		{"format", compute, []string{"window=1d", "format=xml"}, 400, []string{"format=xml", "json or csv"}},
		{"label names", compute, []string{"window=1d", "labelNames=x"}, 400, []string{"pair or value"}},
		{"property names", compute, []string{"window=1d", "propertyNames=x"}, 400, []string{"plural or singular"}},
		{"share idle oddly", "/allocation", []string{"window=1d", "shareIdle=most"}, 400, []string{"shareIdle=most", "weighted"}},
		{"share labels without a colon", compute, []string{"window=1d", "shareLabels=env:staging,app"}, 400, []string{"shareLabels", `"app"`, "name:value"}},
		{"share filter", compute, []string{"window=1d", `share=namespace:web`}, 400, []string{"share", "double quotes"}},
		{"share cost", compute, []string{"window=1d", "shareCost=-1"}, 400, []string{"shareCost=-1", "not below 0"}},
		{"share cost is none", compute, []string{"window=1d", "shareCost=NaN"}, 400, []string{"shareCost=NaN"}},
		{"share split", compute, []string{"window=1d", "shareSplit=fair"}, 400, []string{"weighted or even"}},
		{"proportions without idle", "/allocation", []string{"window=1d", "includeProportionalAssetResourceCosts=true"}, 400, []string{"includeIdle=true"}},
		{"filter of labels", compute, []string{"window=1d", "filterLabels=app"}, 400, []string{"filterLabels=app", "name:value"}},
		{"negative limit", compute, []string{"window=1d", "limit=-5"}, 400, []string{"limit=-5", "not below 0"}},
		{"sort by", compute, []string{"window=1d", "sortBy=cpuCots"}, 400, []string{`did you mean "cpuCost"?`}},
		{"sort order", compute, []string{"window=1d", "sortByOrder=up"}, 400, []string{"desc or asc"}},
		{"fields", compute, []string{"window=1d", "fields=name,totalcost"}, 400, []string{`did you mean "totalCost"?`}},
		{"fields of CSV", compute, []string{"window=1d", "fields=name", "format=csv"}, 400, []string{"csvColumns=full"}},
		{"cost metric", compute, []string{"window=1d", "costMetric=fast"}, 400, []string{"cumulative or hourly"}},
		{"cost metric and unit", compute, []string{"window=1d", "costMetric=daily", "costUnit=hourly"}, 400, []string{"once"}},
		{"columns of CSV", compute, []string{"window=1d", "csvColumns=some"}, 400, []string{"standard or full"}},
		{"label selector", compute, []string{"window=1d", "labelSelector=app in (a"}, 400, []string{"labelSelector", "column 10: expected ',' or ')', found the end", "app=web,tier in (a,b)"}},
		{"field selector", compute, []string{"window=1d", "fieldSelector=spec.colorx=blue"}, 400, []string{"field label not supported: spec.colorx"}},
		{"field selector of assets", "/model/assets", []string{"window=1d", "fieldSelector=spec.pod=x"}, 400, []string{"field label not supported: spec.pod", "spec.type"}},
		{"field selector that is none", compute, []string{"window=1d", "fieldSelector=spec.node"}, 400, []string{"column 1: expected field=value", "spec.node=n1\n  spec.node\n  ^"}},
		{"JMESPath", compute, []string{"window=1d", "jmespath=[0].*.[name"}, 400, []string{"parameter jmespath=[0].*.[name: parse JMESPath: column 12", "\n             ^"}},
		{"function of JMESPath", compute, []string{"window=1d", "jmespath=[0] | nosuch(@)"}, 400, []string{"column 7: unknown function nosuch"}},
		{"JMESPath of CSV", compute, []string{"window=1d", "jmespath=[0]", "format=csv"}, 400, []string{"parameter jmespath", "format=json"}},
		{"explain of Arrow", compute, []string{"window=1d", "explain=true", "format=arrow"}, 400, []string{"parameter explain", "format=json"}},
		{"a page of Parquet", compute, []string{"window=1d", "limit=3", "format=parquet"}, 400, []string{"limit", "format=arrow"}},
		{"step of stored sets", "/model/allocation", []string{"window=7d", "step=3h"}, 400, []string{"step 3h0m0s", "1h or 1d", "/model/allocation/compute"}},
		{"step of stored assets", "/model/assets", []string{"window=7d", "step=3h"}, 400, []string{"step 3h0m0s is not that of stored sets: use 1h or 1d"}},
		{"calendar step of stored sets", "/model/allocation", []string{"window=7d", "step=month"}, 400, []string{"step", "hours or days", "accumulate"}},
		{"too many stored sets", "/model/allocation", []string{"window=1000000000,1400000000", "step=1h"}, 400, []string{"more than 10000", "shorter window"}},
		{"field of assets", "/model/assets", []string{"window=1d", "aggregate=typ"}, 400, []string{`did you mean "type"?`}},
		{"label of assets without a name", "/model/assets", []string{"window=1d", "aggregate=label:"}, 400, []string{"label:app"}},
		{"filter of assets", "/assets", []string{"window=1d", `filter=asset:"disk"`}, 400, []string{"unknown field", "assetType"}},
		{"v1 filter of assets", "/assets", []string{"window=1d", `filterLabels=pool`}, 400, []string{"filterLabels", "name:value"}},
		{"trends of nothing", "/model/allocation/trends", []string{"window=1d"}, 400, []string{"names is missing"}},
		{"values of nothing", "/model/allocation/autocomplete", []string{"window=1d"}, 400, []string{"field is missing"}},
		{"values of an unknown field", "/allocation/autocomplete", []string{"window=1d", "field=namspace"}, 400, []string{`did you mean "namespace"?`}},
		{"values of no label", "/allocation/autocomplete", []string{"window=1d", "field=label:"}, 400, []string{"label:app"}},
		{"too many values", "/assets/autocomplete", []string{"window=1d", "field=name", "limit=1001"}, 400, []string{"1 to 1000"}},
		{"short bill", "/v2/allocation", []string{"window=23h"}, 400, []string{"23h", "24h or more"}},
		{"bill by label", "/v2/allocation", []string{"window=yesterday", "aggregate=label:app"}, 400, []string{"controllerKind"}},
		{"idle of a bill", "/v2/allocation", []string{"window=yesterday", "fillter=x"}, 400, []string{`did you mean "filter"?`}},
		{"unknown path", "/model/allocations", nil, 404, []string{"/model/allocations", "did you mean /model/allocation?"}},
		{"costs of inference", "/inferenceCost/total", []string{"window=1d"}, 501, []string{"costs of inference are off", "/allocation"}},
		{"series of inference", "/inferenceCost/timeseries", []string{"window=1d", "accumulate=day"}, 501, []string{"costs of inference are off"}},
		{"model of the cluster", "/kubemodel", []string{"window=1d"}, 503, []string{"is off"}},
		{"carbon", "/assets/carbon", []string{"window=1d"}, 404, []string{"estimates of carbon are off"}},
		{"planned path", "/model/allocation/topline", []string{"window=1d"}, 404, []string{"not there yet", "/model/allocation"}},
		{"long value", compute, []string{"window=" + strings.Repeat("x", 300), "step=" + strings.Repeat("y", 5000)}, 400, []string{"step=yyy", "…"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{}
			w := get(newHandler(f, costapi.Config{}), tc.path, tc.params...)
			checkError(t, w, tc.status, tc.want...)
			if len(f.asked) > 0 {
				t.Error("something was computed")
			}
		})
	}
}

// TestConfiguredDefaults checks that configured defaults apply unless a request gives the parameter, even with an empty list.
func TestConfiguredDefaults(t *testing.T) {
	h := newHandler(&fake{}, costapi.Config{Defaults: map[string]string{"shareNamespaces": "batch", "shareIdle": "weighted"}})
	for _, tc := range []struct {
		params []string
		want   []string
	}{
		{nil, []string{"web"}},
		{[]string{"shareNamespaces="}, []string{"web"}},
		{[]string{"shareNamespaces=web"}, []string{"batch"}},
		{[]string{"shareNamespaces=,", "shareIdle=false"}, []string{"__idle__", "batch", "web"}},
	} {
		w := get(h, "/model/allocation/compute", append(tc.params, "window=2026-11-20,2026-11-21", "aggregate=namespace")...)
		if diff := cmp.Diff([][]string{tc.want}, names(t, w.Body.Bytes())); diff != "" {
			t.Errorf("%v: %s", tc.params, diff)
		}
	}
}

// TestUnmappedAliases refuses aliases that the configuration maps to nothing.
func TestUnmappedAliases(t *testing.T) {
	h := newHandler(&fake{}, costapi.Config{Labels: allocation.LabelMapping{"owner": {"owner"}}})
	for _, tc := range []struct{ path, param string }{
		{"/model/allocation", "aggregate=team"}, {"/model/assets", "aggregate=team"}, {"/allocation", "filterTeams=red"},
	} {
		checkError(t, get(h, tc.path, "window=1d", tc.param), http.StatusBadRequest, "team", "stands for no label", "configuration")
	}
	if w := get(h, "/model/assets", "window=1d", "aggregate=owner"); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}

// checkError checks that w is an error with a status and some words.
func checkError(t *testing.T, w *httptest.ResponseRecorder, status int, words ...string) {
	t.Helper()
	var body struct {
		Code    int             `json:"code"`
		Data    json.RawMessage `json:"data"`
		Message string          `json:"message"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	if w.Code != status || body.Code != status || string(body.Data) != "null" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("status %d, type %q, body %.300s, want %d", w.Code, w.Header().Get("Content-Type"), w.Body, status)
	}
	for _, word := range words {
		if !strings.Contains(body.Message, word) {
			t.Errorf("message %q lacks %q", body.Message, word)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fake   fake
		cfg    costapi.Config
		status int
		want   []string
	}{
		{"nobody computes", fake{err: fmt.Errorf("%w: %w here", allocation.ErrNoData, allocation.ErrNotComputed)}, costapi.Config{}, 422, []string{"no data: nothing is computed here"}},
		{"too fine", fake{err: fmt.Errorf("%w: allow more", allocation.ErrTooFine)}, costapi.Config{}, 422, []string{"too fine: allow more"}},
		{"too much", fake{err: fmt.Errorf("%w: ask for less", allocation.ErrTooMuch)}, costapi.Config{}, 422, []string{"too much: ask for less"}},
		{"upstream", fake{err: fmt.Errorf("%w: dial: %w", allocation.ErrUpstream, context.DeadlineExceeded)}, costapi.Config{}, 502, []string{"upstream failure: dial"}},
		{"busy", fake{err: fmt.Errorf("%w: try again later", allocation.ErrBusy)}, costapi.Config{}, 503, []string{"try again later"}},
		{"too slow", fake{wait: true}, costapi.Config{Timeout: time.Millisecond}, 503, []string{"takes too long", "shorter window"}},
		{"other", fake{err: errors.New("odd")}, costapi.Config{}, 500, []string{"odd"}},
		{"panic", fake{panic: "oops"}, costapi.Config{}, 500, []string{"internal error: oops"}},
		{"too many rows", fake{}, costapi.Config{MaxRows: 2}, 422, []string{"3 allocations, at most 2", "aggregate"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHandler(&tc.fake, tc.cfg)
			r := httptest.NewRequest(http.MethodGet, "/model/allocation/compute?window=1d", nil)
			r.Header.Set("Accept-Encoding", "gzip")
			w := do(h, r)
			checkError(t, w, tc.status, tc.want...)
			if w.Header().Get("Content-Encoding") != "" {
				t.Error("error is marked as compressed")
			}
			if retry := w.Header().Get("Retry-After"); (retry != "") != (tc.name == "busy") {
				t.Errorf("Retry-After %q", retry)
			}
			tc.fake = fake{}
			if w := get(h, "/healthz"); w.Code != http.StatusOK {
				t.Errorf("afterwards the status is %d", w.Code)
			}
		})
	}
}

func TestPanicIsLogged(t *testing.T) {
	var logged bytes.Buffer
	h := costapi.New(&fake{panic: "oops"}, log.NewLogfmtLogger(&logged), costapi.Config{Now: func() time.Time { return now }})
	get(h, "/allocation", "window=1d")
	if !strings.Contains(logged.String(), "oops") || !strings.Contains(logged.String(), "fake_test.go") {
		t.Errorf("log %q has no panic with its stack", logged.String())
	}
}

func TestClientThatLeftGetsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := do(newHandler(&fake{wait: true}, costapi.Config{}), httptest.NewRequestWithContext(ctx, http.MethodGet, "/allocation?window=1d", nil))
	if w.Body.Len() != 0 {
		t.Errorf("got %s", w.Body)
	}
}

// brokenWriter fails after some bytes, as a connection does.
type brokenWriter struct {
	http.ResponseWriter
	left int
}

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return b.ResponseWriter.Write(p)
}

func TestBrokenAnswerIsAborted(t *testing.T) {
	for _, encoding := range []string{"", "gzip"} {
		t.Run("encoding "+encoding, func(t *testing.T) {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
					t.Errorf("got %v, want http.ErrAbortHandler", p)
				}
			}()
			r := httptest.NewRequest(http.MethodGet, "/allocation?window=2d&step=1m", nil)
			r.Header.Set("Accept-Encoding", encoding)
			newHandler(&fake{}, costapi.Config{}).ServeHTTP(&brokenWriter{httptest.NewRecorder(), 1}, r)
		})
	}
}

// TestManyParameters verifies that long lists neither make an answer long nor take long.
func TestManyParameters(t *testing.T) {
	var unknown []string
	for i := range 5000 {
		unknown = append(unknown, fmt.Sprint("made", i, "=1"))
	}
	w := get(newHandler(&fake{}, costapi.Config{}), "/allocation", append(unknown, "window=1d", "fields="+strings.Repeat("name,", 50_000))...)
	var body struct{ Warnings []string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if want := "4990 more parameters are not known to /allocation and were ignored"; len(body.Warnings) != 11 || body.Warnings[0] != want {
		t.Errorf("%d warnings, want 11, the first %q: %.300q", len(body.Warnings), want, body.Warnings)
	}
	for want, parameters := range map[string][]string{
		"parameter names=n,n,": {"window=1d", "names=" + strings.Repeat("n,", 1000)},
		"it names 1001 results, at most 1000 are allowed: ask for fewer at a time": {"window=1d", "names=" + strings.Repeat("n,", 1000)},
		"send fewer parameters": slices.Repeat([]string{"window=1d"}, 10_001),
	} {
		if w := get(newHandler(&fake{}, costapi.Config{}), "/model/allocation/trends", parameters...); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %.500s, want %s", w.Code, w.Body, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	w := get(newHandler(&fake{}, costapi.Config{}), "/allocation", "window=1d", "madeUp=1", "tenantId=x", "_=123", "sortBy=totalCost")
	var body struct {
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`parameter "madeUp" is not known to /allocation and was ignored`}, body.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestZone(t *testing.T) {
	f := &fake{}
	w := get(newHandler(f, costapi.Config{Zone: time.FixedZone("", 2*3600)}), "/model/allocation/compute", "window=yesterday", "aggregate=all")
	if !strings.Contains(w.Body.String(), `"window":{"start":"2026-11-20T00:00:00+02:00","end":"2026-11-21T00:00:00+02:00"}`) {
		t.Errorf("window is not in the zone: %s", w.Body)
	}
}

// required are the parameters besides the window that paths cannot do without.
var required = map[string][]string{
	"/model/allocation/trends":       {"names=web"},
	"/model/allocation/autocomplete": {"field=namespace"},
	"/allocation/autocomplete":       {"field=namespace"},
	"/model/assets/autocomplete":     {"field=name"},
	"/assets/autocomplete":           {"field=name"},
}

func TestPathsAndParameters(t *testing.T) {
	for _, path := range costapi.Paths() {
		needs := append([]string{"window=1d"}, required[path]...)
		if w := get(newHandler(&fake{}, costapi.Config{}), path, needs...); w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %.300s", path, w.Code, w.Body)
		}
		seen := map[string]bool{}
		for _, p := range costapi.Parameters(path) {
			if p.Name == "" || p.Help == "" || !strings.HasSuffix(p.Help, ".") {
				t.Errorf("%s: parameter %+v lacks a name or a sentence", path, p)
			}
			for _, name := range append([]string{p.Name}, p.Aliases...) {
				if seen[name] {
					t.Errorf("%s: parameter %s is there twice", path, name)
				}
				seen[name] = true
			}
			if p.Default != "" {
				given := append([]string{p.Name + "=" + p.Default}, needs...)
				if p.Name == "window" {
					given = given[:1]
				}
				if w := get(newHandler(&fake{}, costapi.Config{}), path, given...); w.Code != http.StatusOK {
					t.Errorf("%s: default %s=%s: status %d: %.300s", path, p.Name, p.Default, w.Code, w.Body)
				}
			}
			if w := get(newHandler(&fake{}, costapi.Config{}), path, append([]string{p.Name + "="}, needs...)...); w.Code != http.StatusOK {
				t.Errorf("%s: empty %s: status %d: %.300s", path, p.Name, w.Code, w.Body)
			}
		}
	}
	if got := costapi.Parameters("/nowhere"); got != nil {
		t.Errorf("parameters of an unknown path: %v", got)
	}
}

func FuzzParameters(f *testing.F) {
	for _, seed := range []string{
		"window=1d&aggregate=namespace", "window=today&step=1h&accumulate=true", `window=7d offset 1d&filter=namespace:"a"+pod!~:"b"`, "window=1d&shareIdle=true",
		"window=7d&accumulate=week&sortBy=cpuCost&limit=2&fields=name,pvs", "window=today&shareNamespaces=kube-*&shareLabels=a:b&shareCost=3&shareSplit=even",
		"window=2d&names=a,b&field=label:app&search=x&aggregate=type,label:x", "window=1d&filterControllers=deployment:w*&filterTeams=red&filterTypes=node",
		"window=1d&aggregte=x", "window=2026-11-21,2027-01-01&step=1000000h", "window=1w&resolution=exact&format=csv", "window=1m&resolution=90000h", "%zz", "window=lastmonth&step=1h",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		h := newHandler(&fake{most: 10}, costapi.Config{MaxRows: 25})
		for _, path := range costapi.Paths() {
			w := do(h, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}})
			if w.Code == http.StatusInternalServerError {
				t.Fatalf("%s?%s: %s", path, query, w.Body)
			}
			if w.Code != http.StatusOK {
				checkError(t, w, w.Code)
			}
		}
	})
}
