package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/metering"
)

// gibibyte is how dashboards for OpenCost divide.
const gibibyte = " / 1024 / 1024 / 1024"

// volumeCosts are the costs of volumes per hour, by volume, as those dashboards have them.
const volumeCosts = `sum by (persistentvolume) (kube_persistentvolume_capacity_bytes{job="$job"}` + gibibyte +
	`) * on (persistentvolume) group_left () sum by (persistentvolume) (pv_hourly_cost{job="$job"})`

// allocated is what containers have of a resource at its price, by some labels.
func allocated(metric, scale, price, labels string) string {
	return fmt.Sprintf(`sum by (%[4]s) (sum by (%[4]s, instance) (%[1]s{cluster=~"$cluster", job="$job"}%[2]s) * on (instance) group_left () avg by (instance) (%[3]s{cluster=~"$cluster", job="$job"}))`,
		metric, scale, price, labels)
}

// capacityAt is what nodes have of a resource at its price.
func capacityAt(resource, scale, price string) string {
	return `sum by (node) (kube_node_status_capacity{job="$job", resource="` + resource + `"}` + scale + ` * on (node) group_left () avg by (node) (node_` + price + `_hourly_cost{job="$job"}))`
}

// openCostQueries are what dashboards and rules for OpenCost ask, and what the API knows of it: by the label, per hour.
func openCostQueries(w *watched, t *testing.T) []openCostQuery {
	t.Helper()
	return []openCostQuery{
		{"nodes", "", `sum(node_total_hourly_cost{cluster=~"$cluster", job="$job"})`, w.assetCosts(t, "Node", func(*costs) string { return "" }, totalOf)},
		{"nodes' cores", "node", `sum by (node) (kube_node_status_capacity{job="$job", resource="cpu", unit="core"}) * on (node) group_right () avg by (node, instance_type, arch) (node_cpu_hourly_cost{job="$job"})`, w.assetCosts(t, "Node", nameOf, func(c *costs) float64 { return c.CPUCost })},
		{"nodes' memory", "node", `sum by (node) (kube_node_status_capacity{job="$job", resource="memory", unit="byte"}` + gibibyte + `) * on (node) group_right () avg by (node, instance_type, arch) (node_ram_hourly_cost{job="$job"})`, w.assetCosts(t, "Node", nameOf, func(c *costs) float64 { return c.RAMCost })},
		{"nodes by their parts", "", `sum(` + capacityAt("cpu", "", "cpu") + ` + on (node) ` + capacityAt("memory", gibibyte, "ram") +
			` + on (node) sum by (node) (node_gpu_count{job="$job"} * node_gpu_hourly_cost{job="$job"}))`, w.assetCosts(t, "Node", func(*costs) string { return "" }, totalOf)},
		{"namespaces by their parts", "namespace", allocated("container_cpu_allocation", "", "node_cpu_hourly_cost", "namespace") +
			` + ` + allocated("container_memory_allocation_bytes", gibibyte, "node_ram_hourly_cost", "namespace") +
			` + ` + allocated("container_gpu_allocation", "", "node_gpu_hourly_cost", "namespace"), w.allocationCosts(t, "namespace", func(c *costs) float64 { return c.CPUCost + c.RAMCost + c.GPUCost })},
		{"volumes", "persistentvolume", volumeCosts, w.assetCosts(t, "Disk", volumeOf, totalOf)},
		{"claims", "persistentvolume", `sum by (persistentvolume) (label_replace(kube_persistentvolumeclaim_info{job="$job"}, "persistentvolume", "$1", "volumename", "(.*)") * on (persistentvolume) group_left () (` + volumeCosts + `))`, w.assetCosts(t, "Disk", claimedOf, totalOf)},
		{"load balancers", "", `sum(kubecost_load_balancer_cost{job="$job"})`, w.assetCosts(t, "LoadBalancer", func(*costs) string { return "" }, totalOf)},
		{"control planes", "", `sum(kubecost_cluster_management_cost{job="$job"})`, w.assetCosts(t, "ClusterManagement", func(*costs) string { return "" }, totalOf)},
		{"cores of namespaces", "namespace", allocated("container_cpu_allocation", "", "node_cpu_hourly_cost", "namespace"), w.allocationCosts(t, "namespace", func(c *costs) float64 { return c.CPUCost })},
		{"memory of namespaces", "namespace", allocated("container_memory_allocation_bytes", gibibyte, "node_ram_hourly_cost", "namespace"), w.allocationCosts(t, "namespace", func(c *costs) float64 { return c.RAMCost })},
		{"GPUs of namespaces", "namespace", allocated("container_gpu_allocation", "", "node_gpu_hourly_cost", "namespace"), w.allocationCosts(t, "namespace", func(c *costs) float64 { return c.GPUCost })},
		{"memory of pods", "pod", allocated("container_memory_allocation_bytes", gibibyte, "node_ram_hourly_cost", "namespace, pod"), w.allocationCosts(t, "pod", func(c *costs) float64 { return c.RAMCost })},
		{"volumes of pods", "pod", `sum by (pod) (sum by (cluster, namespace, pod, persistentvolume) (pod_pvc_allocation{job="$job"}` + gibibyte + `) * on (cluster, persistentvolume) group_left () avg by (cluster, persistentvolume) (pv_hourly_cost{job="$job"}))`, w.allocationCosts(t, "pod", func(c *costs) float64 { return c.PVCost })},
		{"rule of the budget", "", `sum(node_total_hourly_cost{job="$job"}) + sum(` + volumeCosts + `)`, map[string]float64{
			"": sumOfCosts(w.assetCosts(t, "Node", nameOf, totalOf)) + sumOfCosts(w.assetCosts(t, "Disk", volumeOf, totalOf)),
		}},
	}
}

