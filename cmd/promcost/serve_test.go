package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// process is the program, running within the test.
type process struct {
	out, err lockedBuffer
	stop     context.CancelFunc
	code     chan int
}

// start runs the program until stop is called, or the test ends.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p := &process{stop: stop, code: make(chan int, 1)}
	go func() { p.code <- run(ctx, args, &p.out, &p.err) }()
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("standard output:\n%s\nstandard error:\n%s", p.out.String(), p.err.String())
		}
	})
	return p
}

// end stops the program and checks that it ends well.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	select {
	case code := <-p.code:
		if code != exitOK {
			t.Errorf("exit %d after being stopped: %s", code, p.err.String())
		}
	case <-time.After(patience):
		t.Error("it does not stop")
	}
}

var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// url waits until the program listens and returns where.
func (p *process) url(t *testing.T) string {
	t.Helper()
	var found []string
	eventually(t, "it does not listen", func() bool {
		found = listening.FindStringSubmatch(p.err.String())
		return found != nil
	})
	return "http://" + found[1]
}

// eventually waits until cond holds.
func eventually(t testing.TB, complaint string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(complaint)
		}
	}
}

// get returns what a GET answers.
func get(t testing.TB, url string) (code int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// smallDemo are the flags of a demo cluster that takes little time.
var smallDemo = []string{"--demo.nodes=4", "--demo.pods=40", "--demo.duration=8h"}

// writeSmallDemo writes a small demo that ends now, and returns its directory.
func writeSmallDemo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "demo")
	p := start(t, append([]string{"demo", "--write=" + dir}, smallDemo...)...)
	if code := <-p.code; code != exitOK {
		t.Fatalf("demo --write: exit %d: %s", code, p.err.String())
	}
	return dir
}

func TestServe(t *testing.T) {
	dir := writeSmallDemo(t)
	prometheus := promtest.Start(t, dir, promtest.Config{External: map[string]string{"cluster": "prod"}})
	for _, tt := range []struct {
		name    string
		args    []string
		cluster string
	}{
		{"remote read", []string{"--prometheus.url=" + prometheus}, "prod"},
		{"query API", []string{"--prometheus.url=" + prometheus, "--source=query"}, "prod"},
		{"blocks", []string{"--source=blocks", "--tsdb.path=" + dir}, "cluster-one"},
		{"named cluster", []string{"--source=blocks", "--tsdb.path=" + dir, "--cluster.id=mine", "--web.route-prefix=/cost"}, "mine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, append([]string{"serve", "--storage.path=", "--web.listen-address=127.0.0.1:0"}, tt.args...)...)
			base := p.url(t)
			if code, body := get(t, base+"/-/healthy"); code != 200 {
				t.Errorf("/-/healthy: %d %s", code, body)
			}
			eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == 200 })

			code, body := get(t, base+"/model/allocation/compute?window=2h&aggregate=cluster,namespace&idle=false")
			if code != 200 || !strings.Contains(body, `"`+tt.cluster+`/kube-system"`) {
				t.Errorf("compute: %d %.300s", code, body)
			}
			if code, body := get(t, base+"/metrics"); code != 200 ||
				!strings.Contains(body, `promcost_namespace_hourly_cost{cluster="`+tt.cluster+`",namespace="kube-system",resource="cpu"}`) ||
				!strings.Contains(body, `promcost_http_requests_total{code="200",handler="/model/allocation/compute"`) {
				t.Errorf("/metrics: %d, lacks the namespaces' costs or the requests", code)
			}
			// As the Infrastructure Assets pages of OpenCost's web UI ask.
			code, body = get(t, base+"/assets?window=24h&aggregate=assetType&includeIdle=true&accumulate=true&step=1d&filter=type%3A%22Node%22")
			if code != 200 || !strings.Contains(body, `"type":"Node"`) || strings.Contains(body, `"type":"Disk"`) {
				t.Errorf("assets: %d %.300s", code, body)
			}
			if code, body := get(t, base+"/model/allocation/compute?window=nonsense"); code != 400 || !strings.Contains(body, `"code":400`) {
				t.Errorf("bad window: %d %s", code, body)
			}
			if code, _ := get(t, base+"/"); code != 200 {
				t.Errorf("it does not go on serving: %d", code)
			}
			p.end(t)
		})
	}
}

