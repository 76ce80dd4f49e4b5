package costapi_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/diagnosis"
)

// envelopeOf is an answer as JSON decodes it.
func envelopeOf(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	envelope := map[string]any{}
	if err := json.Unmarshal(w.Body.Bytes(), &envelope); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %.300s", w.Code, err, w.Body)
	}
	return envelope
}

// TestJMESPathOnEveryPath evaluates an expression on every path that takes the parameter. It changes only the data.
func TestJMESPathOnEveryPath(t *testing.T) {
	asked := 0
	for _, path := range costapi.Paths() {
		params := []string{"window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"}
		takes := false
		for _, p := range costapi.Parameters(path) {
			takes = takes || p.Name == "jmespath"
			switch p.Name {
			case "format":
				if strings.Contains(p.Type, "kubecost") { // which is the data alone
					params = append(params, "format=json")
				}
			case "clusterID":
				params = append(params, "clusterID=one")
			case "names":
				if !p.Ignored {
					params = append(params, "names=web")
				}
			case "field":
				if !p.Ignored {
					params = append(params, map[bool]string{true: "field=name", false: "field=namespace"}[strings.Contains(path, "assets")])
				}
			}
		}
		if !takes {
			continue
		}
		asked++
		t.Run(path, func(t *testing.T) {
			h := richHandler(costapi.Config{Diagnose: sampleDiagnosis})
			plain := envelopeOf(t, get(h, path, params...))
			same := envelopeOf(t, get(h, path, append(params, "jmespath=@")...))
			if diff := cmp.Diff(plain, same); diff != "" {
				t.Error("(-plain +@)\n", diff)
			}
			other := envelopeOf(t, get(h, path, append(params, "jmespath={type: type(@), now: time_now_utc()}")...))
			kinds := map[string]string{"[": "array", "{": "object"}
			raw, err := json.Marshal(plain["data"])
			if err != nil {
				t.Fatal(err)
			}
			plain["data"] = map[string]any{"type": kinds[string(raw[:1])], "now": now.Format(time.RFC3339)}
			if diff := cmp.Diff(plain, other); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
	if asked < 22 { // all but /healthz and /openapi.json
		t.Errorf("%d paths take jmespath, want at least 22", asked)
	}
}

// TestParametersOfFacts evaluates over the description of the cluster. Unknown parameters are as on other paths: a warning, or an
// error if they look misspelled. Parameters that clients send anyway are neither.
func TestParametersOfFacts(t *testing.T) {
	h := newHandler(&fake{}, costapi.Config{
		Cluster:    func() costapi.ClusterInfo { return costapi.ClusterInfo{ID: "one", Provider: "AWS"} },
		Closed:     func() time.Time { return now.Truncate(time.Hour) },
		NextClosed: func() time.Time { return now.Truncate(time.Hour).Add(70 * time.Minute) },
		Questions:  []costapi.Question{{Name: "by-team", Query: "window=month&aggregate=label:team"}},
	})
	for _, path := range []string{"/model/clusterInfo", "/clusterInfo", "/clusterInfoMap", "/model/getConfigs", "/model/questions", "/model/views", "/model/budgets"} {
		if w := get(h, path, "jmesspath=@"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "did you mean") {
			t.Errorf("%s: %s", path, w.Body)
		}
		if w := get(h, path, "jmespath=@."); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "parameter jmespath") {
			t.Errorf("%s: %s", path, w.Body)
		}
		got := envelopeOf(t, get(h, path, "dryRun=1", "window=1d", "format=json"))["warnings"]
		var want []any
		for _, name := range []string{"dryRun", "format", "window"} {
			want = append(want, fmt.Sprintf("parameter %q is not known to %s and was ignored", name, path))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		plain := envelopeOf(t, get(h, path))
		if diff := cmp.Diff(plain, envelopeOf(t, get(h, path, "_=1", "tenantId=x", "title=y"))); diff != "" {
			t.Error(diff)
		}
	}
	for path, want := range map[string]any{
		"/clusterInfo?provider": "AWS", "/clusterInfoMap?one.id": "one", "/model/getConfigs?currencyCode": "USD",
		"/model/clusterInfo?closedUntil": "2026-11-21T04:00:00Z", "/model/clusterInfo?nextClosed": "2026-11-21T05:10:00Z",
		"/model/questions?[0].join('?', [name, query])": "by-team?window=month&aggregate=label:team",
	} {
		path, expression, _ := strings.Cut(path, "?")
		if got := envelopeOf(t, get(h, path, "jmespath="+expression))["data"]; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestJMESPath(t *testing.T) {
	window := "window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"
	for _, tc := range []struct {
		params []string
		want   string
	}{
		{[]string{"aggregate=namespace", "jmespath=keys(@[0])"}, `["__idle__","batch","web"]`},
		{[]string{"aggregate=namespace", "idle=false", "jmespath=[0].*.name"}, `["batch","web"]`},
		{[]string{"aggregate=namespace", "fields=name,cpuCost", "jmespath=[0].web | keys(@)"}, `["cpuCost","name"]`},
		{[]string{"aggregate=namespace", "idle=false", "jmespath=[0].{web: web.cpuCores, text: 'a<b'}"}, `{"web":1,"text":"a<b"}`},
		{[]string{"aggregate=namespace", "jmespath=[0].nothing || 'unowned'"}, `"unowned"`},
	} {
		w := get(newHandler(&fake{}, costapi.Config{}), "/model/allocation/compute", append(tc.params, window)...)
		var want any
		if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, envelopeOf(t, w)["data"]); diff != "" {
			t.Errorf("%q (-want +got)\n%s", tc.params, diff)
		}
	}
}

// TestJMESPathErrors are what the expression meets only in the data: it is the request's fault.
func TestJMESPathErrors(t *testing.T) {
	window := "window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"
	for expr, want := range map[string]string{
		"[0].nothing":                            `Unknown key "nothing" in path`,
		"abs([0])":                               "function abs: argument 1 is an object: want number",
		"[@,@]" + strings.Repeat(" | [@,@]", 60): "builds more than",
		"is_external_url('https://example.com')": "names of hosts are not looked up here",
	} {
		w := get(newHandler(&fake{}, costapi.Config{}), "/model/allocation/compute", window, "aggregate=namespace", "jmespath="+expr)
		checkError(t, w, http.StatusBadRequest, "parameter jmespath=", want)
	}
}

func TestJMESPathIsCompressed(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/model/allocation/compute?window=1d&jmespath=length(@)", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := do(newHandler(&fake{}, costapi.Config{}), r)
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var envelope struct{ Data float64 }
	if err := json.NewDecoder(z).Decode(&envelope); err != nil || envelope.Data != 1 {
		t.Error(envelope, err)
	}
}

func TestJMESPathOverTooMuch(t *testing.T) {
	h := newHandler(&fake{}, costapi.Config{Diagnose: func(context.Context, allocation.Window) (*diagnosis.Diagnosis, error) {
		return &diagnosis.Diagnosis{Warnings: []string{strings.Repeat("x", 33<<20)}}, nil
	}})
	checkError(t, get(h, "/model/diagnose", "jmespath=complete"), http.StatusUnprocessableEntity, "parameter jmespath: the answer has more than 33554432 bytes", "use fields")
}
