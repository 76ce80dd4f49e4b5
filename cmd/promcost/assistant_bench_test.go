package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkAssistants asks a server of 30 days of history by HTTP and by the tools of assistants in turn, once both have been asked.
// It reports the medians, how much longer the tool takes, which is the round trip, and what each takes of the server's processors.
func BenchmarkAssistants(b *testing.B) {
	dir := *benchHistory
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(dir + "/allocations_daily"); err != nil {
		writeBenchHistory(b, dir)
	}
	base, pid := startHistory(b, dir)
	client := mcp.NewClient(&mcp.Implementation{Name: "benchmark", Version: "1"}, nil)
	session, err := client.Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: base + "/mcp"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = session.Close() })
	window := benchEnd().AddDate(0, 0, -30).Format(time.RFC3339) + "," + benchEnd().Format(time.RFC3339)
	for _, tt := range []struct{ name, tool, path, aggregate string }{
		{"namespace", "allocations", "/model/allocation", "namespace"},
		{"controller", "allocations", "/model/allocation", "controller"},
		{"change", "explain_change", "/model/allocation/change", "namespace"},
		{"OpenCost", "get_allocation_costs", "/allocation", "controller"},
		{"OpenCost-assets", "get_asset_costs", "/assets", ""},
	} {
		b.Run(tt.name, func(b *testing.B) {
			values, arguments := url.Values{"window": {window}, "accumulate": {"true"}}, map[string]any{"window": window}
			if tt.aggregate != "" {
				values.Set("aggregate", tt.aggregate)
				arguments["aggregate"] = tt.aggregate
			}
			switch tt.tool {
			case "explain_change":
				values.Del("accumulate")
			case "get_allocation_costs":
				arguments["accumulate"] = true
			}
			byHTTP := func() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, base+tt.path+"?"+values.Encode(), http.NoBody)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				defer resp.Body.Close()
				if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					b.Fatalf("%v: %s: %.300s", err, resp.Status, text)
				}
			}
			byTool := func() {
				result, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: arguments})
				if err != nil || result.IsError {
					b.Fatalf("%v: %+v", err, result)
				}
			}
			byHTTP()
			byTool()
			var times [2][]time.Duration
			var used [2]time.Duration
			for b.Loop() {
				for i, ask := range [...]func(){byHTTP, byTool} {
					before, start := processTime(b, pid), time.Now()
					ask()
					times[i] = append(times[i], time.Since(start))
					used[i] += processTime(b, pid) - before
				}
			}
			milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			b.ReportMetric(milliseconds(median(times[1])-median(times[0])), "beside-ms")
			for i, name := range [...]string{"http", "mcp"} {
				b.ReportMetric(milliseconds(median(times[i])), name+"-ms")
				b.ReportMetric(milliseconds(used[i])/float64(len(times[i])), name+"-cpu-ms")
			}
		})
	}
}
