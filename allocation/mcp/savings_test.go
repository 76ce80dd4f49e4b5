package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestSavings passes recommendations on, shortly: parts to four digits, money to two.
func TestSavings(t *testing.T) {
	var asked string
	api := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/model/savings/requests":
			asked = r.URL.Query().Encode()
			fmt.Fprint(w, `{"code":200,"data":{"profile":"safe","count":3,"monthlySaving":40.123456,"monthlyRisk":0,"notes":["freed requests become idle"],"requests":[
				{"cluster":"one","namespace":"web","controllerKind":"deployment","controller":"front","container":"nginx","owner":"a","monthlySaving":40.123456,"monthlyRisk":0,"runningHours":12.5,
				"cpu":{"request":2,"recommended":0.263,"why":"quantile","exceedance":0.0412345,"currentExceedance":0},"memory":{"request":1e9,"recommended":null,"why":"unknown","exceedance":null,"currentExceedance":null}}]},"warnings":["8 of 14 days have data"]}`)
		case "/model/getConfigs":
			fmt.Fprint(w, `{"code":200,"data":{"currencyCode":"EUR"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	text, failed := ask(t, api, 1<<20, "savings", map[string]any{"window": "14d", "limit": 1})
	const want = `{"data":{"profile":"safe","currency":"EUR","count":3,"monthlySaving":40.12,"monthlyRisk":0,"notes":["freed requests become idle"],"requests":[` +
		`{"cluster":"one","namespace":"web","controllerKind":"deployment","controller":"front","container":"nginx","owner":"a","monthlySaving":40.12,"monthlyRisk":0,` +
		`"cpu":{"request":2,"recommended":0.263,"why":"quantile","exceedance":0.0412,"currentExceedance":0},"memory":{"request":1000000000,"recommended":null,"why":"unknown","exceedance":null,"currentExceedance":null}}]},` +
		`"warnings":["8 of 14 days have data"]}`
	if failed || text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if asked != "limit=1&window=14d" {
		t.Errorf("the API was asked for %s", asked)
	}
	if text, failed := ask(t, api, 1<<20, "savings", map[string]any{"limit": 51}); !failed || !strings.Contains(text, "50") {
		t.Errorf("51 recommendations: %s", text)
	}
}
