package browser_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPromQLE2E evaluates the expressions that the page gives: they yield the costs of its rows. Where there is none, it says why.
func TestPromQLE2E(t *testing.T) {
	at := demoURL(t)
	const days = "window=2026-03-15T00:00:00Z,2026-03-17T00:00:00Z&tenancy=false"
	inSearch := "&path=" + url.QueryEscape(`[["namespace","search"]]`)
	for _, tt := range []struct {
		name, query string
		reason      string // why there is no expression
	}{
		{"namespaces", days + "&prices=list&idle=hide", ""},
		{"namespaces and idle", days + "&prices=list", ""},
		{"clusters", days + "&prices=list&idle=hide&aggregate=cluster", ""},
		{"containers", days + "&prices=list&idle=hide&aggregate=container", ""},
		{"controllers of a namespace", days + "&prices=list&idle=hide&aggregate=controller" + inSearch, ""},
		{"pods of a namespace", days + "&prices=list&idle=hide&aggregate=pod" + inSearch, ""},
		{"teams", days + "&prices=list&idle=hide&aggregate=team", ""},
		{"teams and idle", days + "&prices=list&aggregate=team", ""},
		{"a label", days + "&prices=list&idle=hide&aggregate=label:team", ""},
		{"teams as billed", days + "&idle=hide&aggregate=team", `promcost_label_hourly_cost{label="team"}`},
		{"controllers of a team", days + "&prices=list&idle=hide&aggregate=controller&path=" + url.QueryEscape(`[["team","team-a"]]`), "No metric has costs by team, controller"},
		{"nodes", days + "&prices=list&idle=hide&aggregate=node", "No metric has costs by node"},
		{"as billed", days + "&idle=hide", "at list prices"},
		{"shared idle", days + "&prices=list&idle=share", "idle"},
		{"a filter", days + "&prices=list&idle=hide&filter=" + url.QueryEscape(`namespace:"search"`), "The filter has no counterpart"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := open(t, at+"/ui/?"+tt.query)
			p.clickText("#toolbar .actions button", "PromQL")
			p.wait(`document.querySelector("dialog[open]")`)
			if tt.reason != "" {
				if said := p.text("dialog[open]"); !strings.Contains(said, tt.reason) {
					t.Errorf("the page says %q, want %q", said, tt.reason)
				}
				return
			}
			want := costsOf(t, eval[string](p, `performance.getEntriesByType("resource").findLast((e) => e.name.includes("/model/allocation?") && e.name.includes("explain=true")).name`))
			got := evaluate(t, at, eval[string](p, `document.querySelector("dialog[open] textarea").value`))
			if len(want) == 0 || !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, b) }) {
				t.Errorf("the expression yields %v, the API %v", got, want)
			}
		})
	}
}

// costsOf are the costs of an answer's rows that cost something, sorted.
func costsOf(t *testing.T, address string) []float64 {
	t.Helper()
	var answer struct {
		Data []map[string]struct{ TotalCost float64 }
	}
	fetch(t, address, &answer)
	var list []float64
	for _, set := range answer.Data {
		for _, row := range set {
			list = append(list, row.TotalCost)
		}
	}
	return costly(list)
}

// evaluate are the values of a PromQL expression that are not 0, sorted.
func evaluate(t *testing.T, at, expression string) []float64 {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	fetch(t, at+"/api/v1/query?query="+url.QueryEscape(expression), &answer)
	var list []float64
	for _, series := range answer.Data.Result {
		text, _ := series.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, value)
	}
	return costly(list)
}

func costly(list []float64) []float64 {
	list = slices.DeleteFunc(list, func(x float64) bool { return math.Abs(x) < 1e-12 })
	slices.Sort(list)
	return list
}

func fetch(t *testing.T, address string, answer any) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		t.Fatal(err)
	}
}
