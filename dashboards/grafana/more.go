package grafana

// storage is about volumes, traffic and load balancers.
func storage() board {
	resource := func(name string) string {
		return once(namespaceLabels, "promcost_namespace_"+chosen, and(ofNamespace, `resource="`+name+`"`))
	}
	unmounted := once(controllerLabels, "promcost_controller_"+chosen, and(ofNamespace, `controller="__unmounted__", resource="pv"`))
	volumes := once(volumeLabels, "promcost_persistentvolume_"+chosen, ofNamespace)
	balancers := once(balancerLabels, "promcost_loadbalancer_"+chosen, ofNamespace)
	traffic := once(trafficLabels, "promcost_network_hourly_cost", ofCluster)
	return board{
		uid: "promcost-storage-network", title: "promcost / Storage and network", from: "7d", step: costStep,
		help:      "What volumes, traffic and load balancers cost, and which volumes nobody mounts.",
		variables: []variable{clusterVariable, namespaceVariable},
		panels: []panel{
			show(number, 6, money, "Volumes per hour", "Mounted or not, in the last closed hour.").
				value("sum("+resource("pv")+")", ""),
			show(number, 6, money, "Unmounted per hour", "Volumes that no pod mounts: delete them, or know why not.").
				value("sum("+unmounted+") or vector(0)", ""),
			show(number, 6, money, "Traffic per hour", "Egress to other zones, other regions and the internet.").
				value("sum("+resource("network")+")", ""),
			show(number, 6, money, "Load balancers per hour", "Of the workloads behind them; __unallocated__ has those that nobody is behind.").
				value("sum("+resource("load_balancer")+")", ""),
			show(areas, 12, money, "Volumes per hour by namespace", "A claim belongs to its namespace, whether it is mounted or not.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(resource("pv"), perNamespace...), ofNamespaces),
			show(areas, 12, money, "Unmounted volumes per hour by namespace", "__unmounted__ are volumes without a claim.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(unmounted, perNamespace...)+" > 0", ofNamespaces),
			show(areas, 12, money, "Traffic per hour by namespace", "Egress, as far as it is measured by destination.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(resource("network"), perNamespace...), ofNamespaces),
			show(areas, 12, money, "Traffic per hour by where it goes, at list prices", "To other zones, other regions and the internet, of the whole cluster.").
				value(sumBy(traffic, trafficLabels...), "{{cluster}} {{traffic}}"),
			show(areas, 12, money, "Load balancers per hour by namespace", "Divided over the pods behind each.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(resource("load_balancer"), perNamespace...), ofNamespaces),
			show(columns, 12, money, "All volumes", "The 100 that cost most.").
				value(top(100, volumes), "Per hour"),
			show(columns, 12, money, "All load balancers", "The 100 that cost most.").
				value(top(100, balancers), "Per hour"),
		},
	}
}

// rightSizing is the dashboard of resources that were requested and not used.
func rightSizing() board {
	only := func(resource string) string {
		return once(perNamespace, "promcost_namespace_efficiency_ratio", and(ofNamespace, `resource="`+resource+`"`))
	}
	return board{
		uid: "promcost-efficiency", title: "promcost / Efficiency and right-sizing", from: "7d", step: costStep,
		help:      "What workloads used of what they requested, and what the rest costs. Efficiency is weighted by cost; 1 is all of it, more is a burst above requests.",
		variables: []variable{clusterVariable, namespaceVariable},
		panels: []panel{
			show(number, 6, ratio, "Efficiency of requests", "CPU and memory used over requested, weighted by cost.").
				value(efficiency(), ""),
			show(number, 6, money, "Requested, not used, per hour", "Cost of the requests that lay unused in the last closed hour. Lowering requests frees it for others; it is saved once nodes go.").
				value("sum("+unusedCost+")", ""),
			show(number, 6, money, "The same per month", "For a month of 730 hours.").
				value("730 * sum("+unusedCost+")", ""),
			show(number, 6, money, "Idle on top, per hour", "What nodes have and nobody requested: see Nodes and idle.").
				value("sum("+idleHourly+")", ""),
			show(lines, 12, ratio, "Efficiency by namespace", "Weighted by cost.").linked(toNamespaces, whyOfNamespace).
				value(efficiency(perNamespace...), ofNamespaces),
			show(areas, 12, money, "Requested, not used, per hour by namespace", "Where lowering requests pays.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(unusedCost, perNamespace...), ofNamespaces),
			show(columns, 24, money, "Namespaces to look at", "The most to gain first. What nobody measures has no efficiency.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(unusedCost, perNamespace...), "Not used per hour").
				value(sumBy(measuredCost, perNamespace...), "CPU and memory per hour").
				column(efficiency(perNamespace...), "Efficiency", ratio).
				column(only("cpu"), "CPU", ratio).
				column(only("ram"), "Memory", ratio).
				column(only("gpu"), "GPU", ratio),
			show(areas, 24, money, "Requested, not used, per hour by resource", "Memory is what usually limits how far nodes can be filled.").
				value(sumBy(unusedCost, "resource"), "{{resource}}"),
		},
	}
}

// budgets is about the budgets of the config.
func budgets() board {
	of := `budget=~"$budget"`
	limit := once(budgetLabels, "promcost_budget_limit", of)
	spent := once(budgetLabels, "promcost_budget_spent", of)
	expected := once(budgetLabels, "promcost_budget_forecast", of)
	name := "{{budget}} ({{period}})"
	return board{
		uid: "promcost-budgets", title: "promcost / Budgets", from: "30d", step: costStep, costs: asBudgets,
		help:      "The budgets of the config file: what was spent of each in its period, and what it will come to.",
		variables: []variable{clusterVariable, budgetVariable},
		panels: []panel{
			show(bars, 12, ratio, "Spent", "Part of the limit that is spent.").
				value(spent+" / "+limit, name),
			show(bars, 12, ratio, "Forecast", "Part of the limit that will be spent when the period ends, as things go.").
				value(expected+" / "+limit, name),
			show(columns, 24, money, "All budgets", "In the current period of each.").
				value(spent, "Spent").
				value(expected, "Forecast").
				value(limit, "Limit").
				value(limit+" - "+spent, "Left").
				column(spent+" / "+limit, "Spent part", ratio).
				column("time() - "+once(budgetLabels, "promcost_budget_billed_until_timestamp_seconds", of), "At list prices for the last", seconds),
			show(lines, 12, money, "Spent over time", "It falls to zero when a period begins.").
				value(spent, name).
				value(limit, name+" limit"),
			show(lines, 12, money, "Forecast over time", "Jumpy at the start of a period, when little is known.").
				value(expected, name).
				value(limit, name+" limit"),
		},
	}
}

// itself is the dashboard of promcost's own health. promcost's own API has the last two hours of its data; a Prometheus that scrapes
// promcost has all of them.
func itself() board {
	perSecond := func(metric string, labels ...string) string {
		return sumBy("rate("+metric+"{"+ofInstance+"}[$__rate_interval])", labels...)
	}
	value := func(metric string) string { return metric + "{" + ofInstance + "}" }
	return board{
		uid: "promcost-itself", title: "promcost / promcost itself", from: "2h", step: "15s", costs: listPrices,
		help:      "Whether promcost keeps up, what it asks of its source, and how exact its numbers are. promcost's own API knows the last two hours, a Prometheus that scrapes it as much as it keeps.",
		variables: []variable{clusterVariable, instanceVariable},
		panels: []panel{
			show(number, 6, seconds, "Age of the last complete hour", "10 to 70 minutes is as it should be.").
				value("time() - max by (instance) ("+value("promcost_last_complete_set_timestamp_seconds")+")", "{{instance}}"),
			show(number, 6, seconds, "Since the last success", "Of any computation, of the hour or on request.").
				value("time() - max by (instance) ("+value("promcost_computation_last_success_timestamp_seconds")+")", "{{instance}}"),
			show(number, 6, count, "Series dropped", "By the caps of collectors, since the start. promcost's own API drops none.").
				value("sum("+value("promcost_series_dropped_total")+") or vector(0)", ""),
			show(number, 6, count, "Configuration in use", "1: the last reading of it succeeded; 0: it did not, and the one before is in use.").
				value("min by (instance) ("+value("promcost_config_last_reload_successful")+")", "{{instance}}"),
			show(columns, 12, count, "Versions", "What is running.").
				value("max by (instance, version, goversion) ("+value("promcost_build_info")+")", "Running"),
			show(columns, 12, seconds, "Prices", "Where prices come from, and how old they are.").
				value("max by (instance, source) ("+value("promcost_price_age_seconds")+")", "Age").
				column("max by (instance, kind, source, currency) ("+value("promcost_price_info")+")", "Used", count),
			show(lines, 12, rate, "Computations", "How many a second, and how many of them failed.").
				value(perSecond("promcost_computation_duration_seconds_count", "instance"), "{{instance}}").
				value(perSecond("promcost_computation_errors_total", "instance"), "{{instance}} failed"),
			show(lines, 12, ratio, "Computing", "Part of the time that is spent computing; more than 1 where several run at a time.").
				value(perSecond("promcost_computation_duration_seconds_sum", "instance"), "{{instance}}"),
			show(lines, 12, count, "Hours and days in the history", "Missing are closed hours that are still to be computed: ever fewer, then none.").
				value("max by (instance, length) ("+value("promcost_store_sets")+")", "{{instance}} {{length}}").
				value("max by (instance) ("+value("promcost_store_missing_sets")+")", "{{instance}} missing"),
			show(lines, 12, "bytes", "Size of the history", "Of the files of these hours and days.").
				value("max by (instance) ("+value("promcost_store_bytes")+")", "{{instance}}"),
			show(lines, 12, rate, "Requests to the source", "What promcost asks of the Prometheus that it reads.").
				value(perSecond("promcost_source_requests_total", "source"), "{{source}}").
				value(perSecond("promcost_source_errors_total", "source"), "{{source}} failed"),
			show(lines, 12, rate, "Samples read from the source", "A second.").
				value(perSecond("promcost_source_samples_total", "source"), "{{source}}"),
			show(lines, 12, "Bps", "Bytes read from the source", "A second.").
				value(perSecond("promcost_source_bytes_total", "source"), "{{source}}"),
			show(lines, 12, rate, "Requests answered", "Over HTTP, by route.").
				value(perSecond("promcost_http_requests_total", "handler", "code"), "{{handler}} {{code}}"),
			show(lines, 12, "bytes", "Memory", "Resident memory of the process.").
				value("process_resident_memory_bytes{"+ofInstance+"} and on (job, instance) promcost_build_info", "{{instance}}"),
			show(lines, 12, ratio, "Processor", "Cores in use.").
				value("rate(process_cpu_seconds_total{"+ofInstance+"}[$__rate_interval]) and on (job, instance) promcost_build_info", "{{instance}}"),
			show(lines, 12, money, "Residual", "What allocations and idle miss of the cost of nodes, an hour. 0 is as it should be.").
				value(sumBy(once(residualLabels, "promcost_reconciliation_residual", ofCluster), "cluster", "resource"), "{{cluster}} {{resource}}"),
			show(columns, 12, ratio, "Error bounds", "For pods that ran so long, at the resolution of the hourly costs.").tall(8).
				value("max by (instance, running, bound) ("+value("promcost_error_bound_ratio")+")", "Counted time over true time"),
		},
	}
}
