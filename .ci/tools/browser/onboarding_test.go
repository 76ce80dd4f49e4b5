package browser_test

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// tool is a program of Prometheus.
func tool(variable, name string) string { return cmp.Or(os.Getenv(variable), "../../../bin/"+name) }

// emptyPrometheus is the address of a Prometheus that has scraped a job half an hour ago, and nothing of Kubernetes.
func emptyPrometheus(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := l.Addr().String(), t.TempDir()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	config, samples, data := filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "samples"), filepath.Join(dir, "data")
	now := time.Now().Unix()
	text := fmt.Sprintf("# TYPE up gauge\nup{job=\"shop\",instance=\"a\"} 1 %d\nup{job=\"shop\",instance=\"b\"} 0 %d\n# EOF\n", now-1800, now-1800)
	if err := cmp.Or(os.WriteFile(config, nil, 0o600), os.WriteFile(samples, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool("PROMTOOL", "promtool"), "tsdb", "create-blocks-from", "openmetrics", samples, data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(tool("PROMETHEUS", "prometheus"), "--config.file="+config, "--storage.tsdb.path="+data, "--web.listen-address="+address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	at := "http://" + address
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(at + "/-/ready")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return at
		}
	}
	t.Fatal("Prometheus does not get ready")
	return ""
}

// TestOnboardingE2E begins with a Prometheus that has no metrics of Kubernetes: each view says what there is, what is missing and what to
// paste, and none that promcost is ready, that nothing is missing, or that a filter is to be changed.
func TestOnboardingE2E(t *testing.T) {
	if skipped != "" {
		t.Skip(skipped)
	}
	at, err := start("promcost is ready", "serve", "--prometheus.url="+emptyPrometheus(t), "--storage.path="+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := newPage(t)
	for _, view := range []string{"", "?view=why", "?view=assets", "?view=health"} {
		p.navigate(at + "/ui/" + view)
		text := p.text("#view")
		for _, want := range []string{"no metrics of Kubernetes", "shop", "kube_pod_container_status_running is not there", "run kube-state-metrics", "job_name: kube-state-metrics", "metricLabelsAllowlist", "Look again"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q: %s", view, want, text)
			}
		}
		for _, wrong := range []string{"is ready", "Missing", "change the filter", "Change the filter"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%q says %q", view, wrong)
			}
		}
		if got := p.texts("#view .over"); len(got) > 0 {
			t.Errorf("%q has a warning in red: %q", view, got)
		}
	}
	p.checkAxe()
	p.shot("onboarding")
	p.do(chromedp.EmulateViewport(390, 844))
	p.navigate(at + "/ui/")
	if got := p.last(wideTables); len(got) > 0 {
		t.Errorf("on a phone: %q", got)
	}
	eval[bool](p, `(document.querySelector("#view > .view").dataset.old = "yes", true)`)
	p.clickText("#view button.again", "Look again")
	p.wait(`document.querySelector("#view > .view:not([data-old]) button.again")`)
}

// TestNoFilterE2E shows views without a filter in a window before all data: none asks to change it.
func TestNoFilterE2E(t *testing.T) {
	p := newPage(t)
	for _, view := range []string{"", "why", "assets"} {
		p.navigate(demoURL(t) + "/ui/?window=2026-01-01,2026-01-02&view=" + view)
		if text := p.text("#view"); strings.Contains(strings.ToLower(text), "filter") || !strings.Contains(text, "No data for this period") {
			t.Errorf("%q says %q", view, text)
		}
	}
}
