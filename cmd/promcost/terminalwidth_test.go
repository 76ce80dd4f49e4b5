//go:build linux

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// longAnswers are answers of the API whose names and numbers are long.
var longAnswers = map[string]string{
	"/model/getConfigs": `{"code":200,"data":{"currencyCode":"USD"}}`,
	"/model/allocation/compute": `{"code":200,"billedUntil":"2026-01-31T00:00:00Z","data":[{"NAME":{"window":{"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z"},"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z",` +
		`"minutes":600,"cpuCoreHours":10240,"cpuCost":123456.78,"ramCost":98765.43,"gpuCost":45678.9,"pvCost":1234.5,"networkCost":234.5,"loadBalancerCost":3456.7,"sharedCost":99.9}}],` +
		`"warnings":["usage of 25 containers (NAME, NAME) is missing for more than 5 minutes: CPU was interpolated from their counters"]}`,
	"/model/allocation/change": `{"code":200,"data":{"window":{"start":"2026-11-08T00:00:00Z","end":"2026-11-15T00:00:00Z"},"baselineWindow":{"start":"2026-11-01T00:00:00Z","end":"2026-11-08T00:00:00Z"},` +
		`"notComparable":"17 of 175 h have data","total":{"baseline":123456.78,"cost":234567.89,"change":111111.11,"effects":{"sizeRequest":111111.11}},` +
		`"rows":[{"name":"NAME","baseline":123456.78,"cost":234567.89,"change":111111.11,"effects":{"sizeRequest":70000,"placement":30000,"adjustment":11111.11}}]}}`,
	"/model/assets": `{"code":200,"data":[{"x":{"type":"ClusterManagement","properties":{"name":"NAME"},"window":{"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z"},"nodeType":"u-24tb1.112xlarge","preemptible":1,"totalCost":123456.78}}]}`,
	"/model/savings/nodes": `{"code":200,"data":{"count":1,"monthlyCost":123456.78,"notes":["The least is saved if what moves costs its list price elsewhere and commitments are paid on."],"nodes":[{"cluster":"one","nodePool":"NAME","nodes":123.4,"monthlyCost":123456.78,` +
		`"moving":{"cpuCores":1234.5,"ramBytes":12345678901234,"gpus":12,"monthlyCost":98765.43},"idle":{"monthlyCost":23456.78},"idleElsewhere":{"cpuCores":1234.5,"ramBytes":12345678901234},"committedMonthlyCost":23456.78,"monthlySavings":{"least":-1234.56}}]}}`,
	"/model/budgets": `{"code":200,"data":[{"name":"NAME","period":"quarter","cost":"billed","amount":1234567,"spent":1234567.89,"forecast":2345678.9}]}`,
	"/model/savings/requests": `{"code":200,"data":{"profile":"balanced","count":1,"monthlySaving":12345.67,"requests":[{"namespace":"NAME","controller":"NAME","container":"NAME","lowConfidence":true,"runningHours":1.5,` +
		`"monthlySaving":12345.67,"cpu":{"request":12.5,"recommended":10.25,"exceedance":0.04},"memory":{"request":12345678901,"recommended":2345678901,"exceedance":0.01}}]}}`,
}

// TestTablesFit asks on a terminal of 80 columns: no line is wider, and names keep both of their ends. -o wide keeps all of them.
func TestTablesFit(t *testing.T) {
	const columns, name = 80, "payments-of-the-european-region/checkout-api-with-a-long-name-7c9d8f6b5d-x2x7k"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.ReplaceAll(longAnswers[r.URL.Path], "NAME", name))
	}))
	defer server.Close()
	for _, command := range []string{"allocation", "change", "why", "assets", "budgets", "savings", "nodes"} {
		t.Run(command, func(t *testing.T) {
			t.Setenv("NO_COLOR", "1")
			printed := func(args ...string) string {
				tty, written := openTerminal(t)
				if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
					t.Skipf("size the terminal: %v", err)
				}
				code := run(t.Context(), append([]string{"query", command, "--server=" + server.URL}, args...), tty, tty)
				text := written()
				if code != exitOK {
					t.Errorf("exit %d: %s", code, text)
				}
				return text
			}
			text := printed()
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns && strings.Count(line, " ") > 1 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if !strings.Contains(text, "payments") || !strings.Contains(text, "…") {
				t.Errorf("no name is cut in the middle:\n%s", text)
			}
			if wide := printed("-o", "wide"); !strings.Contains(wide, name) {
				t.Errorf("-o wide cuts names:\n%s", wide)
			}
		})
	}
}
