package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExpected passes on what is unusual and what is forecast, shortly: money to four digits, and of the question that says why only the baseline.
func TestExpected(t *testing.T) {
	const day = `{"start":"2026-11-19T00:00:00Z","end":"2026-11-20T00:00:00Z"}`
	for name, tt := range map[string]struct {
		args                      map[string]any
		path, asked, answer, want string
	}{
		"anomalies": {
			map[string]any{"window": "7d", "aggregate": "namespace", "limit": 2},
			"/model/anomalies", "aggregate=namespace&limit=2&window=7d",
			`{"window":` + day + `,"threshold":4,"count":3,"unknown":1,"notes":["medians do not add"],"rows":[
			{"name":"shop","day":` + day + `,"cost":123.456789,"expected":10.123456,"spread":0.50617,"score":223.8765,"change":"/model/allocation/change?aggregate=namespace&baseline=2026-11-12T00%3A00%3A00Z%2C2026-11-13T00%3A00%3A00Z&window=x"}]}`,
			`{"data":{"window":` + day + `,"currency":"EUR","threshold":4,"count":3,"unknown":1,"notes":["medians do not add"],"rows":[` +
				`{"name":"shop","day":` + day + `,"cost":123.46,"expected":10.12,"spread":0.51,"score":223.9,"baseline":"2026-11-12T00:00:00Z,2026-11-13T00:00:00Z"}]},"warnings":["w"]}`,
		},
		"no anomalies": {
			map[string]any{"window": "7d"},
			"/model/anomalies", "limit=20&window=7d", `{"window":` + day + `,"threshold":4,"count":0,"unknown":0,"notes":[],"rows":[]}`,
			`{"data":{"window":` + day + `,"currency":"EUR","threshold":4,"count":0,"unknown":0,"notes":[],"rows":[]},"warnings":["w"]}`,
		},
		"forecast": {
			map[string]any{"aggregate": "namespace", "limit": 2},
			"/forecasting/forecast/allocation", "aggregate=namespace",
			`{"arima/namespace":{"model":"median","window":` + day + `,"notes":["medians do not add"],"predictions":{},"totals":{
			"all":{"closedCost":10.55555,"predictedCost":123.456789,"lowerConfidenceLimit":100,"upperConfidenceLimit":150.00001},
			"a":{"closedCost":0,"predictedCost":1,"lowerConfidenceLimit":1,"upperConfidenceLimit":1},"new":{"closedCost":null,"predictedCost":null,"lowerConfidenceLimit":null,"upperConfidenceLimit":null},
			"b":{"closedCost":1,"predictedCost":20,"lowerConfidenceLimit":10,"upperConfidenceLimit":30}}}}`,
			`{"data":{"window":` + day + `,"currency":"EUR","notes":["medians do not add"],"total":{"costSoFar":10.556,"forecast":123.46,"low":100.00,"high":150.00},"count":3,"rows":[` +
				`{"name":"b","costSoFar":1.0000,"forecast":20.00,"low":10.000,"high":30.00},{"name":"a","costSoFar":0,"forecast":1.0000,"low":1.0000,"high":1.0000}]},"warnings":["w"]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			text, failed := ask(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case tt.path:
					asked = r.URL.Query().Encode()
					fmt.Fprint(w, `{"code":200,"data":`+tt.answer+`,"warnings":["w"]}`)
				case "/model/getConfigs":
					fmt.Fprint(w, `{"code":200,"data":{"currencyCode":"EUR"}}`)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}, 0, strings.TrimPrefix(name, "no "), tt.args)
			if diff := cmp.Diff(tt.want, text); diff != "" || failed || asked != tt.asked {
				t.Errorf("failed %v, asked for %s, want %s (-want +got):\n%s", failed, asked, tt.asked, diff)
			}
		})
	}
}

// TestUnknownForecast passes on that nothing is known, and rows of which nothing is known last.
func TestUnknownForecast(t *testing.T) {
	const nothing = `{"closedCost":0,"predictedCost":null,"lowerConfidenceLimit":null,"upperConfidenceLimit":null}`
	text, failed := ask(t, answers(map[string]string{"/forecasting/forecast/allocation": `{"data":{"arima/namespace":{"window":{},"totals":{"all":` + nothing + `,"a":` + nothing + `}}}}`}), 0, "forecast", nil)
	if want := `"total":{"costSoFar":0,"forecast":null,"low":null,"high":null},"count":1,"rows":[{"name":"a","costSoFar":0,"forecast":null`; failed || !strings.Contains(text, want) {
		t.Errorf("failed %v, want %s: %s", failed, want, text)
	}
}