// openCostQuery is a query and its expected values by a label. A value of 0 may be missing on either side.
type openCostQuery struct {
	name, label, text string
	want              map[string]float64
}

func totalOf(c *costs) float64 { return c.TotalCost }
func nameOf(c *costs) string   { return c.Properties.Name }

// volumeOf is the name of a persistent volume, "-" of the disk of a node.
func volumeOf(c *costs) string {
	if c.VolumeName == "" {
		return "-"
	}
	return c.VolumeName
}

// claimedOf is volumeOf, "-" of what nobody claims.
func claimedOf(c *costs) string {
	if c.ClaimName == "" {
		return "-"
	}
	return volumeOf(c)
}

func sumOfCosts(costs map[string]float64) float64 {
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		sum += costs[name]
	}
	return sum
}

// assetCosts are what assets of a type cost in the last hour, but those named "-".
func (w *watched) assetCosts(t *testing.T, kind string, name func(*costs) string, cost func(*costs) float64) map[string]float64 {
	t.Helper()
	return summed(w.lastHour(t, "/model/assets", "filterTypes="+kind), name, cost)
}

// allocationCosts are what allocations cost in the last hour by something.
func (w *watched) allocationCosts(t *testing.T, by string, cost func(*costs) float64) map[string]float64 {
	t.Helper()
	all := w.lastHour(t, "/model/allocation", "aggregate="+by+"&idle=false&shareTenancyCosts=false")
	sums := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if c := all[name]; !strings.HasPrefix(name, "__") && !strings.HasSuffix(name, "-unmounted-pvcs") {
			sums[name] = cost(&c)
		}
	}
	return sums
}

func summed(all map[string]costs, name func(*costs) string, cost func(*costs) float64) map[string]float64 {
	sums := map[string]float64{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if c := all[key]; name(&c) != "-" {
			sums[name(&c)] += cost(&c)
		}
	}
	return sums
}

