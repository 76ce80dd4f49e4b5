package promquery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// madeUp has the series of a made-up cluster, whose kube-state-metrics is scraped every 30 s. Times are seconds of a test's window; clusterEnd is for what goes
// on beyond it.
type madeUp struct{ series []promtest.Series }

const (
	clusterBegin = -7200
	clusterEnd   = 9000
)

// add adds a series of kube-state-metrics with a value from one second to another.
func (m *madeUp) add(from, to int, value float64, name string, labels ...string) {
	m.scraped("kube-state-metrics", from, to, always(value), name, labels...)
}

// scraped adds a series of a job.
func (m *madeUp) scraped(job string, from, to int, value func(second int) float64, name string, labels ...string) {
	out := promtest.Series{Labels: append([]string{"__name__", name, "job", job}, labels...)}
	for t := clusterBegin + 7; t < min(to+30, clusterEnd); t += 30 {
		switch at := lifeStart.Add(time.Duration(t) * time.Second).UnixMilli(); {
		case t >= to:
			out.Samples = append(out.Samples, promtest.Stale(at))
		case t >= from:
			out.Samples = append(out.Samples, promtest.Sample{T: at, V: value(t)})
		}
	}
	m.series = append(m.series, out)
}

// node adds a node of so many cores and as many GiB, at prices of 1.
func (m *madeUp) node(from, to int, name, providerID string, cores float64) {
	m.add(from, to, 1, "kube_node_info", "node", name, "provider_id", providerID)
	m.add(from, to, cores, "kube_node_status_capacity", "node", name, "resource", "cpu", "unit", "core")
	m.add(from, to, cores*(1<<30), "kube_node_status_capacity", "node", name, "resource", "memory", "unit", "byte")
	m.scraped("opencost", from, to, always(1), "node_cpu_hourly_cost", "node", name)
	m.scraped("opencost", from, to, always(1), "node_ram_hourly_cost", "node", name)
}

// pod adds a pod of one container that requests a core and a GiB.
func (m *madeUp) pod(from, to int, namespace, name, uid, node string) {
	m.requesting(from, to, namespace, name, uid, node, 1, 1)
}

// requesting adds a pod of one container that requests so many cores and GiB.
func (m *madeUp) requesting(from, to int, namespace, name, uid, node string, cores, gibs float64) {
	of := []string{"namespace", namespace, "pod", name, "uid", uid}
	in := slices.Concat(of, []string{"container", "c"})
	started := float64(lifeStart.Unix() + int64(from))
	m.add(from, to, 1, "kube_pod_info", append(of, "node", node)...)
	m.add(from, to, started, "kube_pod_start_time", of...)
	m.add(from, to, 1, "kube_pod_container_status_running", in...)
	m.add(from, to, started, "kube_pod_container_state_started", in...)
	m.add(from, to, cores, "kube_pod_container_resource_requests", slices.Concat(in, []string{"node", node, "resource", "cpu", "unit", "core"})...)
	m.add(from, to, gibs*(1<<30), "kube_pod_container_resource_requests", slices.Concat(in, []string{"node", node, "resource", "memory", "unit", "byte"})...)
}

// blocks writes the series into blocks. Series with the same labels follow each other.
func (m *madeUp) blocks(t *testing.T) promquery.Source {
	dir := t.TempDir()
	for i := range m.series {
		for k := range m.series[:i] {
			before, x := &m.series[k], &m.series[i]
			if n := len(before.Samples); n > 0 && len(x.Samples) > 0 && slices.Equal(before.Labels, x.Labels) && before.Samples[n-1].T == x.Samples[0].T {
				before.Samples = before.Samples[:n-1] // no staleness marker
			}
		}
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, m.series...)
	return openBlocks(t, dir)
}

// twoHours asks for the first two hours of a made-up cluster.
func twoHours(resolution time.Duration) allocation.Query {
	return allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
}

// sums adds up a column by a property.
func sums(s *allocation.Set, by allocation.Property, column allocation.Column) map[string]float64 {
	out := map[string]float64{}
	for row := range s.Len() {
		if v := s.Value(column, row); v != 0 {
			out[s.Text(by, row)] += v
		}
	}
	return out
}
