package costapi_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/memory"
)

const predictionPath = "/model/prediction/speccost"

// manifestOfFront doubles the CPU of a container of the rich set, and adds what nobody prices.
const manifestOfFront = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: front, namespace: web}
spec:
  replicas: 1
  template:
    spec:
      containers:
        - name: nginx
          resources: {requests: {cpu: 2, memory: 4Gi}}
        - name: sidecar
          resources: {requests: {cpu: 500m, memory: 1Gi}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: front, namespace: web}
`

// predictionAnswer is what clients read of a prediction.
type predictionAnswer struct {
	Namespace, ControllerKind, ControllerName string
	CostBefore, CostAfter, CostChange         struct {
		TotalMonthlyRate, CPUMonthlyRate, RAMMonthlyRate, GPUMonthlyRate *float64
		MonthlyCPUCoreHours, MonthlyRAMByteHours, MonthlyGPUHours        *float64
	}
	Notes []string
}

// postManifests asks for a prediction.
func postManifests(h http.Handler, query url.Values, text string) *httptest.ResponseRecorder {
	return do(h, httptest.NewRequest(http.MethodPost, predictionPath+"?"+query.Encode(), strings.NewReader(text)))
}

// TestPrediction asks as kubectl-cost does: a core of the rich set costs 0.03125 an hour, and front uses half of what it requests.
func TestPrediction(t *testing.T) {
	h := richHandler(costapi.Config{})
	query := url.Values{"windowAvgUsage": {"2d"}, "windowResourceCost": {"7d offset 48h"}, "clusterID": {"one"}, "defaultNamespace": {"ops"}, "noUsage": {"false"}}
	w := postManifests(h, query, manifestOfFront)
	var rows []predictionAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	front, once := rows[0], rows[1]
	if front.Namespace != "web" || front.ControllerKind != "deployment" || front.ControllerName != "front" || once.Namespace != "ops" || once.ControllerKind != "job" {
		t.Errorf("%+v", rows)
	}
	const core, ram = coreHour * 730, gibHour * 730
	got := []float64{
		*front.CostBefore.CPUMonthlyRate, *front.CostAfter.CPUMonthlyRate, *front.CostChange.CPUMonthlyRate, *front.CostBefore.RAMMonthlyRate, *front.CostChange.RAMMonthlyRate,
		*front.CostAfter.TotalMonthlyRate, *front.CostChange.MonthlyCPUCoreHours, *front.CostAfter.MonthlyRAMByteHours, *front.CostAfter.GPUMonthlyRate, *once.CostBefore.TotalMonthlyRate,
	}
	want := []float64{1.5 * core, 2.5 * core, core, 5 * ram, 0, 2.5*core + 5*ram, 730, 5 * gib * 730, 0, 0}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9*max(1, want[i]) {
			t.Errorf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
	if once.CostAfter.TotalMonthlyRate != nil || once.CostChange.CPUMonthlyRate != nil || !slices.ContainsFunc(once.Notes, func(s string) bool { return strings.Contains(s, "was not seen to run") }) {
		t.Errorf("what a job that never ran will cost is not null: %+v", once)
	}
	warnings := strings.Join(w.Header().Values("Warning"), "\n")
	for _, part := range []string{"job ops/once: what it will cost is not known", "1 objects of other kinds are not priced, Service web/front among them"} {
		if !strings.Contains(warnings, part) {
			t.Errorf("warnings %q, want %q", warnings, part)
		}
	}
}

// TestPredictionInFull checks the answer in an envelope, which has a total of what is known and what nobody prices.
func TestPredictionInFull(t *testing.T) {
	w := postManifests(richHandler(costapi.Config{}), url.Values{"window": {"2d"}, "clusterID": {"one"}, "format": {"json"}}, manifestOfFront)
	var answer struct {
		Data struct {
			Cluster   string
			Workloads []predictionAnswer
			Total     struct {
				CostChange struct{ TotalMonthlyRate float64 }
			}
			Unpriced []struct{ Kind, Namespace, Name string }
		}
		CoveredHours float64
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	if d := answer.Data; d.Cluster != "one" || len(d.Workloads) != 2 || math.Abs(d.Total.CostChange.TotalMonthlyRate-coreHour*730) > 1e-9 || answer.CoveredHours < 47 {
		t.Errorf("%s", w.Body)
	}
	if diff := cmp.Diff([]struct{ Kind, Namespace, Name string }{{"Service", "web", "front"}}, answer.Data.Unpriced); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPredictionOfTheUnknown has no total where no cost is known, and one of nothing where nothing is priced.
func TestPredictionOfTheUnknown(t *testing.T) {
	documents := strings.Split(manifestOfFront, "---")
	for _, tt := range []struct{ name, text, want string }{
		{"a job that never ran", documents[1], "null"},
		{"nothing with a price", documents[2], "0"},
	} {
		w := postManifests(richHandler(costapi.Config{}), url.Values{"window": {"2d"}, "clusterID": {"one"}, "format": {"json"}}, tt.text)
		var answer struct {
			Data struct {
				Total struct {
					CostAfter, CostChange struct{ TotalMonthlyRate json.RawMessage }
				}
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
		}
		if total := answer.Data.Total; string(total.CostAfter.TotalMonthlyRate) != tt.want || string(total.CostChange.TotalMonthlyRate) != tt.want {
			t.Errorf("%s: the total is %s, and the change %s, want %s", tt.name, total.CostAfter.TotalMonthlyRate, total.CostChange.TotalMonthlyRate, tt.want)
		}
	}
}

// TestRefusedPredictions holds what is said of bad requests.
func TestRefusedPredictions(t *testing.T) {
	small := costapi.New(&rich{}, log.NewNopLogger(), costapi.Config{Memory: memory.New(1 << 20)})
	for _, tc := range []struct {
		name   string
		h      http.Handler
		query  url.Values
		text   string
		status int
		want   string
	}{
		{"several clusters", nil, nil, manifestOfFront, 400, "parameter clusterID: unknown cluster: there are several: give one of arn:aws:eks/two, one"},
		{"another cluster", nil, url.Values{"clusterID": {"three"}}, manifestOfFront, 400, `unknown cluster "three"`},
		{"no manifests", nil, nil, "", 400, "there is no manifest"},
		{"a bad quantity", nil, nil, strings.Replace(manifestOfFront, "4Gi", "4GB", 1), 400, `document 1 (Deployment web/front): spec.template.spec.containers[0] (nginx): resources.requests.memory: "4GB" on line 11 is no quantity`},
		{"a bad window", nil, url.Values{"windowAvgUsage": {"2y"}}, manifestOfFront, 400, "parameter windowAvgUsage: "},
		{"a bad window of prices", nil, url.Values{"windowResourceCost": {"2y"}}, manifestOfFront, 400, "parameter windowResourceCost: "},
		{"a misspelled parameter", nil, url.Values{"clusterId": {"one"}}, manifestOfFront, 400, `did you mean "clusterID"?`},
		{"too long", nil, nil, strings.Repeat("#", 5<<20), 413, "the manifests are longer than 4194304 bytes: split them"},
		{"more than the memory", small, nil, strings.Repeat("#", 1<<20), 422, "memory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.h == nil {
				tc.h = richHandler(costapi.Config{})
			}
			w := postManifests(tc.h, tc.query, tc.text)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), strings.ReplaceAll(tc.want, `"`, `\"`)) {
				t.Errorf("status %d: %s, want %d: %s", w.Code, w.Body, tc.status, tc.want)
			}
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut} {
		if w := do(richHandler(costapi.Config{}), httptest.NewRequest(method, predictionPath, nil)); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: status %d, Allow %q: %s", method, w.Code, w.Header().Get("Allow"), w.Body)
		}
	}
}
