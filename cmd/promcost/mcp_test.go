package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistantDemo is the command line of a demo whose time stands still.
var assistantDemo = []string{
	"demo", "--web.listen-address=127.0.0.1:0", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=3d", "--demo.scrape-interval=5m", "--demo.end=2026-11-01T06:00:00Z", "--timezone=UTC",
}

// assistant is a client of the protocol.
type assistant struct{ session *mcp.ClientSession }

func connect(t *testing.T, transport mcp.Transport) *assistant {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &assistant{session}
}

// call calls a tool and returns its text, and whether it is an error.
func (a *assistant) call(t *testing.T, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	result, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	content, ok := result.Content[0].(*mcp.TextContent)
	if len(result.Content) != 1 || !ok {
		t.Fatalf("%s %v: content %v", tool, args, result.Content)
	}
	return content.Text, result.IsError
}

// into calls a tool that must succeed, and decodes its answer.
func (a *assistant) into(t *testing.T, tool string, args map[string]any, answer any) {
	t.Helper()
	text, failed := a.call(t, tool, args)
	if err := json.Unmarshal([]byte(text), answer); err != nil || failed {
		t.Fatalf("%s %v: %v: %.500s", tool, args, err, text)
	}
	if len(text) > 20<<10 && !strings.HasPrefix(tool, "get_") {
		t.Errorf("%s %v: %d bytes", tool, args, len(text))
	}
}

// compactAnswer is a compact answer.
type compactAnswer struct {
	Currency string
	Total    compactEntry
	Rows     []compactEntry
	Rest     *struct {
		Rows         int
		Cost, Change float64
	}
	Warnings []string
}

type compactEntry struct {
	Name                   string
	Cost, Baseline, Change float64
	Of, Effects            map[string]float64
	ErrorBounds            *struct{ Lower, Upper *float64 }
	Since, Team            string
	After                  map[string]float64
}

// TestAssistants asks every tool of a running promcost, by the SDK's client over HTTP and over standard input and output, and
// compares its numbers with those of the API.
func TestAssistants(t *testing.T) {
	t.Parallel()
	base := spawn(t, assistantDemo...)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	//nolint:gosec // the program is this test itself
	stdio := exec.CommandContext(t.Context(), os.Args[0], "mcp", "--server="+base)
	stdio.Env = append(os.Environ(), asProgram+"=1")
	for name, transport := range map[string]mcp.Transport{
		"http": &mcp.StreamableClientTransport{Endpoint: base + "/mcp"}, "stdio": &mcp.CommandTransport{Command: stdio},
	} {
		a := connect(t, transport)
		t.Run(name+"/tools", func(t *testing.T) { a.testTools(t) })
		t.Run(name+"/allocations", func(t *testing.T) { a.testAllocations(t, base) })
		t.Run(name+"/change", func(t *testing.T) { a.testChange(t, base) })
		t.Run(name+"/OpenCost", func(t *testing.T) { a.testOpenCost(t, base) })
		t.Run(name+"/others", func(t *testing.T) { a.testOthers(t) })
		t.Run(name+"/mistakes", func(t *testing.T) { a.testMistakes(t) })
	}
	t.Run("wire", func(t *testing.T) { testAssistantWire(t, base+"/mcp") })
}

func (a *assistant) testTools(t *testing.T) {
	tools, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%s: %+v, %q", tool.Name, tool.Annotations, tool.Description)
		}
	}
	slices.Sort(names)
	want := []string{"allocations", "anomalies", "assets", "budgets", "diagnose", "explain_change", "filter_help", "forecast", "get_allocation_costs", "get_asset_costs", "get_cloud_costs", "get_efficiency", "nodes", "promql", "savings"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	schema, _ := json.Marshal(tools.Tools[slices.IndexFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == "allocations" })].InputSchema)
	for _, part := range []string{`"required":["window"]`, `"idle":{"description":"Include`, `"type":"boolean"`, `"shareIdle"`, `"limit"`} {
		if !strings.Contains(string(schema), part) {
			t.Errorf("the schema of allocations lacks %s: %s", part, schema)
		}
	}
}

