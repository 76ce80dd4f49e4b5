package costapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/diagnosis"
)

// emptyAnswers are the answers of each path without data, with two windows of sets if it has several.
var emptyAnswers = []struct{ path, params, data string }{
	{"/model/allocation", "window=2026-11-18,2026-11-20", `[{},{}]`},
	{"/model/allocation", "window=2026-11-18,2026-11-20&accumulate=true", `[{}]`},
	{"/model/allocation", "window=lastmonth&accumulate=true&aggregate=cluster,namespace&includeIdle=true&idle=true&filterNamespaces=", `[{}]`},
	{"/model/allocation", "window=lastmonth&accumulate=month&aggregate=label:app&filter=namespace:%22web%22", `[{}]`},
	{"/model/allocation/compute", "window=2026-11-18,2026-11-20&step=1d", `[{},{}]`},
	{"/model/allocation/compute", "window=2026-11-18,2026-11-20&shareIdle=true&shareNamespaces=kube-system", `[{}]`},
	{"/allocation", "window=2026-11-18,2026-11-20&step=1d&accumulate=false&aggregate=namespace&includeIdle=true", `[{},{}]`},
	{"/allocation/compute", "window=2026-11-18,2026-11-20&accumulate=true", `[{}]`},
	{"/model/allocation/summary", "window=2026-11-18,2026-11-19", `{"step":86400000000000,"window":W,"sets":[{"window":W,"allocations":{}}]}`},
	{"/allocation/summary", "window=2026-11-18,2026-11-19", `{"step":86400000000000,"window":W,"sets":[{"window":W,"allocations":{}}]}`},
	{"/allocation/compute/summary", "window=2026-11-18,2026-11-19", `{"step":86400000000000,"window":W,"sets":[{"window":W,"allocations":{}}]}`},
	{"/model/allocation/summary/topline", "window=2026-11-18,2026-11-19", `"numResults":0`},
	{"/model/allocation/trends", "window=2026-11-18,2026-11-19&names=web", `"isNaN":true`},
	{"/model/allocation/change", "window=2026-11-18,2026-11-19", `"rows":[]`},
	{"/model/anomalies", "window=2026-11-18,2026-11-19", `"rows":[]`},
	{"/forecasting/forecast/allocation", "predictionWindow=3d", `"status":"untrained"`},
	{"/forecasting/forecast/assets", "period=month", `"TotalPredictedCost":null`},
	{"/model/allocation/autocomplete", "window=2026-11-18,2026-11-19&field=namespace", `{"data":[]}`},
	{"/allocation/autocomplete", "window=2026-11-18,2026-11-19&field=namespace", `{"data":[]}`},
	{"/model/assets", "window=2026-11-18,2026-11-20&aggregate=type,label:x", `[{},{}]`},
	{"/model/assets", "window=2026-11-18,2026-11-20&accumulate=true&filterTypes=Node", `[{}]`},
	{"/model/assets/topline", "window=2026-11-18,2026-11-20", `"numResults":0`},
	{"/model/assets/diff", "window=2026-11-18,2026-11-20", `{}`},
	{"/model/assets/autocomplete", "window=2026-11-18,2026-11-20&field=name", `{"data":[]}`},
	{"/assets", "window=2026-11-18,2026-11-20&aggregate=assetType&accumulate=true", `{}`},
	{"/assets/autocomplete", "window=2026-11-18,2026-11-20&field=name", `{"data":[]}`},
	{"/v2/allocation", "window=2026-11-18,2026-11-20&step=1d", `[{},{}]`},
	{"/model/savings", "window=2026-11-10,2026-11-20", `"containerRequestSizing":{"savingsPerMonth":0,`},
	{"/model/savings/unclaimedVolumes", "window=2026-11-17,2026-11-20", `{"count":0,"monthlyCost":0,"monthlyListCost":0,"volumes":[]}`},
	{"/model/savings/abandonedWorkloads", "window=2026-11-12,2026-11-19&format=json", `[]`},
	{"/model/savings/requestSizingV2", "window=2026-11-18,2026-11-20&format=json", `[]`},
	{"/model/savings/requestSizingV2/topline", "window=2026-11-18,2026-11-20&format=json", `{"TotalMonthlySavings":0,"Count":0,"Recommendations":null}`},
	{"/model/savings/requests", "window=2026-11-18,2026-11-20", `"count":0,"monthlySaving":0,"monthlyRisk":0`},
	{"/model/savings/nodes", "window=2026-11-18,2026-11-20", `"aggregate":"nodePool","count":0,"monthlyCost":0,`},
	{"/model/savings/backtest", "window=2026-11-10,2026-11-20", `"profile":"tight","slack":null,"exceedance":null,"memorySlack":null,"memoryDaysExceeded":null,"containers":0,"days":0`},
	{"/model/savings/idleGPUs", "window=2026-11-18,2026-11-20", `{"count":0,"monthlyCost":0,"monthlyListCost":0,"idle":[],"unknown":[]}`},
	{"/model/prediction/speccost", "window=2026-11-18,2026-11-20&format=json", `"ramMonthlyRate":null,"gpuMonthlyRate":0`},
	{"/model/diagnose", "window=2026-11-18,2026-11-20", `"complete":false,"sources":[],"clusters":[]`},
}

