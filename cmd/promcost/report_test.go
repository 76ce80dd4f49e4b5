package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reportAnswers are what a promcost answers a report's questions with.
var reportAnswers = map[string]string{
	"/model/getConfigs": `{"code":200,"data":{"currencyCode":"EUR"}}`,
	"/model/allocation/change": `{"code":200,"billedUntil":"2026-11-15T00:00:00Z","coveredHours":168,"windowHours":168,"data":{"window":{"start":"2026-11-08T00:00:00Z","end":"2026-11-15T00:00:00Z"},
		"baselineWindow":{"start":"2026-11-01T00:00:00Z","end":"2026-11-08T00:00:00Z"},"total":{"baseline":100,"cost":110,"change":10,"effects":{"sizeRequest":12,"price":-2,"idle":0.001}},
		"rows":[{"name":"web","baseline":90,"cost":100,"change":10,"team":"a","owner":"b","effects":{"sizeRequest":12,"price":-2}},{"name":"same","baseline":10,"cost":10,"change":0,"effects":{}}]},
		"warnings":["2 % of this cost rests on default prices: see promcost check prices for what has them, and what would price it better","1 init container finished between two scrapes (a)"]}`,
	"/model/anomalies":        `{"code":200,"data":{"rows":[{"name":"web","day":{"start":"2026-11-09T00:00:00Z","end":"2026-11-10T00:00:00Z"},"cost":30,"expected":14}]}}`,
	"/model/budgets":          `{"code":200,"data":[{"name":"all","period":"month","cost":"billed","amount":400,"spent":210,"forecast":450},{"name":"new","period":"month","amount":1,"spent":null,"forecast":null}]}`,
	"/model/savings/requests": `{"code":200,"data":{"profile":"balanced","count":1,"monthlySaving":40.5,"monthlyRisk":3,"requests":[{"namespace":"web","controller":"front","container":"nginx","monthlySaving":40.5,"cpu":{"request":2,"recommended":0.3},"memory":{"request":4294967296,"recommended":1073741824}}]}}`,
}

// answerReports serves them, but for the paths that fail.
func answerReports(t *testing.T, failing ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(failing, r.URL.Path) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code":503,"message":"no history is kept"}`)
			return
		}
		_, _ = io.WriteString(w, reportAnswers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestReport prints a report in each format. What a server cannot answer is left out, and said.
func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    []string
		failing []string
		parts   []string
		absent  string
	}{
		{"markdown", nil, nil, []string{
			"**2026-11-08 to 2026-11-14**: 110.00 EUR as billed until 2026-11-15, +10.00 (+10.0 %) against 2026-11-01 to 2026-11-07",
			"| Changed requests | +12.00 |\n| Node prices | -2.00 |\n", "| web | a | 90.00 | 100.00 | +10.00 | Changed requests +12.00, Node prices -2.00 |", "| 2026-11-09 | web | 30.00 | 14.00 | more than usual |",
			"| all | month | billed | 400.00 | 210.00 | 450.00 | over budget |", "Smaller requests would save 40.50 EUR a month at list prices, once nodes shrink. Where usage is above requests, larger ones would cost 3.00 EUR a month more.", "| web/front/nginx | 2000m → 300m | 4Gi → 1Gi | 40.50 |", "- 2 % of this cost rests on default prices",
		}, "init container"},
		{"a source without a history", nil, []string{"/model/anomalies", "/model/budgets"}, []string{"- unusual days are left out: no history is kept\n- budgets are left out", "Smaller requests"}, "over budget"},
		{"html", []string{"-o", "html", "--title=Costs <b>"}, nil, []string{"<title>Costs &lt;b&gt;</title>", "<svg", "<h2>Budgets</h2>"}, "<b>"},
		{"slack", []string{"-o", "slack"}, nil, []string{`"type": "header"`, "• web · a · before 90.00 · after 100.00 · change +10.00"}, "init container"},
		{"teams", []string{"-o", "teams", "--page=https://costs.example.com/"}, nil, []string{"application/vnd.microsoft.card.adaptive", `"url": "https://costs.example.com/ui/?`}, "init container"},
		{"json", []string{"-o", "json"}, nil, []string{`"markdown": "# Kubernetes costs`}, "init container"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), append([]string{"report", "--server=" + answerReports(t, tt.failing...)}, tt.args...), &stdout, &stderr); code != exitOK {
				t.Fatalf("exit %d: %s", code, stderr.String())
			}
			for _, part := range tt.parts {
				if !strings.Contains(stdout.String(), part) {
					t.Errorf("no %q in\n%s", part, stdout.String())
				}
			}
			if strings.Contains(stdout.String(), tt.absent) {
				t.Errorf("%q is in\n%s", tt.absent, stdout.String())
			}
		})
	}
}

// TestReportIsSent posts reports to webhooks, whose URLs nobody reads in what is printed.
func TestReportIsSent(t *testing.T) {
	var posted []byte
	status := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
	}))
	defer receiver.Close()
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "url")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	hook := file(receiver.URL + "/services/T0/B0/secret\n")
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		exit   int
		sent   string // a member of what is posted
		said   string
	}{
		{"anything", []string{"--send=" + hook}, 200, exitOK, "markdown", ""},
		{"Slack", []string{"--send=" + hook, "--receiver=slack"}, 200, exitOK, "blocks", ""},
		{"Teams", []string{"--send=" + hook, "--receiver=teams"}, 202, exitOK, "attachments", ""},
		{"refused", []string{"--send=" + hook}, 403, exitError, "markdown", "it refuses the message: it answered 403"},
		{"dry", []string{"--send=" + hook, "--dry-run", "--receiver=slack"}, 200, exitOK, "", `"blocks"`},
		{"dry without a hook", []string{"--dry-run"}, 200, exitUsage, "", "give --send=FILE"},
		{"no file", []string{"--send=/none"}, 200, exitUsage, "", "give a file with the URL"},
		{"no URL", []string{"--send=" + file("hooks.slack.com/secret")}, 200, exitUsage, "", "it has no URL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			posted, status = nil, tt.status
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), append([]string{"report", "--server=" + answerReports(t)}, tt.args...), &stdout, &stderr); code != tt.exit {
				t.Errorf("exit %d: %s", code, stderr.String())
			}
			printed := stdout.String() + stderr.String()
			if strings.Contains(printed, "secret") || !strings.Contains(printed, tt.said) {
				t.Errorf("it prints %s", printed)
			}
			var message map[string]any
			if tt.sent == "" {
				if posted != nil {
					t.Errorf("it posts %s", posted)
				}
			} else if err := json.Unmarshal(posted, &message); err != nil || message[tt.sent] == nil {
				t.Errorf("it posts %s: %v", posted, err)
			}
		})
	}
	for url, want := range map[string]string{
		"https://hooks.slack.com/services/x": "slack", "https://example.webhook.office.com/webhookb2/x": "teams", "https://prod-1.westeurope.logic.azure.com:443/workflows/x": "teams",
		"https://mattermost.example.com/hooks/x": "json", "https://hooks.slack.com.evil.example/x": "json",
	} {
		f := reportFlags{receiver: "auto"}
		if got := f.receiverOf(url); got != want {
			t.Errorf("%s takes %s, want %s", url, got, want)
		}
	}
}
