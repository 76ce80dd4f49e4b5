package promquery_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// above is labels of a cgroup above those of containers, by a cAdvisor that runs as a DaemonSet and may have those of its target.
func above(id string, target bool) []string {
	labels := []string{"node", "n1", "job", "cadvisor", "id", id}
	if target {
		labels = append(labels, "namespace", "monitoring", "pod", "cadvisor-x", "container", "cadvisor")
	}
	return labels
}

// TestUsageOfDaemonSets checks whose usage it is that a cAdvisor tells of which runs as a DaemonSet, whose own namespace, pod and container are
// labels of its target (SEMANTICS §3), with kubelets beside it and without. It tells of all cgroups. The node has less than
// they use, so that usage is asked for once more by the names of pods.
func TestUsageOfDaemonSets(t *testing.T) {
	t.Parallel()
	const job = "kube-state-metrics"
	type pod struct {
		namespace, name, container string
		cores                      float64
	}
	pods := []pod{{"a", "w", "c", 1.5}, {"b", "v", "c", 0.5}, {"monitoring", "cadvisor-x", "cadvisor", 0.1}}
	for _, shape := range []struct {
		name              string
		kubelets          bool
		target, container bool // which labels series of the DaemonSet have: those of its target, and those of the container
	}{
		{"labels of both", false, true, true},
		{"labels of both, and kubelets", true, true, true},
		{"labels of containers", false, false, true},
		{"labels of containers, and kubelets", true, false, true},
		{"labels of its target", false, true, false},
		{"labels of its target, and kubelets", true, true, false},
	} {
		for _, known := range []bool{true, false} { // whether kube-state-metrics tells of cAdvisor's own pod
			series := []promtest.Series{
				life(-600, 7800, always(1), "kube_node_info", "node", "n1", "job", job),
				life(-600, 7800, always(1.5), "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core", "job", job),
			}
			for n, p := range pods {
				of := func(name string, value func(int) float64, labels ...string) {
					s := life(-600, 7800, value, name, labels...)
					s.Labels = slices.Concat(s.Labels[:2], s.Labels[8:]) // without life's pod
					series = append(series, s)
				}
				uid := fmt.Sprintf("36360000-0000-4000-8000-%012d", n)
				own := []string{"namespace", p.namespace, "pod", p.name, "uid", uid, "job", job}
				if known || p.namespace != "monitoring" {
					of("kube_pod_info", always(1), append(own, "node", "n1")...)
					of("kube_pod_container_status_running", always(1), append(own, "container", p.container)...)
					of("kube_pod_container_resource_requests", always(0.05), append(own, "container", p.container, "resource", "cpu", "unit", "core", "node", "n1")...)
				}
				used := func(second int) float64 { return float64(second+7200) * p.cores }
				if shape.kubelets {
					of("container_cpu_usage_seconds_total", used, "namespace", p.namespace, "pod", p.name, "container", p.container, "node", "n1", "job", "kubelet",
						"id", "/kubepods.slice/kubepods-pod"+uid+".slice/cri-containerd-x.scope")
				}
				labels := []string{"node", "n1", "job", "cadvisor", "id", "/kubepods/burstable/pod" + uid + "/x"}
				if shape.target {
					labels = append(labels, "namespace", "monitoring", "pod", "cadvisor-x", "container", "cadvisor")
				}
				if shape.container {
					labels = append(labels, "container_label_io_kubernetes_pod_namespace", p.namespace, "container_label_io_kubernetes_pod_name", p.name, "container_label_io_kubernetes_container_name", p.container)
				}
				of("container_cpu_usage_seconds_total", used, labels...)
				if pause := slices.Clone(labels); shape.container {
					pause[5], pause[len(pause)-1] = "/kubepods/burstable/pod"+uid+"/pause", "POD"
					of("container_cpu_usage_seconds_total", func(second int) float64 { return used(second) / 100 }, pause...)
				}
				of("container_cpu_usage_seconds_total", used, above("/kubepods/burstable/pod"+uid, shape.target)...)
			}
			for _, id := range []string{"/", "/kubepods", "/kubepods/burstable", "/kubepods.slice/kubepods-burstable.slice", "/system.slice/kubelet.service", "/user.slice/user-0.slice/session-1.scope"} {
				s := life(-600, 7800, func(second int) float64 { return float64(second+7200) * 3 }, "container_cpu_usage_seconds_total", above(id, shape.target)...)
				s.Labels = slices.Concat(s.Labels[:2], s.Labels[8:])
				series = append(series, s)
			}
			traffic := life(-600, 7800, func(second int) float64 { return float64(second+7200) * 1e6 }, "container_network_transmit_bytes_total", append(above("/", shape.target), "interface", "eth0")...)
			traffic.Labels = slices.Concat(traffic.Labels[:2], traffic.Labels[8:])
			series = append(series, traffic)
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			db := openBlocks(t, dir)
			for _, resolution := range grids() {
				t.Run(fmt.Sprintf("%s, own pod %t, %s", shape.name, known, allocation.ResolutionText(resolution)), func(t *testing.T) {
					q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
					set, got := compute(t, db, q)[0], map[string]float64{}
					for row := range set.Len() {
						got[set.Text(allocation.Namespace, row)] += set.Value(allocation.Hours.Of(allocation.CPU), row)
						if sent := set.Value(allocation.NetworkTransferBytes, row); sent > 0 {
							t.Errorf("%s sent %v bytes of its node", set.Text(allocation.Pod, row), sent)
						}
					}
					for _, p := range pods {
						if want := 2 * p.cores; (known || p.namespace != "monitoring") && math.Abs(got[p.namespace]-want) > 0.01*want {
							t.Errorf("namespace %s used %.3f core hours, want %.3f", p.namespace, got[p.namespace], want)
						}
					}
					for _, x := range set.Residuals {
						if x.Cost > 1e-9 {
							t.Errorf("%s cost of %v belongs to no node", x.Resource, x.Cost)
						}
					}
					q.Step = time.Hour
					partsAddUp(t, db, q, regexp.MustCompile("cpu idle")) // which is rounding, for nothing is left
				})
			}
		}
	}
}