// testOpenCost has the real Prometheus answer what dashboards for OpenCost ask, and compares it with the API.
func (w *watched) testOpenCost(t *testing.T) {
	// Where a node is overcommitted for an instant, its containers' costs are scaled, but no amounts.
	const apart = 1e-2
	variables := strings.NewReplacer("$cluster", ".*", "$job", "promcost")
	for _, q := range openCostQueries(w, t) {
		t.Run(q.name, func(t *testing.T) {
			got := map[string]float64{}
			for _, s := range w.query(t, variables.Replace(q.text)) {
				got[s.Metric[q.label]] += float64(s.Value.Value)
			}
			if len(got) == 0 && sumOfCosts(q.want) > 0 {
				t.Fatalf("nothing: %s", q.text)
			}
			for name, cost := range got {
				if want := q.want[name]; math.Abs(cost-want) > apart*max(want, 0.01) {
					t.Errorf("%q: %v, the API says %v", name, cost, want)
				}
			}
			for name, cost := range q.want {
				if _, ok := got[name]; !ok && cost > 1e-9 {
					t.Errorf("%q is missing, the API says %v", name, cost)
				}
			}
		})
	}
	for _, variable := range []struct{ selector, label string }{
		{`opencost_build_info{job="promcost"}`, "job"}, {`kube_namespace_labels{job="promcost"}`, "namespace"}, {`kubecost_cluster_info`, "id"},
	} {
		if got := w.query(t, "count by ("+variable.label+") ("+variable.selector+")"); len(got) == 0 || got[0].Metric[variable.label] == "" {
			t.Errorf("%s has no values of %s", variable.selector, variable.label)
		}
	}
	// The series of the demo's cluster do not name it, and joins with them find both sides.
	const named = `{job="promcost", cluster!="", __name__=~"node_.*|container_.*|kube_.*|kubecost_.*|pv_.*|pod_pvc_.*|opencost_.*"}`
	if got := w.query(t, named); len(got) > 0 {
		t.Errorf("%v names the cluster", got[0].Metric)
	}
}

// testBudgets compares the spending of budgets with what the API says about the same stored days and hours: of everything, idle
// included, and of one namespace. Shared costs are shared within a day, or within an hour of the current day.
func (w *watched) testBudgets(t *testing.T) {
	for _, tt := range []struct {
		budget, parameters string
		period             metering.BudgetPeriod
	}{
		{"everything", "reconcile=false&idle=true", metering.BudgetMonth},
		{"tiny", "reconcile=false&idle=true", metering.BudgetYear},
		{"search", "reconcile=false&idle=false&filter=" + url.QueryEscape(`namespace:"search"`), metering.BudgetWeek},
		{"invoice", "reconcile=true&unbilled=estimate&idle=true", metering.BudgetWeek},
	} {
		eventually(t, tt.budget+": what is spent is not what the API says", func() bool {
			w.now = time.Now()
			at := w.query(t, "max(promcost_last_complete_set_timestamp_seconds)") // an hour may close meanwhile
			if len(at) != 1 {
				t.Fatalf("the last closed hour is %v", at)
			}
			end := time.Unix(int64(at[0].Value.Value), 0).UTC()
			got := w.query(t, fmt.Sprintf(`promcost_budget_spent{budget=%q, period=%q}`, tt.budget, tt.period))
			start, day := tt.period.Window(end, time.UTC).Start, end.Truncate(24*time.Hour)
			want := w.kept(t, start, day, "1d&"+tt.parameters) + w.kept(t, day, end, "1h&"+tt.parameters)
			t.Logf("%s: %v, the API says %v", tt.budget, got, want)
			return len(got) == 1 && want > 0 && math.Abs(float64(got[0].Value.Value)-want) < 1e-9*want
		})
	}
}

// kept is the cost of stored sets of a window by the API. The window may be empty. The parameters begin with the step.
func (w *watched) kept(t *testing.T, start, end time.Time, parameters string) float64 {
	t.Helper()
	if !start.Before(end) {
		return 0
	}
	_, body := get(t, fmt.Sprintf("%s/model/allocation?window=%d,%d&aggregate=all&accumulate=true&step=%s", w.promcost, start.Unix(), end.Unix(), parameters))
	var answer struct{ Data []map[string]costs }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data) != 1 {
		t.Fatalf("%v: %.300s", err, body)
	}
	return sumOfCosts(summed(answer.Data[0], func(*costs) string { return "" }, totalOf))
}

// testAlert waits until the alert of a budget fires that is spent, and no other's.
func (w *watched) testAlert(t *testing.T) {
	var firing []string
	eventually(t, "no alert fires of the budget that is spent", func() bool {
		_, body := get(t, w.url+"/api/v1/alerts")
		var answer struct {
			Data struct {
				Alerts []struct {
					Labels map[string]string
					State  string
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		firing = nil
		for _, a := range answer.Data.Alerts {
			if a.Labels["alertname"] == "PromcostBudgetSpent" && a.State == "firing" {
				firing = append(firing, a.Labels["budget"])
			}
		}
		return len(firing) > 0
	})
	if !slices.Equal(firing, []string{"tiny"}) {
		t.Errorf("alerts fire of the budgets %v", firing)
	}
}
