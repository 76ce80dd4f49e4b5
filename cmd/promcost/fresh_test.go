package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestFreshInstallation begins beside a Prometheus that has just been installed: questions can be answered, if only with nothing, and
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
