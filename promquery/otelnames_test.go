package promquery_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/otlptranslator"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestRenamedOpenTelemetry gives metrics the names that receivers and semantic conventions gave them before and after: rows are the same.
func TestRenamedOpenTelemetry(t *testing.T) {
	t.Parallel()
	d := bothDialects(t)
	q := allocation.Query{Window: d.window}
	want := otelRows(compute(t, blocksOf(t, d.classic), q)[0])
	for _, tt := range []struct {
		name  string
		names map[string]string
		units map[string]string
	}{
		{"semantic conventions", map[string]string{
			"k8s.container.cpu_request": "k8s.container.cpu.request", "k8s.container.memory_request": "k8s.container.memory.request",
			"k8s.container.cpu_limit": "k8s.container.cpu.limit", "k8s.container.memory_limit": "k8s.container.memory.limit",
			"k8s.node.allocatable_cpu": "k8s.node.cpu.allocatable", "k8s.node.allocatable_memory": "k8s.node.memory.allocatable",
			"k8s.container.restarts": "k8s.container.restart.count",
		}, nil},
		{"what is desired", map[string]string{
			"k8s.container.cpu_request": "k8s.container.cpu.request.desired", "k8s.container.memory_request": "k8s.container.memory.request.desired",
			"k8s.container.cpu_limit": "k8s.container.cpu.limit.desired", "k8s.container.memory_limit": "k8s.container.memory.limit.desired",
		}, nil},
		{"what is current", map[string]string{
			"k8s.container.cpu_request": "k8s.container.cpu.request.current", "k8s.container.memory_request": "k8s.container.memory.request.current",
			"k8s.container.cpu_limit": "k8s.container.cpu.limit.current", "k8s.container.memory_limit": "k8s.container.memory.limit.current",
		}, nil},
		{"units of old receivers", nil, map[string]string{"k8s.pod.phase": "1", "k8s.container.restarts": "1", "k8s.node.condition_ready": "1"}},
	} {
		for _, strategy := range strategies {
			t.Run(fmt.Sprintf("%s %s", tt.name, strategy), func(t *testing.T) {
				sent := append([]otelSeries(nil), d.sent...)
				for i := range sent {
					m := &sent[i].metric
					if unit, ok := tt.units[m.Name]; ok {
						m.Unit = unit
					}
					if name, ok := tt.names[m.Name]; ok {
						m.Name = name
					}
				}
				if diff := cmp.Diff(want, otelRows(compute(t, blocksOf(t, storedAs(t, sent, strategy, true)), q)[0]), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
					t.Errorf("(-classic +renamed):\n%.2000s", diff)
				}
			})
		}
	}
}

// TestVolumesOfOpenTelemetry lets a pod mount a claim: it bears the cost of the volume, which has the UID of the claim as its name.
func TestVolumesOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	d := bothDialects(t)
	sent := append([]otelSeries(nil), d.sent...)
	gauge := func(name string, of otelSeries, bytes float64, attributes map[string]string) otelSeries {
		out := otelSeries{metric: otlptranslator.Metric{Name: name, Unit: "By", Type: otlptranslator.MetricTypeGauge}, resource: attributes}
		for _, s := range of.samples {
			out.samples = append(out.samples, promtest.Sample{T: s.T, V: bytes})
		}
		return out
	}
	pod := ""
	for _, x := range d.sent {
		if x.metric.Name == "k8s.pod.phase" && strings.HasPrefix(x.resource["k8s.pod.name"], "postgres-") && pod == "" {
			pod = x.resource["k8s.pod.name"]
			claim := map[string]string{"k8s.namespace.name": x.resource["k8s.namespace.name"], "k8s.persistentvolumeclaim.name": "data"}
			mount := maps.Clone(claim)
			mount["k8s.pod.name"], mount["k8s.pod.uid"], mount["k8s.volume.name"] = pod, x.resource["k8s.pod.uid"], "volume"
			claim["k8s.persistentvolumeclaim.uid"], claim["k8s.storageclass.name"] = "claim-uid", "fast"
			config := maps.Clone(mount)
			delete(config, "k8s.persistentvolumeclaim.name") // a volume of another kind
			config["k8s.volume.name"] = "config"
			sent = append(sent, gauge("k8s.persistentvolumeclaim.storage.capacity", x, 100<<30, claim), gauge("k8s.volume.capacity", x, 99<<30, mount), gauge("k8s.volume.capacity", x, 1<<30, config))
		}
	}
	set := compute(t, blocksOf(t, storedAs(t, sent, otlptranslator.UnderscoreEscapingWithSuffixes, true)), allocation.Query{Window: d.window})[0]
	if len(set.Disks) != 1 || set.Disks[0].Name != "claim-uid" || set.Disks[0].StorageClass != "fast" {
		t.Fatalf("volumes %+v, want one of the claim", set.Disks)
	}
	for row := range set.Len() {
		if set.Special(row) != allocation.Workload {
			continue // what was not mounted before the pod ran
		}
		mounts := set.Text(allocation.Pod, row) == pod && pod != ""
		if cost := set.Value(allocation.PVCost, row); cost > 0 != mounts {
			t.Errorf("%s: %g for volumes", set.Text(allocation.Pod, row), cost)
		}
	}
}
