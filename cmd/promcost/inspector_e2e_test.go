//go:build e2e

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestInspectorE2E asks promcost by the protocol's own inspector, over HTTP and over standard input and output: both answer alike.
func TestInspectorE2E(t *testing.T) {
	inspector := promtest.MCPInspector(t)
	base := spawn(t, assistantDemo...)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"promcost": map[string]any{"command": os.Args[0], "args": []string{"mcp", "--server=" + base}, "env": map[string]string{asProgram: "1"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, servers, 0o600); err != nil {
		t.Fatal(err)
	}
	const isError = `"isError": true` // which the inspector also ends with
	for name, target := range map[string][]string{"http": {base + "/mcp", "--transport", "http"}, "stdio": {"--config", file, "--server", "promcost"}} {
		t.Run(name, func(t *testing.T) {
			for _, tt := range []struct{ args, want []string }{
				{
					[]string{"tools/list"},
					[]string{`"name": "allocations"`, `"name": "explain_change"`, `"name": "get_allocation_costs"`, `"inputSchema": {`, `"readOnlyHint": true`},
				},
				{
					[]string{"tools/call", "--tool-name", "allocations", "--tool-arg", "window=yesterday", "--tool-arg", "aggregate=namespace", "--tool-arg", "limit=2", "--tool-arg", "idle=false"},
					[]string{`\"currency\":\"USD\"`, `\"name\":\"ml\"`, `\"rest\":{\"rows\":`},
				},
				{
					[]string{"tools/call", "--tool-name", "get_allocation_costs", "--tool-arg", "window=1d", "--tool-arg", "aggregate=namespace"},
					[]string{`\"allocations\":{`, `\"queryInfo\":{`},
				},
				{
					[]string{"tools/call", "--tool-name", "allocations", "--tool-arg", "window=never"},
					[]string{isError, `parameter window: parse window`},
				},
				{[]string{"resources/list"}, []string{`"uri": "promcost://semantics"`, `"uri": "promcost://metrics"`}},
				{[]string{"resources/read", "--uri", "promcost://semantics"}, []string{`# What the numbers mean`}},
				{[]string{"resources/templates/list"}, []string{`"resourceTemplates": []`}},
				{[]string{"prompts/list"}, []string{`"name": "why_did_my_bill_rise"`, `"name": "window"`}},
				{[]string{"prompts/get", "--prompt-name", "why_did_my_bill_rise", "--prompt-args", "window=yesterday"}, []string{`in the window yesterday?`}},
			} {
				cmd := exec.CommandContext(t.Context(), inspector, slices.Concat(target, []string{"--method"}, tt.args)...)
				var stderr strings.Builder
				cmd.Stderr = &stderr
				got, err := cmd.Output()
				if failed := strings.Contains(stderr.String(), "tool_is_error"); failed != slices.Contains(tt.want, isError) || err != nil && !failed {
					t.Errorf("%v: %v: %s", tt.args, err, stderr.String())
				}
				for _, part := range tt.want {
					if !strings.Contains(string(got), part) {
						t.Errorf("%v: lacks %s: %.1500s", tt.args, part, got)
					}
				}
			}
		})
	}
}