// roundedTo reports whether a rounded number is that of the API: it differs by half of its last digit, or by the error bounds.
func roundedTo(rounded, exact float64, bounds *struct{ Lower, Upper *float64 }) bool {
	relative := 5e-4
	if bounds != nil {
		for _, b := range []*float64{bounds.Lower, bounds.Upper} {
			if b == nil || *b <= 0 {
				return true
			}
			relative = max(relative, math.Abs(1 - 1 / *b))
		}
	}
	return math.Abs(rounded-exact) <= math.Abs(exact)*relative
}

// answered is the body of a page that must be there.
func answered(t *testing.T, address string) string {
	t.Helper()
	code, body := get(t, address)
	if code != http.StatusOK {
		t.Fatalf("%s: %d: %.300s", address, code, body)
	}
	return body
}

func (a *assistant) testAllocations(t *testing.T, base string) {
	var exact struct{ Data []map[string]map[string]any }
	if err := json.Unmarshal([]byte(answered(t, base+"/model/allocation?window=2d&aggregate=controller&accumulate=true")), &exact); err != nil {
		t.Fatal(err)
	}
	all := 0.0
	for _, row := range exact.Data[0] {
		all += row["totalCost"].(float64)
	}
	for _, limit := range []int{3, 200} {
		var got compactAnswer
		a.into(t, "allocations", map[string]any{"window": "2d", "aggregate": "controller", "limit": limit}, &got)
		sum := 0.0
		for _, r := range got.Rows {
			sum += r.Cost
			if want := exact.Data[0][r.Name]["totalCost"].(float64); !roundedTo(r.Cost, want, r.ErrorBounds) {
				t.Errorf("%s costs %v, want %v within %v", r.Name, r.Cost, want, r.ErrorBounds)
			}
		}
		if got.Rest != nil {
			sum += got.Rest.Cost
			if len(got.Rows)+got.Rest.Rows != len(exact.Data[0]) {
				t.Errorf("%d rows and %d more, want %d", len(got.Rows), got.Rest.Rows, len(exact.Data[0]))
			}
		}
		if math.Abs(sum-got.Total.Cost) > 1e-9 {
			t.Errorf("limit %d: rows add up to %v, the total is %v", limit, sum, got.Total.Cost)
		}
		if math.Abs(got.Total.Cost-all) > 0.01*all {
			t.Errorf("limit %d: the total is %v, want %v", limit, got.Total.Cost, all)
		}
		if (limit == 3) != (len(got.Rows) == 3 && got.Rest != nil) || got.Currency != "USD" {
			t.Errorf("limit %d: %d rows, rest %v, currency %q", limit, len(got.Rows), got.Rest, got.Currency)
		}
	}
	var few compactAnswer
	a.into(t, "assets", map[string]any{"window": "2d", "limit": 2}, &few)
	if sum := few.Rows[0].Cost + few.Rows[1].Cost + few.Rest.Cost; math.Abs(sum-few.Total.Cost) > 1e-9 {
		t.Errorf("assets add up to %v, the total is %v", sum, few.Total.Cost)
	}
}

