package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// statusFlags is what a server says its flags are.
func statusFlags(t *testing.T, base string) map[string]string {
	t.Helper()
	code, body := get(t, base+"/api/v1/status/flags")
	var answer struct {
		Status string
		Data   map[string]string
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 || answer.Status != "success" {
		t.Fatalf("%d, %v: %.300s", code, err, body)
	}
	return answer.Data
}

// TestStatusFlags checks that all flags are listed as a real Prometheus lists its own, without secrets.
func TestStatusFlags(t *testing.T) {
	t.Setenv("PROMCOST_PROMETHEUS_URL", "http://me:hunter2@127.0.0.1:1")
	t.Setenv("PROMCOST_PROMETHEUS_QUERY_PARAM", "token=hunter3,hunter4\ndedup=hunter5")
	given := []string{"--web.cors.origin=https?://a", "--log.level=debug", "--query.timeout=90s", "--query.max-concurrency=7"}
	theirs := statusFlags(t, promtest.Start(t, "", promtest.Config{Flags: given[:1]}))
	base := spawn(t, append([]string{"serve", "--storage.path="}, given...)...)
	ours := statusFlags(t, base)
	for name, want := range map[string]string{
		"web.cors.origin": theirs["web.cors.origin"], "log.level": "debug", "query.timeout": "90s", "query.max-concurrency": "7", "log.format": theirs["log.format"],
		"web.config.file": theirs["web.config.file"], "web.enable-pprof": "false", "web.listen-address": "127.0.0.1:0", "storage.path": "",
		"prometheus.url": "http://127.0.0.1:1", "prometheus.query-param": "token=<secret>,<secret>,dedup=<secret>",
	} {
		if got, ok := ours[name]; !ok || got != want {
			t.Errorf("--%s is %q, want %q", name, got, want)
		}
	}
	for _, path := range []string{"/api/v1/status/config", "/api/v1/status/runtimeinfo", "/api/v1/status/flags", "/model/getConfigs", "/"} {
		if _, text := get(t, base+path); strings.Contains(text, "hunter") {
			t.Errorf("%s tells a secret: %s", path, text)
		}
	}
	app, _ := newApp(streams{out: io.Discard, err: io.Discard})
	all := app.Model().Flags
	for _, f := range append(all, app.GetCommand("serve").Model().Flags...) {
		if _, ok := ours[f.Name]; !ok {
			t.Errorf("--%s is missing", f.Name)
		}
		delete(ours, f.Name)
	}
	if len(ours) > 0 {
		t.Errorf("there are no flags %v", ours)
	}
}
