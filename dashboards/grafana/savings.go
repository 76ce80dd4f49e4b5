package grafana

// savings is the dashboard of what could cost less, and of what containers should request.
func savings() board {
	requests := func(resource string) string {
		return once(requestLabels, "promcost_recommended_request", and(ofNamespace, `resource="`+resource+`"`))
	}
	unmounted := once(controllerLabels, "promcost_controller_"+chosen, and(ofNamespace, `controller="__unmounted__", resource="pv"`))
	perContainer := requestLabels[:len(requestLabels)-1] // without the resource
	const wants = " Wants --collector.recommended where promcost is scraped."
	return board{
		uid: "promcost-savings", title: "promcost / Savings", from: "7d", step: costStep,
		help:      "What is paid for and not used, and what containers should request. Lower requests become idle until nodes shrink; \"promcost query savings\" says what each saves and risks.",
		variables: []variable{clusterVariable, namespaceVariable},
		panels: []panel{
			show(number, 8, money, "Requested, not used, per month", "For a month of 730 hours, at the rate of the last closed hour.").
				value("730 * sum("+unusedCost+")", ""),
			show(number, 8, money, "Idle per month", "What nodes have and nobody requested.").
				value("730 * sum("+idleHourly+")", ""),
			show(number, 8, money, "Volumes that no pod mounts, per month", "Delete them, or know why not.").
				value("730 * sum("+unmounted+") or vector(0)", ""),
			show(areas, 12, money, "Requested, not used, per hour by namespace", "Where lower requests pay.").linked(toNamespaces, whyOfNamespace).
				value(sumBy(unusedCost, perNamespace...), ofNamespaces),
			show(areas, 12, money, "Idle per hour by cluster", "It grows as requests shrink, until nodes go.").
				value(sumBy(idleHourly, "cluster"), "{{cluster}}"),
			show(columns, 12, count, "CPU that containers should request", "Cores of one replica, by the profile balanced over the last 14 days; the 100 largest."+wants).linked(toNamespaces).
				value(top(100, sumBy(requests("cpu"), perContainer...)), "Cores"),
			show(columns, 12, "bytes", "Memory that containers should request", "Bytes of one replica, by the profile balanced over the last 14 days; the 100 largest."+wants).linked(toNamespaces).
				value(top(100, sumBy(requests("ram"), perContainer...)), "Bytes"),
		},
	}
}
