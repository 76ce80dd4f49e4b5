//go:build linux

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
		`"total":{"baseline":123456.78,"cost":234567.89,"change":111111.11,"effects":{"sizeRequest":111111.11}},` +
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
			args := []string{"query", command, "--server=" + server.URL}
			text := onTerminal(t, columns, args...)
			checkWidth(t, text, columns)
			if !strings.Contains(text, "payments") || !strings.Contains(text, "…") {
				t.Errorf("no name is cut in the middle:\n%s", text)
			}
			if wide := onTerminal(t, columns, append(args, "-o", "wide")...); !strings.Contains(wide, name) {
				t.Errorf("-o wide cuts names:\n%s", wide)
			}
		})
	}
}

// onTerminal is what a command prints on a terminal of so many columns.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	t.Setenv("NO_COLOR", "1")
	tty, written := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Skipf("size the terminal: %v", err)
	}
	code := run(t.Context(), args, tty, tty)
	text := written()
	if code != exitOK {
		t.Errorf("exit %d: %s", code, text)
	}
	return text
}

// checkWidth wants no line that is wider, but for single words that are.
func checkWidth(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line[strings.LastIndex(line, "\033[K")+1:], "\r\n") // what a progress bar left is wiped out
		if n := utf8.RuneCountInString(line); n > columns && strings.Count(strings.TrimSpace(line), " ") > 1 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestTablesOfSourcesFit does the same for the tables of what a source, its bills and a history have.
func TestTablesOfSourcesFit(t *testing.T) {
	const columns = 80
	dir := t.TempDir()
	demo, stored, file := filepath.Join(dir, "demo"), filepath.Join(dir, "stored"), filepath.Join(dir, "config.yaml")
	mustRun(t, "demo", "--write="+demo, "--demo.nodes=4", "--demo.pods=40", "--demo.duration=36h", "--demo.scrape-interval=2m", "--demo.end=2026-01-31T02:00:00Z")
	bills := "bills:\n- {name: provider, path: " + filepath.Join(demo, "bills", "aws") + "}\n- {name: vendor, path: " + filepath.Join(demo, "bills", "clearview") + "}\n"
	if err := os.WriteFile(file, []byte(bills), 0o600); err != nil {
		t.Fatal(err)
	}
	source := []string{"--source=blocks", "--tsdb.path=" + demo}
	mustRun(t, append([]string{"backfill", "--storage.path=" + stored, "--config.file=" + file, "--from=2026-01-30T00:00:00Z", "--to=2026-01-31T00:00:00Z"}, source...)...)
	for _, tt := range []struct {
		name string
		args []string
		kept string // a column that only -o wide has room for
	}{
		{"bounds", []string{"bounds", "--running=30s,5m,1h,1d,7d,30d,90d"}, "90d pod"},
		{"source", append([]string{"check", "source"}, source...), "EVERY"},
		{"prices", append([]string{"check", "prices"}, source...), "BETTER BY"},
		{"baseline", append([]string{"check", "prices", "--baseline=" + filepath.Join("..", "..", "allocation", "pricing", "testdata", "example.yaml")}, source...), "CLUSTER"},
		{"bills", append([]string{"check", "bills", "--config.file=" + file, "--window=2026-01-29T00:00:00Z,2026-01-31T02:00:00Z"}, source...), "DELIVERED"},
		{"history", []string{"history", "ls", "--storage.path=" + stored}, "GENERATION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkWidth(t, onTerminal(t, columns, tt.args...), columns)
			if wide := onTerminal(t, columns, append(tt.args, "-o", "wide")...); !strings.Contains(wide, tt.kept) {
				t.Errorf("-o wide lacks the column %s:\n%s", tt.kept, wide)
			}
		})
	}
}
