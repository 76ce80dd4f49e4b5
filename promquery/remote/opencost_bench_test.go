package remote_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// openCostConcurrency is how many questions OpenCost asks at a time, unless MAX_QUERY_CONCURRENCY says otherwise.
const openCostConcurrency = 5

// openCostQueries are the questions that OpenCost, as of October 2024, asks for the allocations and the assets of a day at a resolution
// of a minute, in rounds: it waits for the answers of one before it asks the next. It asks for averages and sums over
// the whole day, and counts minutes by the points of running pods. Some are of metrics that OpenCost itself exports and the demo cluster lacks.
func openCostQueries() [][]string {
	var rounds [][]string
	ask := func(format string, args ...any) {
		last := &rounds[len(rounds)-1]
		*last = append(*last, fmt.Sprintf(format, args...))
	}
	round := func() { rounds = append(rounds, nil) }
	const cluster = "cluster_id"
	// What op makes over the day of each series, and then of the series of one key.
	day := func(op, series, by string) { ask("%s(%s_over_time(%s[1d])) by (%s,%s)", op, op, series, by, cluster) }
	sum := func(expr, by string) { ask("sum(%s) by (%s,%s)", expr, by, cluster) }
	minutes := func(op, series, by string) { ask("%s(%s) by (%s,%s)[1d:1m]", op, series, by, cluster) }
	allocations := func() {
		const (
			containers = `container!="",container!="POD"`
			onNodes    = containers + `,node!=""`
			requested  = "container,pod,namespace,node"
			used       = "container_name,container,pod_name,pod,namespace,instance"
		)
		round()
		minutes("avg", "kube_pod_container_status_running != 0", "pod,namespace")
		round()
		for _, metric := range []string{"container_memory_allocation_bytes", "container_cpu_allocation", "container_gpu_allocation"} {
			day("avg", metric+"{"+onNodes+"}", requested)
		}
		for _, resource := range []string{`resource="memory",unit="byte",`, `resource="cpu",unit="core",`, `resource="nvidia_com_gpu",`} {
			day("avg", "kube_pod_container_resource_requests{"+resource+onNodes+"}", requested)
		}
		for _, op := range []string{"avg", "max"} {
			day(op, "container_memory_working_set_bytes{"+containers+"}", used)
		}
		ask("avg(rate(container_cpu_usage_seconds_total{%s}[1d])) by (%s,%s)", containers, used, cluster)
		day("max", "kubecost_container_cpu_usage_irate", used)
		ask("max(max_over_time(irate(container_cpu_usage_seconds_total{%s}[2m])[1d:1m])) by (%s,%s)", containers, used, cluster)
		day("avg", `DCGM_FI_PROF_GR_ENGINE_ACTIVE{container!=""}`, "container,pod,namespace")
		for _, metric := range []string{"node_cpu_hourly_cost", "node_ram_hourly_cost", "node_gpu_hourly_cost"} {
			day("avg", metric, "node,instance_type,provider_id")
		}
		minutes("avg", `kube_persistentvolumeclaim_info{volumename!=""}`, "persistentvolumeclaim,storageclass,volumename,namespace")
		day("avg", "pod_pvc_allocation", "persistentvolume,persistentvolumeclaim,pod,namespace")
		day("avg", "kube_persistentvolumeclaim_resource_requests_storage_bytes", "persistentvolumeclaim,namespace")
		minutes("count", "kube_persistentvolume_capacity_bytes", "persistentvolume")
		day("avg", "kube_persistentvolume_capacity_bytes", "persistentvolume")
		day("avg", "pv_hourly_cost", "volumename")
		day("avg", "kubecost_pv_info", "persistentvolume,provider_id")
		for _, direction := range []string{"transmit", "receive"} {
			sum("increase(container_network_"+direction+`_bytes_total{pod!=""}[1d])`, "pod_name,pod,namespace")
		}
		for _, to := range []struct{ name, series string }{
			{"zone", `internet="false",same_zone="false",same_region="true"`},
			{"region", `internet="false",same_zone="false",same_region="false"`},
			{"internet", `internet="true"`},
		} {
			sum("increase(kubecost_pod_network_egress_bytes_total{"+to.series+"}[1d])", "pod_name,namespace")
			ask("avg(avg_over_time(kubecost_network_%s_egress_cost[1d])) by (%s)", to.name, cluster)
		}
		for _, metric := range []string{
			"kubecost_node_is_spot", "kube_node_labels", "kube_namespace_labels", "kube_namespace_annotations", "kube_pod_labels", "kube_pod_annotations",
			"service_selector_labels", "deployment_match_labels", "statefulSet_match_labels",
		} {
			ask("avg_over_time(%s[1d])", metric)
		}
		for _, kind := range []string{"DaemonSet", "ReplicaSet", "Job"} {
			sum(`avg_over_time(kube_pod_owner{owner_kind="`+kind+`"}[1d])`, "pod,owner_name,namespace")
		}
		for _, kind := range []string{"<none>", "Rollout"} {
			day("avg", `kube_replicaset_owner{owner_kind="`+kind+`"}`, "replicaset,namespace")
		}
		day("avg", "kubecost_load_balancer_cost", "namespace,service_name,ingress_ip")
		minutes("count", "kubecost_load_balancer_cost", "namespace,service_name")
	}
	nodes := func() {
		round()
		for _, metric := range []string{"node_cpu_hourly_cost", "node_ram_hourly_cost", "node_gpu_hourly_cost", "node_gpu_count"} {
			day("avg", metric, "node,instance_type,provider_id")
		}
		for _, metric := range []string{"capacity_cpu_cores", "allocatable_cpu_cores", "capacity_memory_bytes", "allocatable_memory_bytes"} {
			day("avg", "kube_node_status_"+metric, "node")
		}
		minutes("avg", "node_total_hourly_cost", "node,provider_id")
		ask("avg_over_time(kubecost_node_is_spot[1d:1m])")
		sum("rate(node_cpu_seconds_total[1d:1m])", "kubernetes_node,mode")
		for _, of := range []string{"=", "!="} {
			ask(`sum(sum_over_time(container_memory_working_set_bytes{container_name!="POD",container_name!="",namespace%s"kube-system"}[1d:1m])) by (instance,%s)`+
				` / avg(label_replace(sum(sum_over_time(kube_node_status_capacity_memory_bytes[1d:1m])) by (node,%[2]s),"instance","$1","node","(.*)")) by (instance,%[2]s)`, of, cluster)
		}
		ask("count_over_time(kube_node_labels[1d:1m])")
	}
	loadBalancers := func() {
		round()
		day("avg", "kubecost_load_balancer_cost", "namespace,service_name,ingress_ip")
		minutes("avg", "kubecost_load_balancer_cost", "namespace,service_name,ingress_ip")
	}
	disks := func() {
		round()
		day("avg", "pv_hourly_cost", "persistentvolume,provider_id")
		day("avg", "kube_persistentvolume_capacity_bytes", "persistentvolume")
		minutes("avg", "kube_persistentvolume_capacity_bytes", "persistentvolume")
		day("avg", "kubecost_pv_info", "persistentvolume,storageclass")
		for _, op := range []string{"avg", "max"} {
			day(op, "kubelet_volume_stats_used_bytes", "persistentvolumeclaim,namespace")
		}
		day("avg", "kube_persistentvolumeclaim_info", "volumename,persistentvolumeclaim,namespace")
		round()
		const local = `{device=~"/dev/(nvme|sda).*",id="/"}`
		for _, metric := range []string{"limit", "usage"} {
			ask("sum_over_time(sum(container_fs_%s_bytes%s) by (instance,device,%s)[1d:1m])", metric, local, cluster)
		}
		for _, op := range []string{"avg", "max"} {
			ask("%s(sum(%[1]s_over_time(container_fs_usage_bytes%s[1d])) by (instance,device,%s,job)) by (instance,device,%[3]s)", op, local, cluster)
		}
		ask("avg_over_time(sum(container_fs_limit_bytes%s) by (instance,device,%s)[1d:1m])", local, cluster)
		minutes("count", "node_total_hourly_cost", "node")
	}
	allocations()
	nodes()
	loadBalancers()
	disks()
	return rounds
}

// askAsOpenCost asks for what OpenCost does, as many questions at a time.
func askAsOpenCost(b *testing.B, server string) {
	b.Helper()
	for _, round := range openCostQueries() {
		var wg sync.WaitGroup
		slots := make(chan struct{}, openCostConcurrency)
		for _, query := range round {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := askAtEnd(b.Context(), server, query); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// askAtEnd asks a server a question about the end of the data.
func askAtEnd(ctx context.Context, server, query string) error {
	form := url.Values{"query": {query}, "time": {strconv.FormatInt(fixed.Unix(), 10)}, "nocache": {"1"}} // or VictoriaMetrics would remember
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/api/v1/query", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close() // it was read
	if err != nil || resp.StatusCode != http.StatusOK || n == 0 {
		return fmt.Errorf("%s: %s, %d bytes, %w", query, resp.Status, n, err)
	}
	return nil
}
