package costapi

import (
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
)

// rowParams choose the rows of the answer and what happens to idle.
func rowParams() []param {
	option := func(field func(*passes.Options) *bool) func(*request, string) error {
		return setBool(func(q *request) *bool { return field(&q.options) })
	}
	return []param{
		{"aggregate", nil, "fields", all("namespace"), anomalies | forecasts, "What is judged by itself: a comma list as of /model/allocation. Medians do not add.", parseJudged(parseAggregate)},
		{"aggregate", nil, "fields", defaults{}, merged, "What rows are merged by: a comma list of " + strings.Join(allocation.KeyNames(), ", ") + "; empty is one row a container.", parseAggregate},
		{"drill", nil, "field", defaults{}, changes, "A field as of aggregate: each row has, as parts, the ten of its values that changed most.", parseDrill},
		{"idle", []string{"includeIdle"}, "boolean", defaults{kubecost: "true", openCost: "false"}, results, "Include what nodes cost and nobody was allocated as __idle__.", option(func(o *passes.Options) *bool { return &o.Idle })},
		{"idleByNode", nil, "boolean", all("false"), results, "Keep idle per node, else per cluster. The default is true where aggregate has nodePool: idle is then named <pool>/__idle__.", option(func(o *passes.Options) *bool { return &o.IdleByNode })},
		{"splitIdle", nil, "boolean", all("false"), results, "Name idle <cluster>/__idle__, or with idleByNode <cluster>/<node>/__idle__, <cluster>/<pool>/__idle__ by nodePool. Beside shareIdle there is nothing left to split.", option(func(o *passes.Options) *bool { return &o.SplitIdle })},
		{"shareIdle", nil, "boolean|weighted|even", all("false"), results, "Give idle to the rows of its cluster (of its node with idleByNode), by resource: true or weighted by what they cost of it, even equally. What nobody can take stays __idle__, also with idle=false. OpenCost's paths share idle only where it is included.", parseShareIdle},
		{"labelNames", nil, "pair|value", defaults{kubecost: "pair", openCost: "value"}, results, "Name results of labels app=redis or redis.", parseLabelNames},
		{"propertyNames", nil, "plural|singular", all("plural"), allocations, "Call the properties labels, annotations and services, or label, annotation and service.", parsePropertyNames},
		{"includeAggregatedMetadata", nil, "boolean", all("false"), results, "Keep the labels and annotations that all merged rows of a namespace have in common.", option(func(o *passes.Options) *bool { return &o.AggregatedMetadata })},
		{"includeProportionalAssetResourceCosts", nil, "boolean", all("false"), allocations, "Say what part of each asset's cost a row is. Needs idle.", option(func(o *passes.Options) *bool { return &o.Proportions })},
		{"reconcile", nil, "boolean", all("true"), results | predictions, "Correct costs by what bills say, as adjustments. Without bills this changes nothing.", setBool(func(q *request) *bool { return &q.reconcile })},
		{"unbilled", nil, "list|estimate", all("list"), (results | savingLists | nodeSavings | predictions | served | assetToplines | assetDiffs | ackAllocations) &^ judging, "What no bill charges, or not yet: its list price, or what bills charged in proportion to list prices on their last 7 days, for nodes of the same cluster, instance type and spot, and the like. Without bills this changes nothing.", setWord(func(q *request) *string { return &q.unbilled }, "list", "estimate")},
		{"unbilled", nil, "list|estimate", all("estimate"), judging, "What no bill charges, or not yet: its list price, or as bills charged the like lately. At list price, days that are not billed yet would be unusual.", setWord(func(q *request) *string { return &q.unbilled }, "list", "estimate")},
		{"external", nil, "boolean", all("false"), results, "Add the costs outside of clusters that bills have. Without bills this adds nothing.", option(func(o *passes.Options) *bool { return &o.External })},
	}
}

// shareParams choose the costs that are shared.
func shareParams() []param {
	option := func(field func(*passes.Options) *bool) func(*request, string) error {
		return setBool(func(q *request) *bool { return field(&q.options) })
	}
	return []param{
		{"shareNamespaces", nil, "list", defaults{}, results, "Comma list of namespaces whose cost the other results bear; a * at the end of one stands for any rest. A comma alone shares none where the configuration has some.", addShares("shareNamespaces")},
		{"shareLabels", nil, "list", defaults{}, results, "Comma list of labels as name:value; what has one of them is shared. A comma alone shares none where the configuration has some.", addShares("shareLabels")},
		{"share", nil, "filter", defaults{}, results, "What is shared, as a filter in the v2 language.", parseShare},
		{"shareCost", nil, "number", all("0"), results, "A further cost to share, in currency a month of 730 hours.", parseShareCost},
		{"shareSplit", nil, "weighted|even", all("weighted"), results, "Share by what results cost before idle, or equally.", parseShareSplit},
		{"shareTenancyCosts", nil, "boolean", defaults{kubecost: "true", openCost: "false"}, results, "Also share control-plane and node-disk costs: management fees over the cluster, disks attached to a node over the node, by usage hours. Without it, no allocation has these costs.", option(func(o *passes.Options) *bool { return &o.ShareTenancy })},
		{"sharelb", nil, "boolean", all("false"), results, "Share what load balancers cost, too, instead of leaving it with their pods.", option(func(o *passes.Options) *bool { return &o.ShareLoadBalancers })},
		{"includeSharedCostBreakdown", nil, "boolean", all("true"), results, "Say what shared costs are made of.", option(func(o *passes.Options) *bool { return &o.SharedBreakdown })},
	}
}

