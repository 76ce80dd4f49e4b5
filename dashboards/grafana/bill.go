package grafana

// bill is the dashboard of what bills say. Only promcost's own API has billed costs of each hour: /metrics shows the last closed hour,
// which no bill charges yet.
func bill() board {
	const beyond = " Wants promcost itself as the data source, and ends where the final charges of bills end."
	cloud := once(cloudLabels, "promcost_cloud_cost", "")
	listToBill := once(nodeTypeLabels, "promcost_list_to_bill_ratio", ofCluster)
	matched := "max by (bill) (promcost_bill_matched_ratio)"
	until := "max by (bill) (promcost_bill_charged_until_timestamp_seconds)"
	of := func(labels []string, subject string) string {
		return once(labels, "promcost_"+subject+"_"+billed, ofCluster)
	}
	namespaces, idle, nodes := of(namespaceLabels, "namespace"), of(idleLabels, "idle"), of(nodeLabels, "node")
	return board{
		uid: "promcost-bill", title: "promcost / Bill", from: "7d", step: costStep, costs: byBill,
		help:      "What bills charge, which part of it clusters explain, and how far list prices are off.",
		variables: []variable{clusterVariable},
		panels: []panel{
			show(number, 6, money, "All bills, yesterday", "Clusters among it. A bill that has not charged all of yesterday yet does not count.").
				value("sum("+cloud+")", ""),
			show(number, 6, money, "Outside of machines, disks and networks", "What of it has the category Other: databases, buckets, software, tax and credits.").
				value("sum("+once(cloudLabels, "promcost_cloud_cost", `category="Other"`)+")", ""),
			show(number, 6, ratio, "Matched", "Which part of a bill's cost assets of clusters explain, on the newest day that bills reach. \"promcost check bills\" says what is missing.").
				value(matched, "{{bill}}"),
			show(number, 6, seconds, "Age of the newest final charges", "1 to 3 days are as it should be.").
				value("time() - "+until, "{{bill}}"),
			show(areas, 12, money, "Billed cost per hour by namespace", "What workloads cost by bill, and idle."+beyond).linked(ofBilled(*toNamespaces), ofBilled(*whyOfNamespace)).
				value(sumBy(namespaces, perNamespace...), ofNamespaces).
				value(sumBy(idle, "cluster"), "{{cluster}} idle"),
			show(lines, 12, money, "Nodes by bill and at list price", "The distance is the discount."+beyond).
				value("sum("+nodes+")", "by bill").
				value("sum("+once(nodeLabels, "promcost_node_"+atList, ofCluster)+")", "at list price"),
			show(columns, 12, money, "By service, yesterday", "The 100 that cost most.").
				value(top(100, cloud), "A day"),
			show(bars, 12, money, "By category, yesterday", "The categories of OpenCost's cloud costs.").
				value(sumBy(cloud, "category"), "{{category}}"),
			show(columns, 12, ratio, "List price by bill", "What nodes cost at list price, by what they cost by bill, on the newest day that bills reach: above 1 is a discount. Below 1 the prices that promcost has are too low.").
				value(listToBill, "List / bill"),
			show(lines, 12, ratio, "Matched over time", "It falls where provider ids or accounts are missing.").
				value(matched, "{{bill}}"),
		},
	}
}