func (a *assistant) testOpenCost(t *testing.T, base string) {
	var got struct {
		Data struct {
			Allocations map[string]struct{ Allocations []map[string]any }
			Assets      map[string]struct{ Assets []map[string]any }
		}
		QueryInfo struct{ QueryID, Timestamp string }
	}
	a.into(t, "get_allocation_costs", map[string]any{"window": "1d", "aggregate": "namespace", "include_idle": true}, &got)
	var exact struct{ Data []map[string]map[string]any }
	if err := json.Unmarshal([]byte(answered(t, base+"/allocation/compute?window=1d&aggregate=namespace&includeIdle=true")), &exact); err != nil {
		t.Fatal(err)
	}
	for name, set := range got.Data.Allocations {
		for _, row := range set.Allocations {
			if diff := cmp.Diff(exact.Data[0][row["name"].(string)], row); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if len(set.Allocations) != len(exact.Data[0]) {
			t.Errorf("%d rows, want %d", len(set.Allocations), len(exact.Data[0]))
		}
	}
	if got.QueryInfo.QueryID == "" || got.QueryInfo.Timestamp == "" {
		t.Errorf("query info %+v", got.QueryInfo)
	}
	a.into(t, "get_asset_costs", map[string]any{"window": "1d"}, &got)
	var assets struct{ Data map[string]map[string]any }
	if err := json.Unmarshal([]byte(answered(t, base+"/assets?window=1d")), &assets); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, set := range got.Data.Assets {
		n += len(set.Assets)
	}
	if n != len(assets.Data) {
		t.Errorf("%d assets, want %d", n, len(assets.Data))
	}
	a.into(t, "get_cloud_costs", map[string]any{"window": "1d", "provider": "AWS"}, &got)
	a.into(t, "get_allocation_costs", map[string]any{"window": "1d", "aggregate": "namespace", "resolution": "10m"}, &got)
	var used struct {
		Data struct {
			Efficiencies []struct{ CurrentTotalCost, RecommendedCost, CostSavings, CPUCoresUsed, RecommendedCPURequest float64 }
		}
	}
	a.into(t, "get_efficiency", map[string]any{"window": "1d", "aggregate": "namespace"}, &used)
	for _, r := range used.Data.Efficiencies {
		if math.Abs(r.CurrentTotalCost-r.RecommendedCost-r.CostSavings) > 1e-9 || r.CPUCoresUsed > 0.001 && math.Abs(r.RecommendedCPURequest-1.2*r.CPUCoresUsed) > 1e-9 {
			t.Errorf("%+v", r)
		}
	}
	if len(used.Data.Efficiencies) < 3 {
		t.Errorf("%d efficiencies", len(used.Data.Efficiencies))
	}
	text, _ := a.call(t, "get_allocation_costs", map[string]any{"window": "1d", "aggregate": "pod", "limit": 1})
	if !strings.Contains(text, "raise limit") {
		t.Errorf("a limit of 1 says nothing of what it leaves out: %.300s", text)
	}
}

func (a *assistant) testOthers(t *testing.T) {
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"budgets", nil, `{"currency":"USD","budgets":[{"amount":`},
		{"diagnose", map[string]any{"window": "1h"}, `"found":`},
		{"anomalies", map[string]any{"window": "2d", "aggregate": "controller"}, `"currency":"USD","threshold":4,"count":0,"unknown":`},
		{"forecast", map[string]any{"period": "month"}, `"window":{"start":"2026-11-01T00:00:00Z","end":"2026-12-01T00:00:00Z"},"currency":"USD"`},
		{"promql", map[string]any{"query": "count(promcost_namespace_hourly_cost)"}, `"resultType":"vector"`},
		{"promql", map[string]any{"query": "sum(promcost_namespace_hourly_cost)", "start": "2026-11-01T00:00:00Z", "end": "2026-11-01T03:00:00Z", "step": "1h"}, `"resultType":"matrix"`},
		{"filter_help", map[string]any{"filter": `namespace:"web"`}, `"checked":"the filter is right"`},
		{"filter_help", map[string]any{"filter": `namespase:"web"`}, "did you mean"},
	} {
		if text, failed := a.call(t, tt.tool, tt.args); failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: lacks %s: %.500s", tt.tool, tt.args, tt.want, text)
		}
	}
	for uri, want := range map[string]string{"promcost://semantics": "# What the numbers mean", "promcost://metrics": "promcost_namespace_hourly_cost"} {
		r, err := a.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(r.Contents[0].Text, want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	p, err := a.session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "why_did_my_bill_rise", Arguments: map[string]string{"window": "lastmonth"}})
	if err != nil || !strings.Contains(p.Messages[0].Content.(*mcp.TextContent).Text, "window lastmonth") {
		t.Errorf("prompt: %v", err)
	}
}

