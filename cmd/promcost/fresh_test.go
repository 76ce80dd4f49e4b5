package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestFreshInstallation begins beside a Prometheus that has just been installed. Questions are answered, if only without rows, and
// nothing is missing or an error.
func TestFreshInstallation(t *testing.T) {
	t.Parallel()
	p := start(t, "serve", "--prometheus.url="+promtest.Start(t, "", promtest.Config{}), "--storage.path="+t.TempDir(), "--storage.retention=24h", "--web.listen-address=127.0.0.1:0")
	base := p.url(t)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	if code, body := get(t, base+"/model/allocation?window=1h&accumulate=true"); code != http.StatusOK || !strings.Contains(body, `"data":[{}]`) || !strings.Contains(body, "no data from ") {
		t.Errorf("%d %.300s", code, body)
	}
	eventually(t, "hours are missing", func() bool { return metric(t, base, "promcost_store_missing_sets") == "0" })
	if _, page := get(t, base+"/"); !strings.Contains(page, "<p>promcost is ready.</p>") {
		t.Errorf("the landing page does not say that it is ready: %s", page)
	}
	p.end(t)
	if log := p.err.String(); strings.Contains(log, "level=error") || strings.Contains(log, "level=warn") {
		t.Errorf("warnings and errors are logged: %s", log)
	}
}

// TestInstallationBesideData begins beside a Prometheus with the data of three hours. From the first moment on, only those hours
// are missing, the counters lack nothing, and there is no warning, although the month began before.
func TestInstallationBesideData(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	samples, _ := writeTruth(t, "--demo.end="+now.Format(time.RFC3339), "--demo.duration=3h", "--demo.nodes=4", "--demo.pods=40")
	p := start(t, "serve", "--prometheus.url="+promtest.Start(t, samples, promtest.Config{}), "--storage.path="+t.TempDir(), "--web.listen-address=127.0.0.1:0")
	base := p.url(t)
	eventually(t, "the history is not filled", func() bool {
		missing, err := strconv.Atoi(metric(t, base, "promcost_store_missing_sets"))
		if err == nil && missing > 4 {
			t.Fatalf("%d hours are missing: those before the first data are counted", missing)
		}
		_, body := get(t, base+"/metrics")
		return err == nil && missing == 0 && strings.Contains(body, "promcost_namespace_cost_total{") && metric(t, base, "promcost_counters_missing_sets") == "0"
	})
	p.end(t)
	if log := p.err.String(); strings.Contains(log, "level=error") || strings.Contains(log, "counters of this month") {
		t.Errorf("warnings and errors are logged: %s", log)
	}
}
