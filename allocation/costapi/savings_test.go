package costapi_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// wasteful is the rich ledger with a pod in it that does nothing, and GPUs of which some are idle.
type wasteful struct{ rich }

func (f *wasteful) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for s, err := range f.rich.Sets(ctx, q) {
			if err == nil {
				hours := s.Window.Duration().Hours()
				forgotten := richRow{"one", "n2", "web", "deployment", "old", "old-1", "main", 1, 1, 1, nil, nil, nil, 0, 0, 0}
				row := forgotten.row(s.Window, s.Dict())
				row.Values[allocation.NetworkReceiveBytes] = 10 * 3600 * hours
				row.Values[allocation.UsageHours.Of(allocation.CPU)], row.Values[allocation.UsageHours.Of(allocation.GPU)] = 0, 0
				row.Values[allocation.Adjustment.Of(allocation.CPU)] = -hours * coreHour / 2
				s.Append(row)
				unknown := forgotten
				unknown.pod = "dark-1"
				row = unknown.row(s.Window, s.Dict())
				for _, r := range []allocation.Resource{allocation.CPU, allocation.GPU} {
					row.Values[allocation.UsageHours.Of(r)], row.Values[allocation.UnknownSeconds.Of(r)] = 0, hours*3600
					row.Values[allocation.UnknownRequestHours.Of(r)] = row.Values[allocation.RequestHours.Of(r)]
				}
				s.Append(row)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// wastefulHandler is the API over it.
func wastefulHandler() http.Handler {
	return costapi.New(&wasteful{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
}

// TestSavings holds the answers about savings: as Kubecost sends them, and filtered.
func TestSavings(t *testing.T) {
	const (
		pod = `{"pod":"old-1","namespace":"web","node":"n2","clusterId":"one","clusterName":"one","owners":[{"name":"old","kind":"deployment"}],` +
			`"ingressBytesPerSecond":10,"egressBytesPerSecond":0,"allocation":{"cpuCores":1,"ramBytes":1073741824},"requests":{"cpuCores":1,"ramBytes":1073741824},` +
			`"usage":{"cpuCores":0,"ramBytes":536870912},"monthlySavings":379.2578125,"monthlyListSavings":390.6640625}`
		volumes = `{"count":1,"monthlyCost":0.1782226562,"monthlyListCost":0.1782226562,"volumes":[{"volumeName":"spare","monthlyCost":0.1782226562,"monthlyListCost":0.1782226562,"bytes":17179869184,` +
			`"storageClass":"ssd","claim":null,"properties":{"category":"Storage","cluster":"one","name":"spare","providerID":"","service":"Kubernetes"}}]}`
		gpus = `{"count":1,"monthlyCost":365,"monthlyListCost":365,"idle":[{"cluster":"one","node":"n2","namespace":"web","pod":"old-1","controllerKind":"deployment","controller":"old","gpus":1,"usage":0,"monthlyCost":365,"monthlyListCost":365}],` +
			`"unknown":[{"cluster":"one","node":"n2","namespace":"web","pod":"dark-1","controllerKind":"deployment","controller":"old","gpus":1,"usage":null,"monthlyCost":365,"monthlyListCost":365}]}`
	)
	for _, tc := range []struct {
		name, path string
		params     []string
		want       string // data
		warning    string // a part of one
	}{
		{"pods", "abandonedWorkloads", nil, "[" + pod + "]", "usage or traffic of 1 pod (web/dark-1) "},
		{"pods of a threshold", "abandonedWorkloads", []string{"threshold=10"}, "[]", ""},
		{"pods of a filter", "abandonedWorkloads", []string{`filter=pod:"old-1"`}, "[" + pod + "]", ""},
		{"no pods of a filter", "abandonedWorkloads", []string{`filter=namespace:"batch"`}, "[]", ""},
		{"a short window", "abandonedWorkloads", []string{"window=yesterday"}, "[" + pod + "]", "the window is shorter than days=7"},
		{"volumes", "unclaimedVolumes", nil, volumes, ""},
		{"volumes of a filter", "unclaimedVolumes", []string{`filter=cluster:"one"`}, volumes, ""},
		{"no volumes of a filter", "unclaimedVolumes", []string{`filter=cluster!:"one"`}, `{"count":0,"monthlyCost":0,"monthlyListCost":0,"volumes":[]}`, ""},
		{"GPUs", "idleGPUs", nil, gpus, "usage of the GPUs of 1 pod (web/dark-1) is not known"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := wastefulHandler()
			params := append([]string{"format=json", "jmespath=@"}, tc.params...)
			w := get(h, "/model/savings/"+tc.path, params...)
			var answer storedAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
			}
			var got, want any
			if err := json.Unmarshal(answer.Data, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, answer.Data)
			}
			if warnings := strings.Join(answer.Warnings, "\n"); !strings.Contains(warnings, tc.warning) {
				t.Errorf("warnings %q, want %q", warnings, tc.warning)
			}
		})
	}
}

// TestBareSavings checks that a list which Kubecost sends without an envelope has its warnings in the header.
func TestBareSavings(t *testing.T) {
	w := get(wastefulHandler(), "/model/savings/abandonedWorkloads")
	var pods []struct{ Pod string }
	if err := json.Unmarshal(w.Body.Bytes(), &pods); err != nil || len(pods) != 1 || pods[0].Pod != "old-1" {
		t.Errorf("%v: %s", err, w.Body)
	}
	if warnings := strings.Join(w.Header().Values("Warning"), "\n"); !strings.Contains(warnings, "is not known") {
		t.Errorf("warnings %q", warnings)
	}
}

// TestSavingsCovered says how many hours have data once, as it does for allocations: nothing in the answers is of a single hour.
func TestSavingsCovered(t *testing.T) {
	type covered struct {
		CoveredHours, WindowHours float64
		SetCoveredHours           []float64
	}
	ask := func(path string) (c covered) {
		w := get(wastefulHandler(), path, "window=2026-11-17,2026-11-20")
		if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: status %d, %v: %s", path, w.Code, err, w.Body)
		}
		return c
	}
	want := ask("/model/allocation")
	if want.CoveredHours == 0 {
		t.Fatal("no hour has data")
	}
	for _, path := range []string{"requests", "backtest", "unclaimedVolumes", "idleGPUs"} {
		if got := ask("/model/savings/" + path); got.CoveredHours != want.CoveredHours || got.WindowHours != want.WindowHours || got.SetCoveredHours != nil {
			t.Errorf("%s: %+v, want the hours of %+v as a whole", path, got, want)
		}
	}
}
