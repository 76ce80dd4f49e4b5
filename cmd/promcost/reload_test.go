package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// daemon is promcost running as a process of its own.
type daemon struct {
	*exec.Cmd
	url string
	err lockedBuffer
}

// runDaemon starts promcost as a process and waits until it listens.
func runDaemon(t *testing.T, args ...string) *daemon {
	t.Helper()
	return startDaemon(t, os.Args[0], args...)
}

// startDaemon is runDaemon of another program.
func startDaemon(t *testing.T, program string, args ...string) *daemon {
	t.Helper()
	p := &daemon{Cmd: exec.CommandContext(t.Context(), program, append(args, "--web.listen-address=127.0.0.1:0")...)}
	p.Env, p.Stderr = append(os.Environ(), asProgram+"=1"), &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill() //nolint:errcheck // it may have ended
		p.Wait()         //nolint:errcheck // it was killed
		if t.Failed() {
			t.Log(p.err.String())
		}
	})
	eventually(t, "it does not listen", func() bool {
		found := listening.FindStringSubmatch(p.err.String())
		if found != nil {
			p.url = "http://" + found[1]
		}
		return found != nil
	})
	return p
}

// hangUp sends it SIGHUP.
func (p *daemon) hangUp(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// cpuCost is what the CPU of node n1 cost in its two hours.
func (p *daemon) cpuCost(t *testing.T) float64 {
	t.Helper()
	_, body := get(t, p.url+"/model/assets?accumulate=true&window=2026-01-31T10:00:00Z,2026-01-31T12:00:00Z")
	var answer struct {
		Data []map[string]struct {
			CPUCost    float64
			Properties struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data) != 1 {
		t.Fatalf("%v in %.300s", err, body)
	}
	for _, asset := range answer.Data[0] {
		if asset.Properties.Name == "n1" {
			return asset.CPUCost
		}
	}
	t.Fatalf("no n1 in %.300s", body)
	return 0
}

// post asks it to reload.
func (p *daemon) post(t *testing.T) (code int, body string) {
	t.Helper()
	resp, err := http.Post(p.url+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	if err := resp.Write(&b); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

// metrics reports whether /metrics has all of the lines.
func (p *daemon) metrics(t *testing.T, lines ...string) bool {
	t.Helper()
	_, body := get(t, p.url+"/metrics")
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line) {
			return false
		}
	}
	return true
}

// TestReload changes the config of a process that serves: to a right one and to a wrong one, by signal and by request.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("currency: EUR\nprices: {asOf: 2026-01-01, defaults: {cpuPerCoreHour: 1}}\nclusters: {cluster-one: {name: First}}\n")
	p := runDaemon(t, "serve", "--web.enable-lifecycle", "--storage.path=", "--config.file="+file, "--tsdb.path="+unpricedNodes(t))
	if cost := p.cpuCost(t); cost != 8 {
		t.Errorf("the CPU cost %v, want 8", cost)
	}
	if _, body := get(t, p.url+"/model/getConfigs"); !strings.Contains(body, "EUR") {
		t.Errorf("currency: %s", body)
	}
	if _, body := get(t, p.url+"/clusterInfo"); !strings.Contains(body, `"name":"First"`) {
		t.Errorf("cluster: %s", body)
	}
	eventually(t, "no metrics of prices", func() bool {
		return p.metrics(t, "promcost_config_last_reload_successful 1", `promcost_currency_info{currency="EUR"} 1`,
			`promcost_price_info{currency="EUR",kind="sheet",source="`+file+`"} 1`, `promcost_price_age_seconds{source="`+file+`"} `,
			`promcost_price_info{currency="EUR",kind="metric",source="node_cpu_hourly_cost"} 1`)
	})

	write("currency: CHF\nprices: {defaults: {cpuPerCoreHour: 2}}\n")
	p.hangUp(t)
	eventually(t, "SIGHUP changes nothing", func() bool { return p.metrics(t, `promcost_currency_info{currency="CHF"} 1`) })
	if cost := p.cpuCost(t); cost != 16 {
		t.Errorf("after SIGHUP the CPU cost %v, want 16", cost)
	}
	if p.metrics(t, `promcost_currency_info{currency="EUR"}`) {
		t.Error("both currencies are exported")
	}

	write("currency: CHF\nprices:\n  defaults: {cpuPerCoreHours: 3}\n")
	p.hangUp(t)
	eventually(t, "a bad config is not told", func() bool { return p.metrics(t, "promcost_config_last_reload_successful 0") })
	if cost, log := p.cpuCost(t), p.err.String(); cost != 16 || !strings.Contains(log, "it stays as it was") || !strings.Contains(log, "did you mean cpuPerCoreHour?") {
		t.Errorf("after a bad config the CPU cost %v, want 16; log:\n%s", cost, log)
	}
	if code, body := p.post(t); code != http.StatusInternalServerError || !strings.Contains(body, "line 3") || !strings.Contains(body, "stays as it was") {
		t.Errorf("bad reload: %d %s", code, body)
	}
	if code, body := get(t, p.url+"/-/reload"); code != http.StatusMethodNotAllowed || !strings.Contains(body, "POST") {
		t.Errorf("GET: %d %s", code, body)
	}

	write("prices: {defaults: {cpuPerCoreHour: 3}}\n")
	if code, body := p.post(t); code != http.StatusOK {
		t.Errorf("reload: %d %s", code, body)
	}
	if cost := p.cpuCost(t); cost != 24 || !p.metrics(t, "promcost_config_last_reload_successful 1", `promcost_currency_info{currency="USD"} 1`) {
		t.Errorf("after the reload the CPU cost %v, want 24", cost)
	}
	eventually(t, "/metrics keeps the prices from before", func() bool {
		_, body := get(t, p.url+"/metrics")
		return nodeCPUCost.MatchString(body)
	})
}

// nodeCPUCost is what an hour of the CPU of node n1 costs by the last prices.
var nodeCPUCost = regexp.MustCompile(`\npromcost_node_hourly_cost\{[^}]*node="n1"[^}]*resource="cpu"[^}]*\} 12\n`)

// TestReloadWhileAnswering gives each request prices of one config, whole, however they change.
func TestReloadWhileAnswering(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.csv")
	write := func(price string) {
		if err := os.WriteFile(file+".new", []byte("cpuPerCoreHour\n"+price+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	p := runDaemon(t, "serve", "--web.enable-lifecycle", "--storage.path=", "--pricing.file="+file, "--tsdb.path="+unpricedNodes(t))
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 20 {
			write([]string{"1", "2"}[i%2])
			if code, body := p.post(t); code != http.StatusOK {
				t.Errorf("reload: %d %s", code, body)
			}
		}
	})
	for range 20 {
		if cost := p.cpuCost(t); cost != 8 && cost != 16 {
			t.Errorf("the CPU cost %v, want 8 or 16", cost)
		}
	}
	group.Wait()
}
