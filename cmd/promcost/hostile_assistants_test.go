package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

// hostileArguments are arguments of tools, with a tool that has each.
var hostileArguments = []struct{ tool, argument, kind string }{
	{"allocations", "window", "window"},
	{"allocations", "filter", "filter"},
	{"allocations", "aggregate", "list"},
	{"allocations", "labelSelector", "label selector"},
	{"allocations", "resolution", "duration"},
	{"allocations", "limit", "number"},
	{"allocations", "nosuch", "text"},
	{"explain_change", "baseline", "window"},
	{"explain_change", "drill", "list"},
	{"savings", "profile", "text"},
	{"savings", "limit", "number"},
	{"anomalies", "window", "window"},
	{"anomalies", "threshold", "number"},
	{"forecast", "predictionWindow", "duration"},
	{"forecast", "period", "text"},
	{"promql", "query", "promql"},
	{"promql", "start", "time"},
	{"filter_help", "filter", "filter"},
	{"get_allocation_costs", "step", "duration"},
	{"get_allocation_costs", "share_idle", "boolean"},
	{"get_efficiency", "buffer_multiplier", "number"},
	{"get_cloud_costs", "aggregate", "list"},
	{"nosuch", "window", "window"},
}

// toolCall is a message that calls a tool with arguments, which are JSON.
func toolCall(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// toMessage is a request of an assistant.
func toMessage(attack, argument, message string) hostileRequest {
	return hostileRequest{
		path: mcpPath, attack: attack, parameter: argument, method: http.MethodPost,
		header: http.Header{"Content-Type": {jsonKind}, "Accept": {"application/json, text/event-stream"}},
		body:   func() io.Reader { return strings.NewReader(message) },
	}
}

// assistantAttacks are attacks of assistants: by the values of arguments, and by the messages.
func assistantAttacks(values map[string][]hostileValue) []hostileRequest {
	var list []hostileRequest
	for _, a := range hostileArguments {
		for _, v := range slices.Concat(values[a.kind], values[anyType]) {
			given, err := json.Marshal(v.values[0])
			if err != nil {
				panic(err)
			}
			arguments := fmt.Sprintf(`{%q:%s}`, a.argument, given)
			if a.argument != "window" && a.tool != "promql" && a.tool != "filter_help" {
				arguments = fmt.Sprintf(`{"window":%q,%q:%s}`, wellFormed["window"], a.argument, given)
			}
			list = append(list, toMessage(a.kind+": "+v.name, a.tool+"."+a.argument, toolCall(1, a.tool, arguments)))
		}
	}
	large := toolCall(1, "get_allocation_costs", fmt.Sprintf(`{"window":"%s,%s","aggregate":"container","step":"1m","limit":1000}`, hostileStart, hostileEnd))
	for name, message := range map[string]string{
		"no JSON":               "hello",
		"not whole":             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"alloc`,
		"deep":                  toolCall(1, "allocations", nested(`{"window":`, "1", "}", 100_000)),
		"deep list":             toolCall(1, "allocations", `{"window":`+nested("[", "", "]", 100_000)+`}`),
		"many arguments":        toolCall(1, "allocations", "{"+numbered(`"n%d":1`, ",", 50_000)+"}"),
		"arguments are a list":  toolCall(1, "allocations", `["1h"]`),
		"a number too large":    toolCall(1, "allocations", `{"window":"1h","limit":1e999}`),
		"null":                  toolCall(1, "allocations", `{"window":null}`),
		"an empty batch":        "[]",
		"a batch of nothing":    "[" + strings.Repeat("null,", 100_000) + "null]",
		"a batch of one id":     "[" + strings.TrimSuffix(strings.Repeat(large+",", 50), ",") + "]",
		"a batch of batches":    nested("[", large, "]", 1000),
		"a batch of lists":      "[" + numbered(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, ",", 5_000) + "]",
		"a batch of resources":  "[" + numbered(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"promcost://semantics"}}`, ",", 5_000) + "]",
		"a batch of beginnings": "[" + numbered(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`, ",", 5_000) + "]",
		"a resource elsewhere":  `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
		"an unknown method":     `{"jsonrpc":"2.0","id":1,"method":"nosuch"}`,
		"an unknown version":    `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"9999-99-99"}}`,
		"a cancellation":        `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, //nolint:misspell // so the protocol has it
		"an answer":             `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"a long id":             `{"jsonrpc":"2.0","id":"` + strings.Repeat("1", long) + `","method":"tools/list"}`,
		"longer than allowed":   strings.Repeat(" ", 2<<20),
	} {
		list = append(list, toMessage("message: "+name, "", message))
	}
	slices.SortStableFunc(list, func(a, b hostileRequest) int { return strings.Compare(a.attack, b.attack) })
	return list
}

// TestHostileAssistants has assistants hang up in the middle of large questions, and send batches of them. What nobody waits for ends, and
// a batch takes no more memory than a question. With -soak memory is measured, and the processor time that is spent after all have left.
func TestHostileAssistants(t *testing.T) {
	if !soak.On() {
		t.Parallel()
	}
	dir := t.TempDir()
	mustRun(t, "demo", "--write="+dir, "--demo.end="+hostileEnd, "--demo.nodes="+soak.Of("4", "40"), "--demo.pods="+soak.Of("40", "1000"), "--demo.duration=8h", "--demo.scrape-interval="+soak.Of("2m", "30s"))
	p := runDaemon(t, "serve", fmt.Sprint("--query.max-memory=", hostileBudget, "B"), "--source=blocks", "--tsdb.path="+dir, "--storage.path=")
	eventually(t, "it does not answer", func() bool { code, _ := get(t, p.url+"/-/ready"); return code == http.StatusOK })
	before := vitalSigns(t, p.url)
	peak := watchMemory(t, p.Process.Pid)
	large := func(id int) string {
		return toolCall(id, "get_allocation_costs", fmt.Sprintf(`{"window":"%s,2026-01-31T11:%02d:00Z","aggregate":"container","step":"10m","limit":1000}`, hostileStart, id%60))
	}
	ask := func(ctx context.Context, message string) (*hostileAnswer, error) {
		request := toMessage("", "", message)
		return request.send(ctx, p.url)
	}
	var left sync.WaitGroup
	for id := range soak.Of(20, 200) {
		left.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, _ = ask(ctx, large(id)) // it has left
		})
	}
	left.Wait()
	time.Sleep(time.Second)
	begun := processorSeconds(t, p.url)
	time.Sleep(time.Second)
	spent := processorSeconds(t, p.url) - begun
	t.Logf("after all have left: %.2f s of a processor within a second; peak of RssAnon %d MB", spent, peak()>>20)
	calls := make([]string, soak.Of(20, 200))
	for id := range calls {
		calls[id] = large(id)
	}
	answer, err := ask(t.Context(), "["+strings.Join(calls, ",")+"]")
	if err != nil || answer.status != http.StatusOK {
		t.Fatalf("a batch: %+v, %v", answer, err)
	}
	t.Logf("after a batch: peak of RssAnon %d MB, at most %d are allowed", peak()>>20, mostAnonymous>>20)
	http.DefaultClient.CloseIdleConnections()
	leavesNothing(t, p.url, before)
	if !soak.On() {
		return
	}
	checkPeak(t, peak())
	if spent > 0.2 {
		t.Errorf("a second after all have left, it goes on for %.2f s of a processor", spent)
	}
}

// processorSeconds is the processor time that promcost has taken.
func processorSeconds(t *testing.T, base string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(metric(t, base, "process_cpu_seconds_total"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
