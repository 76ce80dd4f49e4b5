package promquery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestForeignPrometheus diagnoses a source that scrapes other things: it lists them, and the inputs that must be there.
func TestForeignPrometheus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := func(job, instance string, v float64) promtest.Series {
		return life(0, 3600, always(v), "up", "job", job, "instance", instance)
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, up("node", "a", 1), up("node", "b", 0), up("apps", "c", 1))
	w := allocation.Window{Start: lifeStart, End: lifeStart.Add(time.Hour)}
	d, err := promquery.NewEngine(openBlocks(t, dir), config).Diagnose(t.Context(), w)
	if err != nil || !d.Nothing || d.Complete() {
		t.Fatalf("%+v, %v", d, err)
	}
	var said []string
	for _, in := range d.Clusters[0].Inputs {
		said = append(said, strings.Fields(in.Missing)[0])
	}
	const want = `[{apps 1 1} {node 2 1}] [kube_pod_container_status_running kube_pod_info kube_node_status_capacity{resource="cpu"} kube_node_status_capacity{resource="memory"}]`
	if got := fmt.Sprint(d.Jobs, said); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestExportersOfMachines computes and diagnoses a source that scrapes machines alone: that is as if it scraped nothing. Beside a cluster, machines that
// no label counts to it are no cluster of their own.
func TestExportersOfMachines(t *testing.T) {
	t.Parallel()
	of := func(name string, labels ...string) promtest.Series {
		return life(0, 3600, always(1e9), name, append([]string{"job", "machines", "instance", "vm1:9100"}, labels...)...)
	}
	machines := []promtest.Series{
		of("up"), of("node_cpu_seconds_total", "cpu", "0", "mode", "idle"), of("node_memory_MemTotal_bytes"), of("node_memory_MemAvailable_bytes"),
		of("DCGM_FI_DEV_GPU_UTIL", "UUID", "GPU-1", "Hostname", "vm1"),
		of("container_fs_limit_bytes", "id", "/", "device", "/dev/sda1"), of("container_fs_usage_bytes", "id", "/", "device", "/dev/sda1"), // cAdvisor beside Docker
		of("container_cpu_usage_seconds_total", "id", "/docker/1", "name", "web"),
		of("node_cpu_hourly_cost", "node", "vm1"),
	}
	w := allocation.Window{Start: lifeStart, End: lifeStart.Add(time.Hour)}
	engine := func(t *testing.T, list ...promtest.Series) *promquery.Engine {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
		return promquery.NewEngine(openBlocks(t, dir), config)
	}
	t.Run("alone", func(t *testing.T) {
		e := engine(t, machines...)
		if d, err := e.Diagnose(t.Context(), w); err != nil || !d.Nothing || len(d.Jobs) != 1 {
			t.Errorf("%+v, %v", d, err)
		}
		for _, resolution := range grids() {
			if _, err := e.Compute(t.Context(), allocation.Query{Window: w, Resolution: resolution}); !errors.Is(err, allocation.ErrNoData) {
				t.Errorf("resolution %s: got %v, want no data", allocation.ResolutionText(resolution), err)
			}
		}
	})
	t.Run("beside a cluster", func(t *testing.T) {
		d, err := engine(t, append(machines, life(0, 3600, always(1), "kube_pod_info", "cluster", "prod", "job", "kube-state-metrics", "node", "n1"))...).Diagnose(t.Context(), w)
		if err != nil || d.Nothing || len(d.Clusters) != 1 || d.Clusters[0].Cluster != "prod" {
			t.Errorf("%+v, %v", d, err)
		}
	})
}