// answerParams choose how rows are written.
func answerParams() []param {
	paged := allocations | summaries | served | ackAllocations
	word := func(field func(*request) *string, words ...string) func(*request, string) error {
		return setWord(field, words...)
	}
	format := func(q *request) *string { return &q.output.format }
	return []param{
		{"format", nil, "json|csv|parquet|arrow", all("json"), allocations, "csv implies accumulate. Parquet and Arrow (an IPC stream) have a row an allocation of each set, with its window; offset, limit and sortBy are for the others, and for Arrow.", word(format, "json", "csv", "parquet", "arrow")},
		{"format", nil, "json|csv", all("json"), summaries | toplines, "Format of the answer. CSV has Kubecost's columns, and implies accumulate.", word(format, "json", "csv")},
		{"format", nil, "json", all("json"), unclaimedVolumes | idleGPUs | nodeSavings | trends | completions | assetToplines | assetCompletions | assetDiffs | judging, "Format of the answer.", word(format, "json")},
		{"format", nil, "json|csv", all("json"), changes, "Format of the answer. CSV has a line for each row and part.", word(format, "json", "csv")},
		{"csvColumns", nil, "standard|full", all("standard"), allocations, "Kubecost's columns of CSV, or all that there are.", setFullCSV},
		{"offset", nil, "number", all("0"), paged, "Rows of each set left out, the dearest first; idle rows are in any case there.", parseCount(func(q *request) *int { return &q.output.page.Offset })},
		{"limit", nil, "number", all("0"), paged, "Most rows of each set, the dearest first; 0 for all. Idle rows do not count: they stand beside each page, as Kubecost has them.", parseCount(func(q *request) *int { return &q.output.page.Limit })},
		{"offset", nil, "number", all("0"), changes, "Rows left out, those that changed most first.", parseCount(func(q *request) *int { return &q.output.page.Offset })},
		{"limit", nil, "number", all("0"), changes, "Most rows, those that changed most first; 0 for all. The total is of all.", parseCount(func(q *request) *int { return &q.output.page.Limit })},
		{"offset", nil, "number", all("0"), anomalies, "Rows left out, the most unusual first.", parseCount(func(q *request) *int { return &q.output.page.Offset })},
		{"limit", nil, "number", all("0"), anomalies, "Most rows, the most unusual first; 0 for all.", parseCount(func(q *request) *int { return &q.output.page.Limit })},
		{"costChangeRatio", nil, "number", all("0.05"), assetDiffs, "How much of its earlier cost an asset has to change to be listed as changed.", parseCostChangeRatio},
		{"sortBy", nil, "field", defaults{}, paged, "The number, or name, that rows are ordered by; totalCost where offset or limit is given, else they are in the order of names.", parseSortBy},
		{"sortByOrder", nil, "desc|asc", defaults{}, paged, "desc or asc. Default: desc for numbers, asc for names.", parseSortOrder},
		{"fields", nil, "list", defaults{}, allocations | summaries | toplines | served | ackAllocations, "Comma list of the members of each row that are kept, such as name,totalCost; all without it. Of allocations, also containers, cpuThrottledShare and oomKills, which only this shows.", parseFields},
		{"usageQuantiles", nil, "boolean", all("false"), allocations, "Add quantiles of the usage of CPU and memory to the rows: " + strings.Join(encode.QuantileMembers(), ", ") + ". They are null where the usage levels of a row are not stored.", setBool(func(q *request) *bool { return &q.output.quantiles })},
		{"jmespath", nil, "expression", defaults{}, computed | predictions | billed | diagnoses | facts, "An expression of JMESPath, in Kyverno's dialect, over data, whose result takes its place: [0].*.[name,totalCost] or length(@[0]). fields applies before it, and CSV has no data to evaluate over.", parseJMESPath},
		{"nulls", nil, "boolean", all("false"), allocations | summaries | toplines, "Write usage and efficiency of rows of which nothing is known as null (empty in CSV), in place of 0, which clients of Kubecost and OpenCost need. Parquet and Arrow have null in any case.", setBool(func(q *request) *bool { return &q.output.nulls })},
		{"costMetric", []string{"costUnit"}, "cumulative|hourly|daily|weekly|monthly|yearly", all("cumulative"), allocations | summaries | toplines, "Costs of the window, or of an hour, 24, 168, 730 or 8760 hours at the mean rate of the hours of the window that have data.", parseCostMetric},
		{"explain", nil, "boolean", all("false"), computed &^ (completions | assetCompletions), "Say in the answer, as explain, what was read for it: sources, requests, samples, timings, and which metric served which input of which cluster.", setBool(func(q *request) *bool { return &q.output.explain })},
	}
}
