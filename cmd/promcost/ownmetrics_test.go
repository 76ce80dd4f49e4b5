package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestOwnMetricsByPromQL asks promcost itself for every metric that its scrape has, and for how many series it drops; a real Prometheus
// gets that by remote read, too.
func TestOwnMetricsByPromQL(t *testing.T) {
	t.Parallel()
	p := start(t, append([]string{
		"demo", "--web.listen-address=127.0.0.1:0", "--collector.pod", "--collector.max-series=100",
	}, smallDemo...)...)
	base := p.url(t)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == 200 })
	eventually(t, "it does not say over PromQL that it drops series", func() bool {
		values, _ := vector(t, base, `promcost_series_dropped_total{collector="pod"} > 0`)
		return len(values) == 1
	})
	_, page := get(t, base+"/metrics")
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(page, -1) {
		name := m[1]
		if m[2] == "histogram" {
			name += "_count"
		}
		if !strings.HasPrefix(name, "promcost_") {
			continue
		}
		eventually(t, name+" is on /metrics, and has no answer by PromQL", func() bool { // which has what was sampled last
			values, _ := vector(t, base, "count("+name+")")
			return len(values) > 0
		})
	}
	reader := promtest.Start(t, "", promtest.Config{YAML: "remote_read: [{url: " + base + "/api/v1/read, read_recent: true}]\n"})
	if values, _ := vector(t, reader, `promcost_series_dropped_total{collector="pod"} > 0`); len(values) != 1 {
		t.Errorf("a Prometheus that reads from it has %v", values)
	}
	p.end(t)
}