// nothingHandler is a handler over a source that answers everything with an error.
func nothingHandler(err error) http.Handler {
	return newHandler(&fake{err: err}, costapi.Config{Diagnose: func(context.Context, allocation.Window) (*diagnosis.Diagnosis, error) { return nil, err }})
}

// TestNoData checks that a window without data is empty sets and a warning on each path, in all formats, but an error if the
// source does not know.
func TestNoData(t *testing.T) {
	nothing := fmt.Errorf("%w: no such series", allocation.ErrNoData)
	asked := map[string]bool{}
	for _, tc := range emptyAnswers {
		t.Run(tc.path+"?"+tc.params, func(t *testing.T) {
			asked[tc.path] = true
			params := strings.Split(strings.ReplaceAll(tc.params, "%22", `"`), "&")
			w := get(nothingHandler(nothing), tc.path, params...)
			var answer storedAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
			}
			want := strings.ReplaceAll(tc.data, "W", `{"start":"2026-11-18T00:00:00Z","end":"2026-11-19T00:00:00Z"}`)
			if got := string(answer.Data); got != want && (want[0] != '"' || !strings.Contains(got, want)) {
				t.Errorf("data %s, want %s", got, want)
			}
			told := 0
			for _, warning := range answer.Warnings {
				if strings.HasPrefix(warning, "no data from 2026-1") && strings.HasSuffix(warning, ": no such series") {
					told++
				} else if !strings.Contains(warning, "aggregate has no effect") && !strings.Contains(warning, "customCost is 0") {
					t.Errorf("warns of what nobody can know: %s", warning)
				}
			}
			if told != 1 { // trends look at the window before, too, and say it once
				t.Errorf("warnings %q, want one of the missing data", answer.Warnings)
			}
			for name, unknown := range map[string]error{
				"a source that fails": fmt.Errorf("%w: connection refused", allocation.ErrUpstream), "a partial answer": fmt.Errorf("%w: %w: store is down", allocation.ErrNoData, allocation.ErrUpstream),
			} {
				if w := get(nothingHandler(unknown), tc.path, params...); w.Code != http.StatusBadGateway {
					t.Errorf("%s is status %d: %.200s", name, w.Code, w.Body)
				}
			}
			if w := get(nothingHandler(fmt.Errorf("%w: %w", allocation.ErrNoData, allocation.ErrNotComputed)), tc.path, params...); w.Code != http.StatusUnprocessableEntity {
				t.Errorf("what is not computed is status %d: %.200s", w.Code, w.Body)
			}
		})
	}
	for _, path := range costapi.Paths() {
		for _, p := range costapi.Parameters(path) {
			if p.Name == "window" && !asked[path] && !ofBills(path) {
				t.Errorf("%s is not tried", path)
			}
		}
	}
	for _, path := range []string{"/model/allocation", "/model/assets", "/assets"} {
		for _, format := range []string{"csv", "parquet", "arrow"} {
			if w := get(nothingHandler(nothing), path, "window=yesterday", "format="+format); w.Code != http.StatusOK || !strings.Contains(strings.Join(w.Header().Values("Warning"), " "), "no such series") {
				t.Errorf("%s as %s: status %d, warnings %q", path, format, w.Code, w.Header().Values("Warning"))
			}
		}
	}
}

// TestNoDataOfAPart checks that a part of a window without data does not hide a failure in another part.
func TestNoDataOfAPart(t *testing.T) {
	f := &fake{noData: now.Add(-6 * time.Hour)}
	w := get(newHandler(f, costapi.Config{}), "/model/allocation/trends", "window=today", "names=web", "aggregate=namespace")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"isNaN":true`) {
		t.Errorf("a day without data after one with some: %d %s", w.Code, w.Body)
	}
}
