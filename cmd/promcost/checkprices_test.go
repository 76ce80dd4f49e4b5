package main

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// unpricedNodes writes blocks of two nodes of 4 cores and 8 GiB without prices and one with, from 10:00 to 12:00 of the last
// day of January 2026, and returns their directory.
func unpricedNodes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, to := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	constant := func(v float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: labels, Samples: promtest.Regular(from, to-1, 60_000, func(int64) float64 { return v })}
	}
	series := []promtest.Series{
		constant(1, "__name__", "kube_pod_container_status_running", "namespace", "shop", "pod", "web-0", "uid", "u", "container", "app"),
		constant(0.7, "__name__", "node_cpu_hourly_cost", "node", "n3", "instance_type", "m5.large", "region", "eu-central-1"),
		constant(0.1, "__name__", "node_ram_hourly_cost", "node", "n3", "instance_type", "m5.large", "region", "eu-central-1"),
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		series = append(
			series, constant(1, "__name__", "kube_node_info", "node", node),
			constant(4, "__name__", "kube_node_status_capacity", "node", node, "resource", "cpu"),
			constant(8<<30, "__name__", "kube_node_status_capacity", "node", node, "resource", "memory"),
		)
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

// pricedThings writes blocks of a node with GPUs, one with odd prices, a volume, a load balancer, a control plane and traffic, of the same hours as
// those of unpricedNodes, and returns their directory.
func pricedThings(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, to := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	var series []promtest.Series
	for _, x := range []struct {
		v      float64
		labels []string
	}{
		{1, []string{"kube_pod_container_status_running", "namespace", "shop", "pod", "web-0", "uid", "u", "container", "app"}},
		{1, []string{"kube_pod_info", "namespace", "shop", "pod", "web-0", "uid", "u", "node", "n1"}},
		{1, []string{"kube_node_info", "node", "n1"}},
		{4, []string{"kube_node_status_capacity", "node", "n1", "resource", "cpu"}},
		{8 << 30, []string{"kube_node_status_capacity", "node", "n1", "resource", "memory"}},
		{2, []string{"kube_node_status_capacity", "node", "n1", "resource", "nvidia_com_gpu"}},
		{0.03, []string{"node_cpu_hourly_cost", "node", "n1"}},
		{0.004, []string{"node_ram_hourly_cost", "node", "n1"}},
		{1, []string{"kube_persistentvolume_info", "persistentvolume", "pv-1", "storageclass", "fast"}},
		{10 << 30, []string{"kube_persistentvolume_capacity_bytes", "persistentvolume", "pv-1"}},
		{1, []string{"kube_persistentvolume_info", "persistentvolume", "pv-2", "storageclass", "slow"}},
		{10 << 30, []string{"kube_persistentvolume_capacity_bytes", "persistentvolume", "pv-2"}},
		{0.0002, []string{"pv_hourly_cost", "persistentvolume", "pv-2"}},
		{1, []string{"kube_service_spec_type", "namespace", "shop", "service", "web", "type", "LoadBalancer"}},
		{0.1, []string{"kubecost_cluster_management_cost", "provisioner_name", "EKS"}},
		{1, []string{"kube_node_info", "node", "n2"}},
		{4, []string{"kube_node_status_capacity", "node", "n2", "resource", "cpu"}},
		{8 << 30, []string{"kube_node_status_capacity", "node", "n2", "resource", "memory"}},
		{22, []string{"node_cpu_hourly_cost", "node", "n2"}},
		{0, []string{"node_ram_hourly_cost", "node", "n2"}},
	} {
		series = append(series, promtest.Series{
			Labels: append([]string{"__name__"}, x.labels...), Samples: promtest.Regular(from, to-1, 60_000, func(int64) float64 { return x.v }),
		})
	}
	sent := func(at int64) float64 { return float64(at-from) * 1000 }
	series = append(series, promtest.Series{
		Labels:  []string{"__name__", "kubecost_pod_network_egress_bytes_total", "namespace", "shop", "pod_name", "web-0", "internet", "true", "same_region", "false", "same_zone", "false"},
		Samples: promtest.Regular(from, to-1, 60_000, sent),
	})
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

func TestCheckPrices(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{
		"odd.yaml":    "currency: EUR\ndefaults:\n  storagePerGiBHour: 0.04\n",
		"slip.yaml":   "timeZone: UTC\nbudgets:\n- {name: a, amout: 5, period: day}\n",
		"asks.yaml":   "questions:\n- {name: by-tier, query: window=1d&aggregate=tier}\n",
		"bad.csv":     "region,cpuPerCoreHour\neu,-1\n",
		"things.yaml": "defaults: {gpuPerDeviceHour: 0.5}\nstorage:\n- {storageClass: fast, storagePerGiBHour: 0.0001}\nloadBalancers:\n- {namespace: shop, loadBalancerPerHour: 0.03}\nnetwork:\n- {cluster: cluster-one, egressInternetPerGiB: 0.1}\n",
		"free.csv":    "name,to,cpuPerCoreHour,ramPerGiBHour\nn1,,0.5,0.25\n",
	})
	closed := closedURL(t)
	checkTranscript(t, "prices", place{"DIR", dir}, place{"UNPRICED", unpricedNodes(t)}, place{"THINGS", pricedThings(t)},
		place{"CLOSED", closed}, place{"ADDRESS", strings.TrimPrefix(closed, "http://")})
}
