package promquery_test

import (
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