func (a *assistant) testMistakes(t *testing.T) {
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"allocations", map[string]any{"aggregate": "namespace"}, "parameter window is missing"},
		{"allocations", map[string]any{"window": "1d", "aggregate": "namspace"}, "did you mean"},
		{"allocations", map[string]any{"window": "1d", "filter": `namespace:`}, "parameter filter"},
		{"allocations", map[string]any{"window": "1d", "limit": 0.5}, "a whole number from 1 to 200"},
		{"allocations", map[string]any{"window": map[string]any{"start": 1}}, "argument window: give a text"},
		{"allocations", map[string]any{"window": "1d", "offset": 3}, "argument offset is unknown: give aggregate, "},
		{"explain_change", map[string]any{"window": "1d", "jmespath": "rows"}, "argument jmespath is unknown"},
		{"budgets", map[string]any{"window": "1d"}, "argument window is unknown: give none"},
		{"get_cloud_costs", map[string]any{"window": "1d", "vendor": "aws"}, "argument vendor is unknown: give account, accumulate, aggregate, category, filter, limit, provider, region, service or window"},
		{"get_efficiency", map[string]any{"window": "1d", "aggregate": "namspace"}, "did you mean"},
		{"explain_change", map[string]any{"window": "1d", "drill": "x,y"}, "parameter drill"},
		{"promql", map[string]any{"query": "sum("}, "parse error"},
		{"get_cloud_costs", map[string]any{"window": "never"}, "parameter window"},
	} {
		if text, failed := a.call(t, tt.tool, tt.args); !failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: error %v, lacks %q: %.500s", tt.tool, tt.args, failed, tt.want, text)
		}
	}
}

