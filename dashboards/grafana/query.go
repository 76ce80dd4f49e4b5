package grafana

import (
	"fmt"
	"strings"
)

// Matchers of the variables that dashboards have.
const (
	ofCluster   = `cluster=~"$cluster"`
	ofNamespace = ofCluster + `, namespace=~"$namespace"`
	ofWorkload  = ofNamespace + `, controller=~"$controller"`
	ofInstance  = `instance=~"$instance"`
)

// Labels that distinguish the series of a subject, with resource if its families have it.
var (
	namespaceLabels  = []string{"cluster", "namespace", "resource"}
	controllerLabels = []string{"cluster", "namespace", "controller_kind", "controller", "resource"}
	podLabels        = []string{"cluster", "namespace", "controller_kind", "controller", "node", "pod", "resource"}
	containerLabels  = []string{"cluster", "namespace", "controller_kind", "controller", "node", "pod", "container", "resource"}
	labelLabels      = []string{"cluster", "label", "value", "resource"}
	idleLabels       = []string{"cluster", "node", "resource"}
	nodeLabels       = []string{"cluster", "node", "instance_type", "region", "zone", "provider_id", "spot", "resource"}
	volumeLabels     = []string{"cluster", "persistentvolume", "storageclass", "namespace", "persistentvolumeclaim"}
	balancerLabels   = []string{"cluster", "namespace", "service", "ingress_ip"}
	trafficLabels    = []string{"cluster", "traffic"}
	attachedLabels   = []string{"cluster", "node"}
	clusterLabels    = []string{"cluster"}
	budgetLabels     = []string{"budget", "period"}
	residualLabels   = []string{"cluster", "resource"}
	cloudLabels      = []string{"provider", "account", "service", "category"}
	requestLabels    = []string{"cluster", "namespace", "controller_kind", "controller", "container", "resource"}
	nodeTypeLabels   = []string{"cluster", "instance_type"}
)

// Labels that distinguish namespaces and controllers, and the legend of a namespace: clusters may have namespaces of the same
// name.
var (
	perNamespace  = []string{"cluster", "namespace"}
	perController = []string{"cluster", "namespace", "controller_kind", "controller"}
)

const ofNamespaces = "{{cluster}} / {{namespace}}"

// chosen is the end of the name of a metric with costs per hour, as the variable prices says.
const chosen = "${prices}"

// once is every series of a metric, once: replicas of promcost that are scraped have the same numbers and must not be added up. It
// matches no labels of the scrape, because series from promcost's own API have none.
func once(labels []string, metric, matchers string) string {
	return fmt.Sprintf("max by (%s) (%s{%s})", strings.Join(labels, ", "), metric, matchers)
}

// and adds a matcher to others.
func and(matchers, further string) string { return matchers + ", " + further }

// sumBy sums by labels, or everything if there are none.
func sumBy(expr string, labels ...string) string {
	if len(labels) == 0 {
		return "sum(" + expr + ")"
	}
	return fmt.Sprintf("sum by (%s) (%s)", strings.Join(labels, ", "), expr)
}

// top are the n largest.
func top(n int, expr string) string { return fmt.Sprintf("topk(%d, %s)", n, expr) }

// whole is the total cost of clusters, in a family that every subject has (hourly_cost, cost_total): workloads, volumes and load
// balancers of no workload, idle, the nodes' own disks, control planes. It is a union, to be summed, whose parts never have the
// same labels. Nothing is joined, so a missing part does not remove others.
func whole(family, offset string) string {
	parts := []string{
		once(namespaceLabels, "promcost_namespace_"+family, ofCluster),
		once(idleLabels, "promcost_idle_"+family, ofCluster),
		once(attachedLabels, "promcost_attached_disk_"+family, ofCluster),
		once(clusterLabels, "promcost_cluster_management_"+family, ofCluster),
	}
	for i := range parts {
		if offset != "" {
			parts[i] = strings.TrimSuffix(parts[i], ")") + " offset " + offset + ")"
		}
	}
	return strings.Join(parts, " or ")
}

// hoursLeft is how many hours of the month of the costs are left after them, in UTC. It asks the costs for their time and not the
// clock, which is in another month for up to 70 minutes, until the first hour of a month is shown. Days are those after the day that
// the last second of the costs is in.
var hoursLeft = strings.ReplaceAll("(24 * (days_in_month(T) - day_of_month(T)) + (86399 - T % 86400) / 3600)",
	"T", "(max(promcost_last_complete_set_timestamp_seconds) - 1)")

// forecast is the cost of a month if its remaining hours cost what the last day did. A Prometheus that has scraped for a few
// minutes has a forecast too, from what it has.
func forecast(total, hourly string) string {
	return fmt.Sprintf("sum(%s) + avg_over_time(sum(%s)[1d:5m]) * %s", total, hourly, hoursLeft)
}

// Costs of namespaces that have an efficiency: CPU and memory.
var (
	measured       = and(ofNamespace, `resource=~"cpu|ram"`)
	measuredCost   = once(namespaceLabels, "promcost_namespace_"+chosen, measured)
	measuredRatio  = once(namespaceLabels, "promcost_namespace_efficiency_ratio", measured)
	usedCost       = measuredRatio + " * " + measuredCost
	unusedCost     = measuredCost + " * (1 - clamp_max(" + measuredRatio + ", 1))"
	namespacesCost = once(namespaceLabels, "promcost_namespace_"+chosen, ofNamespace)
	idleHourly     = once(idleLabels, "promcost_idle_"+chosen, ofCluster)
	nodeHourly     = once(nodeLabels, "promcost_node_"+chosen, ofCluster)
)

// efficiency is the cost-weighted efficiency by labels. What costs nothing or is not measured has none.
func efficiency(labels ...string) string {
	return fmt.Sprintf("%s / (%s > 0)", sumBy(usedCost, labels...), sumBy(measuredCost+" and "+measuredRatio, labels...))
}