func TestServeWithoutItsPrometheus(t *testing.T) {
	t.Parallel()
	p := start(t, "serve", "--storage.path=", "--web.listen-address=127.0.0.1:0", "--prometheus.url="+closedURL(t))
	base := p.url(t)
	eventually(t, "/-/ready does not say why it is not", func() bool {
		code, body := get(t, base+"/-/ready")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "connection refused")
	})
	if code, body := get(t, base+"/model/allocation/compute?window=1h"); code != http.StatusBadGateway || !strings.Contains(body, "--prometheus.url") {
		t.Errorf("compute: %d %s", code, body)
	}
	if code, body := get(t, base+"/metrics"); code != 200 || !strings.Contains(body, "promcost_computation_errors_total") || strings.Contains(body, "promcost_namespace_hourly_cost") {
		t.Errorf("/metrics: %d, want health without costs:\n%s", code, body)
	}
	p.end(t)
}

func TestDemo(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	p := start(t, append([]string{"demo", "--web.listen-address=127.0.0.1:0"}, smallDemo...)...)
	eventually(t, "it does not greet", func() bool { return strings.Contains(p.out.String(), "Ctrl-C ends it.") })
	out := p.out.String()
	for _, part := range []string{"__idle__", "kube-system", "TOTAL"} {
		if !strings.Contains(out, part) {
			t.Errorf("the greeting lacks %s", part)
		}
	}
	curls := regexp.MustCompile(`curl -s '([^']+)'`).FindAllStringSubmatch(out, -1)
	if len(curls) != 3 {
		t.Errorf("%d curl lines, want 3", len(curls))
	}
	for _, curl := range curls {
		if code, body := get(t, curl[1]); code != 200 || len(body) < 200 {
			t.Errorf("%s: %d %.200s", curl[0], code, body)
		}
	}
	base := p.url(t)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == 200 })
	if code, body := get(t, base+"/metrics"); code != 200 || !strings.Contains(body, "promcost_idle_hourly_cost") {
		t.Errorf("/metrics: %d, lacks idle costs", code)
	}
	p.end(t)
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDemoThatHasEnded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	p := start(t, append([]string{"demo", "--web.listen-address=127.0.0.1:0", "--demo.end=2026-01-31T12:00:00Z", "--demo.path=" + dir}, smallDemo...)...)
	eventually(t, "it does not greet", func() bool { return strings.Contains(p.out.String(), "Ctrl-C ends it.") })
	if !strings.Contains(p.out.String(), "2026-01-31 06:00 UTC to 2026-01-31 12:00 UTC") {
		t.Error("the greeting is not about the demo's last hours")
	}
	p.end(t)
	if left, err := os.ReadDir(dir); err != nil || len(left) == 0 {
		t.Errorf("--demo.path does not keep the samples: %v, %v", left, err)
	}
}

func TestDemoWritesTheSameTwice(t *testing.T) {
	write := func() (names []string, truth string) {
		dir := filepath.Join(t.TempDir(), "demo")
		p := start(t, append([]string{"demo", "--write=" + dir, "--demo.end=2026-01-31T12:00:00Z"}, smallDemo...)...)
		if code := <-p.code; code != exitOK {
			t.Fatalf("exit %d: %s", code, p.err.String())
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
		if err != nil {
			t.Fatal(err)
		}
		return names, string(text)
	}
	names, truth := write()
	again, truthAgain := write()
	if strings.Join(names, " ") != strings.Join(again, " ") || truth != truthAgain {
		t.Errorf("two runs differ: %v and %v", names, again)
	}
	if !json.Valid([]byte(truth)) {
		t.Error("truth.json is no JSON")
	}
}

func TestQuery(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	p := start(t, append([]string{"demo", "--write=" + dir, "--demo.end=2026-01-31T12:00:00Z"}, smallDemo...)...)
	if code := <-p.code; code != exitOK {
		t.Fatalf("exit %d: %s", code, p.err.String())
	}
	server := start(t, "serve", "--storage.path=", "--web.listen-address=127.0.0.1:0", "--source=blocks", "--tsdb.path="+dir)
	checkTranscript(t, "query", place{"DIR", dir}, place{"SERVER", server.url(t)})
	// The last closed hour of blocks is the last one that they hold, however long ago that was.
	eventually(t, "old blocks have no last hour", func() bool { code, _ := get(t, server.url(t)+"/-/ready"); return code == 200 })
}

func TestCorruptBlockIsLeftOut(t *testing.T) {
	dir := writeSmallDemo(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	block := entries[1].Name()
	if err := os.WriteFile(filepath.Join(dir, block, "index"), []byte("not an index"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "query", "allocation", "--source=blocks", "--tsdb.path="+dir, "--window=8h")
	if code := <-p.code; code != exitOK {
		t.Fatalf("exit %d", code)
	}
	if !strings.Contains(p.err.String(), "warning: ") || !strings.Contains(p.err.String(), block) {
		t.Errorf("no warning names block %s: %s", block, p.err.String())
	}
	if !strings.Contains(p.out.String(), "kube-system") {
		t.Errorf("the other blocks are not answered: %s", p.out.String())
	}
}
