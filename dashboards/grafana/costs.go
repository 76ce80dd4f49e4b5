package grafana

// overview is the dashboard to start with.
func overview() board {
	hourly, total := whole(chosen, ""), whole("cost_total", "")
	namespaceHourly := once(namespaceLabels, "promcost_namespace_"+chosen, ofCluster)
	namespaceTotal := once(namespaceLabels, "promcost_namespace_cost_total", ofCluster)
	labelHourly := once(labelLabels, "promcost_label_"+chosen, and(ofCluster, `label=~"$label"`))
	return board{
		uid: "promcost-overview", title: "promcost / Overview", from: "7d", step: costStep,
		help:      "What clusters cost: run rate, month to date, forecast, the namespaces that cost most, and what is idle.",
		variables: []variable{clusterVariable, labelVariable},
		panels: []panel{
			show(number, 4, money, "Run rate per hour", "Everything that the clusters cost in the last closed hour: workloads, idle, the nodes' own disks, control planes.").
				value("sum("+hourly+")", ""),
			show(number, 4, money, "Run rate per month", "The last closed hour's cost, for a month of 730 hours.").
				value("730 * sum("+hourly+")", ""),
			show(number, 4, money, "Month to date, at list prices", "Cost of the closed hours since the month began.").
				value("sum("+total+")", ""),
			show(number, 4, money, "Forecast for the month, at list prices", "Month to date, and the average of the last day for each hour that is left after the costs that are shown. The month's end is taken in UTC: where promcost has another --timezone, the forecast is of the wrong month for the hours between the two ends.").
				value(forecast(total, whole(atList, "")), ""),
			show(number, 4, ratio, "Idle share", "Part of what nodes cost that no workload was allocated.").
				value("sum("+idleHourly+") / sum("+nodeHourly+")", ""),
			show(number, 4, ratio, "Change since last week", "The run rate against that of a week ago.").
				value("sum("+hourly+") / sum("+whole(chosen, "1w")+") - 1", ""),
			show(areas, 12, money, "Cost per hour by namespace", "Without the nodes' own disks and control planes. __unallocated__ is what belongs to no namespace.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(namespaceHourly, perNamespace...), ofNamespaces).
				value(sumBy(idleHourly, "cluster"), "{{cluster}} idle"),
			show(areas, 12, money, "Cost per hour by resource", "Idle included.").
				value(sumBy(namespaceHourly+" or "+idleHourly, "resource"), "{{resource}}"),
			show(columns, 12, money, "Most expensive namespaces", "The 20 whose run rate is highest.").linked(toNamespaces, whyOfNamespace).
				value(top(20, sumBy(namespaceHourly, perNamespace...)), "Per hour").
				value(sumBy(namespaceTotal, perNamespace...)+" and "+top(20, sumBy(namespaceHourly, perNamespace...)), "Month to date (list)"),
			show(areas, 12, money, "Cost per hour by cluster", "Workloads, idle, the nodes' own disks, control planes.").tall(9).linked(whyOfCluster).
				value(sumBy(hourly, "cluster"), "{{cluster}}"),
			show(areas, 24, money, "Cost per hour by value of the label $label", "Wants --collector.label.names where promcost is scraped.").
				linked(why("controller", step{field: "label:${label:percentencode}", labels: []string{"value"}})).
				value(sumBy(labelHourly, "value"), "{{value}}"),
		},
	}
}

// namespaces goes from namespaces to controllers, pods and containers.
func namespaces() board {
	total := once(namespaceLabels, "promcost_namespace_cost_total", ofNamespace)
	controllers := once(controllerLabels, "promcost_controller_"+chosen, ofWorkload)
	controllerTotal := once(controllerLabels, "promcost_controller_cost_total", ofWorkload)
	pods := once(podLabels, "promcost_pod_"+chosen, ofWorkload)
	containers := once(containerLabels, "promcost_container_"+chosen, ofWorkload)
	toController := toDashboard("This controller alone", "cluster", "namespace", "controller")
	whyOfPod := why("container", as("cluster"), as("namespace"), as("pod"))
	return board{
		uid: "promcost-namespaces", title: "promcost / Namespaces, controllers, pods", from: "7d", step: costStep,
		help:      "Choose a namespace, then a controller, and see what it consists of. What is idle is not charged to anybody here.",
		variables: []variable{clusterVariable, namespaceVariable, controllerVariable},
		panels: []panel{
			show(number, 6, money, "Namespaces per hour", "Of the chosen namespaces, in the last closed hour.").
				value("sum("+namespacesCost+")", ""),
			show(number, 6, money, "Namespaces, month to date, at list prices", "Of the chosen namespaces, in the closed hours since the month began.").
				value("sum("+total+")", ""),
			show(number, 6, money, "Controllers per hour", "Of the chosen controllers, in the last closed hour.").
				value("sum("+controllers+")", ""),
			show(number, 6, ratio, "Efficiency", "What the chosen namespaces used of the CPU and memory that they requested, weighted by cost.").
				value(efficiency(), ""),
			show(areas, 12, money, "Namespaces per hour by resource", "Of the chosen namespaces.").
				value(sumBy(namespacesCost, "resource"), "{{resource}}"),
			show(areas, 12, money, "Controllers over time", "__unallocated__ are pods without a controller, __unmounted__ volumes without a pod.").linked(whyOfController).
				value(sumBy(controllers, perController...), ofNamespaces+" / {{controller_kind}} {{controller}}"),
			show(columns, 24, money, "Controllers", "The 100 whose run rate is highest.").linked(toController, whyOfController).
				value(top(100, sumBy(controllers, perController...)), "Per hour").
				value(sumBy(controllerTotal, perController...)+" and "+top(100, sumBy(controllers, perController...)), "Month to date (list)"),
			show(columns, 12, money, "Pods", "The 100 that cost most. Wants --collector.pod where promcost is scraped.").linked(whyOfPod).
				value(top(100, sumBy(pods, "cluster", "namespace", "pod", "node")), "Per hour"),
			show(columns, 12, money, "Containers", "The 100 that cost most. Wants --collector.container where promcost is scraped.").
				value(top(100, sumBy(containers, "cluster", "namespace", "pod", "container")), "Per hour"),
		},
	}
}

// nodes is about machines.
func nodes() board {
	return board{
		uid: "promcost-nodes", title: "promcost / Nodes and idle", from: "7d", step: costStep,
		help:      "What nodes cost, and how much of it no workload was allocated.",
		variables: []variable{clusterVariable},
		panels: []panel{
			show(number, 6, money, "Nodes per hour", "Cost of all nodes in the last closed hour.").
				value("sum("+nodeHourly+")", ""),
			show(number, 6, money, "Idle per hour", "The part of it that no workload was allocated.").
				value("sum("+idleHourly+")", ""),
			show(number, 6, ratio, "Idle part", "Idle over what nodes cost.").
				value("sum("+idleHourly+") / sum("+nodeHourly+")", ""),
			show(number, 6, count, "Nodes", "Nodes that the last closed hour knew.").
				value("count("+sumBy(nodeHourly, "cluster", "node", "provider_id")+")", ""),
			show(lines, 12, ratio, "Idle part by resource", "A resource that is mostly idle while another is scarce asks for other instance types.").
				value(sumBy(idleHourly, "resource")+" / ("+sumBy(nodeHourly, "resource")+" > 0)", "{{resource}}"),
			show(areas, 12, money, "Nodes per hour by instance type", "What the nodes of each type cost together.").
				value(sumBy(nodeHourly, "instance_type"), "{{instance_type}}"),
			show(areas, 12, money, "Nodes per hour, spot or on demand", "Spot is what the node's labels or prices say of it.").
				value(sumBy(nodeHourly, "spot"), "spot: {{spot}}"),
			show(areas, 12, money, "Nodes per hour by zone", "Traffic between zones costs too: see Storage and network.").
				value(sumBy(nodeHourly, "region", "zone"), "{{region}} {{zone}}"),
			show(columns, 24, money, "All nodes", "Cost of the last closed hour, and how much of that was idle.").linked(whyOfNode).
				value(sumBy(nodeHourly, "cluster", "node", "provider_id", "instance_type", "zone", "spot"), "Per hour").
				value(sumBy(idleHourly, "cluster", "node"), "Idle per hour").
				column(sumBy(idleHourly, "cluster", "node")+" / ("+sumBy(nodeHourly, "cluster", "node")+" > 0)", "Idle part", ratio),
			show(lines, 12, money, "Overcommitted cost per hour, at list prices", "Scaled off because allocations exceeded the capacity of their node for a moment.").
				value(sumBy(once(residualLabels, "promcost_overcommit_cost", ofCluster), "cluster", "resource"), "{{cluster}} {{resource}}"),
			show(areas, 12, money, "Nodes' own disks per hour", "What the disks attached to nodes cost. They are no part of what nodes cost.").
				value(sumBy(once(attachedLabels, "promcost_attached_disk_"+chosen, ofCluster), "cluster"), "{{cluster}}"),
			show(lines, 12, money, "Control planes per hour", "What the provider takes for managing the clusters.").
				value(once(clusterLabels, "promcost_cluster_management_"+chosen, ofCluster), "{{cluster}}"),
		},
	}
}

// costStep is the least step for costs, which have one sample an hour.
const costStep = "5m"
