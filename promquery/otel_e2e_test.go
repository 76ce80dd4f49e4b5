//go:build e2e

package promquery_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestOpenTelemetryE2E lets a real Collector send what it knows of a real Kubernetes API to one Prometheus, while another one scrapes kube-state-metrics: both say
// what ran where and what it requested.
func TestOpenTelemetryE2E(t *testing.T) {
	k := promtest.StartKubernetes(t)
	ksm := promtest.StartKubeStateMetrics(t, k)
	scraping := promtest.Start(t, "", promtest.Config{YAML: fmt.Sprintf("scrape_configs: [{job_name: ksm, scrape_interval: 5s, static_configs: [{targets: [%s]}]}]\n", strings.TrimPrefix(ksm, "http://"))})
	taking := promtest.Start(t, "", promtest.Config{
		Flags: []string{"--web.enable-otlp-receiver"}, Behind: 10 * time.Minute,
		YAML: fmt.Sprintf("otlp: {promote_resource_attributes: [%s]}\n", strings.Join(promquery.OTelAttributes(), ", ")),
	})
	promtest.StartCollector(t, k, taking)
	objects, err := os.ReadFile("promtest/testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k.Create(t, string(objects))
	begin := time.Now().Add(30 * time.Second).UTC().Truncate(time.Second)
	time.Sleep(150 * time.Second)
	q := allocation.Query{Window: allocation.Window{Start: begin, End: begin.Add(100 * time.Second)}}
	rows := func(url string) map[string]otelRow {
		src, err := remote.New(remote.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return otelRows(compute(t, src, q)[0])
	}
	want, got := rows(scraping), rows(taking)
	const within = 11 // seconds: two intervals
	compared := 0
	for name, w := range want {
		if w.Requested == 0 || strings.HasSuffix(name, "/proxy/0") {
			continue // an init container or native sidecar: the Collector tells of its usage, and the test's kubelet does not
		}
		g, ok := got[name]
		if !ok || g.Node != w.Node || math.Abs(g.Seconds-w.Seconds) > within || math.Abs(g.Requested/g.Seconds-w.Requested/w.Seconds) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", name, g, w)
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("%d rows compared, of %d", compared, len(want))
	}
}