// post sends a message as clients write it, and returns the answer.
func postMessage(t *testing.T, address, message string, headers map[string]string) (code int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// testAssistantWire sends messages as OpenCost's clients write them: a session is begun and its id repeated, and an unknown id is
// taken too. Pages of other origins are refused.
func testAssistantWire(t *testing.T, address string) {
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"opencost-integration-tests","version":"1.0.0"}}}`
	code, header, text := postMessage(t, address, begin, nil)
	session := header.Get("Mcp-Session-Id")
	if code != http.StatusOK || session == "" || !strings.Contains(text, `"serverInfo":{"name":"promcost"`) {
		t.Fatalf("initialize: %d, session %q: %s", code, session, text)
	}
	if code, _, text := postMessage(t, address, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, map[string]string{"Mcp-Session-Id": session}); code != http.StatusAccepted {
		t.Errorf("initialized: %d: %s", code, text)
	}
	for _, id := range []string{session, "a-server-before-the-restart", ""} {
		testOpenCostCalls(t, address, id)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]int{"http://evil.example": http.StatusForbidden, "null": http.StatusForbidden, "http://" + u.Host: http.StatusOK} {
		if code, _, text := postMessage(t, address, begin, map[string]string{"Origin": origin}); code != want {
			t.Errorf("origin %s: %d, want %d: %s", origin, code, want, text)
		}
	}
	if code, _, text := postMessage(t, address, strings.Repeat(" ", 2<<20), nil); code/100 != 4 {
		t.Errorf("a long message: %d: %.200s", code, text)
	}
}

// openCostRow is what OpenCost's clients read of a row; all of it is there, but what only nodes have.
type openCostRow struct {
	Name, Type                                    *string
	Properties                                    json.RawMessage
	Labels                                        map[string]string
	CPUCost, GPUCost, RAMCost, TotalCost          *float64
	PVCost, NetworkCost, SharedCost, ExternalCost *float64
	CPUCoreHours, RAMByteHours                    *float64
	GPUHours, PVByteHours                         *float64
	Start, End                                    *time.Time
}

// testOpenCostCalls calls OpenCost's tools, and reads the answers as its clients do: a set has the name of its kind.
func testOpenCostCalls(t *testing.T, address, session string) {
	call := func(tool, arguments string) (rows []openCostRow) {
		t.Helper()
		message := `{"jsonrpc":"2.0","method":"tools/call","id":1,"params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		code, _, text := postMessage(t, address, message, map[string]string{"Mcp-Session-Id": session})
		var answer struct {
			ID     int
			Result struct{ Content []struct{ Type, Text string } }
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK || answer.Error != nil || len(answer.Result.Content) != 1 {
			t.Fatalf("%s, session %q: %d %v: %.300s", tool, session, code, err, text)
		}
		var got struct {
			Data struct {
				Allocations, Assets map[string]struct {
					Name                string
					Allocations, Assets []openCostRow
				}
			}
			QueryInfo struct {
				QueryID        string
				Timestamp      time.Time
				ProcessingTime float64
			}
		}
		if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), &got); err != nil || got.QueryInfo.QueryID == "" || got.QueryInfo.Timestamp.IsZero() {
			t.Fatalf("%s: %v: %.300s", tool, err, answer.Result.Content[0].Text)
		}
		return append(got.Data.Allocations["allocations"].Allocations, got.Data.Assets["assets"].Assets...)
	}
	for _, arguments := range []string{
		`{"window":"yesterday","aggregate":"namespace"}`, `{"window":"yesterday","aggregate":"pod","filter":"namespace:\"kube-system\""}`,
		`{"window":"2026-10-30T06:00:00Z,2026-11-01T06:00:00Z","aggregate":"controller","accumulate":true,"include_idle":true,"share_idle":true}`,
		`{"window":"yesterday","aggregate":"namespace","step":"6h","idle_by_node":true,"share_lb":true,"include_aggregated_metadata":true}`,
	} {
		rows := call("get_allocation_costs", arguments)
		if len(rows) < 4 {
			t.Errorf("%s: %d rows", arguments, len(rows))
		}
		for _, r := range rows {
			for _, missing := range []bool{
				r.Name == nil, r.CPUCost == nil, r.GPUCost == nil, r.RAMCost == nil, r.PVCost == nil, r.NetworkCost == nil, r.SharedCost == nil, r.ExternalCost == nil,
				r.TotalCost == nil, r.CPUCoreHours == nil, r.RAMByteHours == nil, r.GPUHours == nil, r.PVByteHours == nil, r.Start == nil, r.End == nil,
			} {
				if missing {
					t.Errorf("%s: it lacks members: %+v", arguments, r)
				}
			}
		}
	}
	nodes := 0
	for _, r := range call("get_asset_costs", `{"window":"yesterday"}`) {
		var properties map[string]string
		if err := json.Unmarshal(r.Properties, &properties); err != nil || len(properties) == 0 {
			t.Errorf("properties %s: %v", r.Properties, err)
		}
		if r.Type == nil || r.TotalCost == nil || r.Start == nil || r.End == nil {
			t.Fatalf("an asset lacks members: %+v", r)
		}
		if *r.Type == "Node" {
			if nodes++; r.CPUCost == nil || r.RAMCost == nil || r.GPUCost == nil || r.Labels == nil {
				t.Errorf("a node lacks members: %+v", r)
			}
		}
	}
	if nodes < 4 {
		t.Errorf("%d nodes", nodes)
	}
}

// TestAssistantsOff checks that nothing is served where assistants are switched off, and what mcp says without a server.
func TestAssistantsOff(t *testing.T) {
	f := parseWeb(t, "--no-web.enable-mcp")
	h, err := f.handler(pages{metrics: text("metrics"), api: text("api"), promql: text("promql"), dashboards: text("dashboards"), assistants: text("mcp"), missing: f.missing()})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody))
	if rec.Code != http.StatusNotFound || !strings.Contains(rec.Body.String(), "--web.enable-mcp") {
		t.Errorf("%d: %s", rec.Code, rec.Body)
	}
	for args, want := range map[string]string{"": "give --server=URL", "--server=localhost:1": "has no scheme"} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), append([]string{"mcp"}, strings.Fields(args)...), &out, &errs); code == exitOK || !strings.Contains(errs.String(), want) {
			t.Errorf("mcp %s: exit %d: %s", args, code, errs.String())
		}
	}
}
