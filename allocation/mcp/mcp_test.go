package mcp_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/promcost/promcost/allocation/mcp"
	"github.com/promcost/promcost/allocation/memory"
)

// TestSemantics checks that assistants read the page that people read.
func TestSemantics(t *testing.T) {
	page, err := os.ReadFile("../../SEMANTICS.md")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("semantics.md")
	if err != nil || string(own) != string(page) {
		t.Errorf("semantics.md is out of date: run `make generate`: %v", err)
	}
}

// ask calls a tool of a server over an API.
func ask(t *testing.T, api http.HandlerFunc, limit int64, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	server := httptest.NewServer(mcp.Handler(mcp.Config{API: api, Parameters: func(string) []mcp.Parameter {
		return []mcp.Parameter{{Name: "window"}, {Name: "filter"}, {Name: "aggregate"}}
	}, Memory: memory.New(limit)}))
	defer server.Close()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

// answers is an API that answers each path with a text.
func answers(texts map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if text, ok := texts[r.URL.Path]; ok {
			fmt.Fprint(w, text)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"code":404,"message":"unknown path %s"}`, r.URL.Path)
	}
}

// TestRounding rounds money to what the error bounds justify, and lets a row of the rest make the sum equal.
func TestRounding(t *testing.T) {
	row := func(name string, cost float64, bounds string) string {
		return fmt.Sprintf(`%q:{"window":{"start":"a","end":"b"},"totalCost":%v,"cpuCost":%v,"totalEfficiency":0.12345,"errorBounds":%s}`, name, cost, cost/2, bounds)
	}
	rows := strings.Join([]string{
		row("sure", 1234.56789, `{"lower":1,"upper":1}`), row("ten per cent", 987.654321, `{"lower":0.9,"upper":1.1}`), row("may be nothing", 54.321, `{"lower":-1,"upper":null}`),
		row("small", 0.0123456, "null"), row("smaller", 0.00123456, "null"),
	}, ",")
	api := answers(map[string]string{"/model/allocation": `{"data":[{` + rows + `}],"resolution":"exact","warnings":["w"],"coveredHours":12,"windowHours":24}`, "/model/getConfigs": `{"data":{"currencyCode":"EUR"}}`})
	text, failed := ask(t, api, 0, "allocations", map[string]any{"window": "1d", "limit": 3})
	const want = `{"window":{"start":"a","end":"b"},"currency":"EUR","resolution":"exact","coveredHours":12,"windowHours":24,"total":{"cost":2300},"totalMonthly":138000,"rows":[` +
		`{"name":"sure","cost":1234.6,"of":{"cpu":617.3},"efficiency":0.123,"errorBounds":{"lower":1,"upper":1}},` +
		`{"name":"ten per cent","cost":1000,"of":{"cpu":500},"efficiency":0.123,"errorBounds":{"lower":0.9,"upper":1.1}},` +
		`{"name":"may be nothing","cost":50,"of":{"cpu":30},"efficiency":0.123,"errorBounds":{"lower":-1,"upper":null}}],` +
		`"rest":{"rows":2,"cost":15.4},"warnings":["w"]}`
	if diff := cmp.Diff(want, text); diff != "" || failed {
		t.Errorf("failed %v: %s", failed, diff)
	}
}

// askAllocations asks for as many allocations as there may be, where the API has rows.
func askAllocations(t *testing.T, rows map[string]any) (text string, failed bool) {
	t.Helper()
	data, err := json.Marshal([]any{rows})
	if err != nil {
		t.Fatal(err)
	}
	return ask(t, answers(map[string]string{"/model/allocation": `{"data":` + string(data) + `}`}), 0, "allocations", map[string]any{"window": "1d", "limit": 200})
}

// TestLongAnswers shows fewer rows rather than more than 20 kB, and nothing is lost of the sum.
func TestLongAnswers(t *testing.T) {
	rows := map[string]any{}
	for i := range 200 {
		rows[fmt.Sprintf("%03d%s", i, strings.Repeat("x", 500))] = map[string]any{"totalCost": 1}
	}
	text, failed := askAllocations(t, rows)
	var answer struct {
		Total struct{ Cost float64 }
		Rows  []struct{ Cost float64 }
		Rest  struct {
			Rows int
			Cost float64
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || failed || len(text) > 20<<10 {
		t.Fatalf("failed %v, %v: %d bytes", failed, err, len(text))
	}
	if got := float64(len(answer.Rows)) + answer.Rest.Cost; len(answer.Rows)+answer.Rest.Rows != 200 || got != 200 || answer.Total.Cost != 200 || len(answer.Rows) == 0 {
		t.Errorf("%d rows, %+v, total %v", len(answer.Rows), answer.Rest, answer.Total.Cost)
	}
}

// TestRestOfRounding answers with all rows, each rounded to what is sure of it: the total is the API's, rounded by itself, and the rest is what
// rounding the rows took.
func TestRestOfRounding(t *testing.T) {
	rows := map[string]any{}
	for i := range 20 {
		rows[strconv.Itoa(i)] = map[string]any{"totalCost": 10.4, "errorBounds": map[string]any{"lower": 0.8, "upper": 1.2}}
	}
	rows["exact"] = map[string]any{"totalCost": 1000.25}
	text, failed := askAllocations(t, rows)
	var answer struct {
		Total struct{ Cost float64 }
		Rows  []struct{ Cost float64 }
		Rest  struct {
			Rows *int
			Cost float64
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || failed {
		t.Fatalf("failed %v, %v: %s", failed, err, text)
	}
	sum := answer.Rest.Cost
	for _, r := range answer.Rows {
		sum += r.Cost
	}
	const exact = 20*10.4 + 1000.25
	if answer.Rest.Rows == nil || *answer.Rest.Rows != 0 || math.Abs(sum-answer.Total.Cost) > 1e-9 || math.Abs(answer.Total.Cost-exact) > 5 {
		t.Errorf("rest %+v, the sum is %v, the total %v, want about %v: %s", answer.Rest, sum, answer.Total.Cost, exact, text)
	}
}

// TestLongWarnings leaves warnings out rather than sending more than 20 kB, and says how many.
func TestLongWarnings(t *testing.T) {
	warnings, err := json.Marshal(slices.Repeat([]string{strings.Repeat("w", 1000)}, 40))
	if err != nil {
		t.Fatal(err)
	}
	text, failed := ask(t, answers(map[string]string{"/model/allocation": `{"data":[{"a":{"totalCost":1}}],"warnings":` + string(warnings) + `}`}), 0, "allocations", map[string]any{"window": "1d"})
	var answer struct{ Warnings []string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || failed || len(text) > 20<<10 {
		t.Fatalf("failed %v, %v: %d bytes", failed, err, len(text))
	}
	n := len(answer.Warnings) - 1
	if want := fmt.Sprintf("%d more warnings are left out", 40-n); n < 2 || !strings.HasPrefix(answer.Warnings[n], want) {
		t.Errorf("%d warnings, the last is %.100q, want %q", n, answer.Warnings[n], want)
	}
}

// TestBadAnswers makes errors of what an API does that it should not, with what may help.
func TestBadAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		api   http.HandlerFunc
		limit int64
		want  string
	}{
		"refused":    {answers(nil), 0, "unknown path /model/allocation"},
		"no JSON":    {answers(map[string]string{"/model/allocation": "<html>"}), 0, "read the answer of /model/allocation"},
		"other JSON": {answers(map[string]string{"/model/allocation": `{"data":{}}`}), 0, "read the answer"},
		"breaks off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "broke off: ask again"},
		"panics":     {func(http.ResponseWriter, *http.Request) { panic("oops") }, 0, "internal error: oops"},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				if _, err := fmt.Fprint(w, strings.Repeat(" ", 1<<20)); err != nil {
					panic(http.ErrAbortHandler)
				}
			}
		}, 0, "use aggregate, filter, limit"},
		"no memory": {answers(map[string]string{"/model/allocation": strings.Repeat(" ", 1<<20)}), 1 << 20, "use aggregate, filter, limit"},
	} {
		t.Run(name, func(t *testing.T) {
			if text, failed := ask(t, tt.api, tt.limit, "allocations", map[string]any{"window": "1d"}); !failed || !strings.Contains(text, tt.want) {
				t.Errorf("failed %v, want %q: %.300s", failed, tt.want, text)
			}
		})
	}
}

// TestOutputs holds the answers of tools to the schemas that they have, and to their texts.
func TestOutputs(t *testing.T) {
	rows := `"coveredHours":12,"windowHours":24,"resolution":"exact","warnings":["w"]`
	api := answers(map[string]string{
		"/model/getConfigs":                `{"data":{"currencyCode":"EUR"}}`,
		"/model/allocation":                `{"data":[{"a":{"window":{"start":"a","end":"b"},"totalCost":5,"cpuCost":2}}],` + rows + `}`,
		"/model/assets":                    `{"data":[{"a":{"type":"Node","properties":{"name":"n"},"window":{"start":"a","end":"b"},"totalCost":5}}],` + rows + `}`,
		"/model/allocation/change":         `{"data":{"window":{"start":"a"},"baselineWindow":{},"total":{"cost":2,"baseline":1,"change":1},"rows":[{"name":"a","cost":2,"baseline":1,"change":1,"effects":{"new":1},"parts":[{"name":"b","cost":2}]}]},` + rows + `}`,
		"/model/savings/requests":          `{"data":{"profile":"safe","count":1,"notes":["n"],"requests":[{"container":"c","cpu":{"request":1,"recommended":null,"why":"hpa"}}]}}`,
		"/model/savings/nodes":             `{"data":{"aggregate":"nodePool","count":1,"monthlyCost":5,"notes":["n"],"nodes":[{"cluster":"c","nodePool":"p","nodeTypes":["m5"],"monthlyCost":5,"moving":{"cpuCores":1},"committedMonthlyCost":null,"monthlySavings":{"least":null,"most":5}}]}}`,
		"/model/anomalies":                 `{"data":{"window":{"start":"a"},"threshold":4,"count":1,"notes":[],"rows":[{"name":"a","day":{"start":"a"},"cost":1,"expected":2,"change":"/model/allocation/change?baseline=x"}]}}`,
		"/forecasting/forecast/allocation": `{"data":{"median":{"window":{"start":"a"},"notes":["n"],"totals":{"all":{"predictedCost":5},"a":{"predictedCost":5}}}}}`,
		"/model/budgets":                   `{"data":[{"name":"b","amount":5,"spent":null}]}`,
		"/model/diagnose":                  `{"data":{"complete":true}}`,
		"/api/v1/query":                    `{"status":"success","data":{"resultType":"vector","result":[]}}`,
	})
	server := httptest.NewServer(mcp.Handler(mcp.Config{API: api, Parameters: func(string) []mcp.Parameter { return []mcp.Parameter{{Name: "window"}} }, Memory: memory.New(0)}))
	defer server.Close()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	described := 0
	for _, tool := range list.Tools {
		if tool.OutputSchema == nil { // those with OpenCost's names
			continue
		}
		described++
		t.Run(tool.Name, func(t *testing.T) {
			text, err := json.Marshal(tool.OutputSchema)
			if err != nil {
				t.Fatal(err)
			}
			var schema jsonschema.Schema
			if err := json.Unmarshal(text, &schema); err != nil {
				t.Fatal(err)
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			args := map[string]any{"window": "1d"}
			switch tool.Name {
			case "promql":
				args = map[string]any{"query": "up"}
			case "budgets", "filter_help", "forecast":
				args = nil
			}
			result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: args})
			if err != nil || result.IsError {
				t.Fatalf("%v: %s", err, result.Content[0].(*sdk.TextContent).Text)
			}
			if err := resolved.Validate(result.StructuredContent); err != nil {
				t.Errorf("%v: %v does not fit %s", err, result.StructuredContent, text)
			}
			var said any
			if err := json.Unmarshal([]byte(result.Content[0].(*sdk.TextContent).Text), &said); err != nil || !reflect.DeepEqual(said, result.StructuredContent) {
				t.Errorf("text and structure differ (%v):\n%v\n%v", err, said, result.StructuredContent)
			}
			if len(schema.Properties) == 0 && schema.AdditionalProperties == nil {
				t.Errorf("the schema says nothing: %s", text)
			}
		})
	}
	if described < 10 {
		t.Errorf("%d tools have schemas of their answers", described)
	}
}
