package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestRulesThatCannotMatch prices the nodes of a real kube-state-metrics with its defaults, which exports no labels of nodes:
// every command says so, and which labels to export.
func TestRulesThatCannotMatch(t *testing.T) {
	dir := t.TempDir()
	var times []int64
	for at := promtest.Recorded(t, "kube-state-metrics-allowlists").Scrapes[0]; len(times) < 60; at += time.Minute.Milliseconds() {
		times = append(times, at)
	}
	text := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	window := "--window=" + text(times[29]) + "," + text(times[59])
	promtest.WriteBlocks(t, dir, 2*time.Hour, promtest.Recorded(t, "kube-state-metrics").Held(times).Samples("job", "kube-state-metrics")...)
	const want = "cluster cluster-one: rules of the price sheet need labels of nodes that kube-state-metrics does not export"
	for _, tt := range []struct{ name, sheet, labels string }{
		{"instance types", "nodes: [{instanceType: m5.large, cpuPerCoreHour: 0.03, ramPerGiBHour: 0.004}]", "node.kubernetes.io/instance-type"},
		{
			"labels, regions and spot nodes of a provider",
			"nodes: [{provider: aws, region: eu-1, labels: {example.com/Pool: batch}, cpuPerCoreHour: 0.03}, {provider: aws, spot: true, cpuPerCoreHour: 0.01}, {provider: gcp, zone: z, cpuPerCoreHour: 0.01}]",
			"eks.amazonaws.com/capacityType,example.com/Pool,karpenter.sh/capacity-type,topology.kubernetes.io/region",
		},
		{"a provider", "nodes: [{provider: aws, cpuPerCoreHour: 0.03}]", ""},
		{"defaults alone", "defaults: {cpuPerCoreHour: 0.03}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sheet := filepath.Join(t.TempDir(), "prices.yaml")
			if err := os.WriteFile(sheet, []byte(tt.sheet), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range []string{"query allocation --aggregate=namespace", "check prices", "check source"} {
				p := start(t, append(strings.Fields(command), window, "--tsdb.path="+dir, "--pricing.file="+sheet)...)
				if code := <-p.code; code != exitOK {
					t.Fatalf("%s: exit %d: %s", command, code, p.err.String())
				}
				got := p.err.String()
				_, list, told := strings.Cut(got, want)
				if told != (tt.labels != "") || told && !strings.Contains(list, "--metric-labels-allowlist=nodes=[") {
					t.Errorf("%s: told %v, want labels %q:\n%s", command, told, tt.labels, got)
				}
				for label := range strings.SplitSeq(tt.labels, ",") { // check source does not know the provider, and names more
					if !strings.Contains(list, label) {
						t.Errorf("%s: lacks %s:\n%s", command, label, got)
					}
				}
			}
		})
	}
}
