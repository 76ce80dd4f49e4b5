package costapi

import (
	"github.com/promcost/promcost/allocation/filter"
)

// Parameter describes a parameter for documentation.
type Parameter struct {
	Name    string
	Aliases []string
	Type    string // boolean, duration, …, or its values separated by |
	Default string // "" means none
	Help    string
	// Ignored parameters have no effect. They are accepted because clients of Kubecost and OpenCost send them.
	Ignored bool
	Group   string // heading in the documentation
}

// Parameters are the parameters that a path takes, in the order of the documentation; none for other paths.
func Parameters(path string) []Parameter {
	var list []Parameter
	for _, rt := range routes() {
		if rt.path != path {
			continue
		}
		for _, g := range paramGroups() {
			for _, p := range g.params {
				if p.on&rt.endpoint != 0 {
					list = append(list, Parameter{p.name, p.aliases, p.kind, p.def[rt.family], p.help, p.parse == nil, g.title})
				}
			}
		}
	}
	return list
}

// param is a row of the table of parameters.
type param struct {
	name    string
	aliases []string
	kind    string
	def     defaults
	on      endpoint
	help    string
	parse   func(q *request, value string) error // gets no empty value; nil if the parameter is ignored
}

// defaults are the values of a parameter that is not given, by family.
type defaults [numFamilies]string

// all is the same default for all families.
func all(value string) defaults { return defaults{value, value, value} }

// paramGroup is the parameters below a heading of the documentation.
type paramGroup struct {
	title  string
	params []param
}

// paramGroups is the table of all parameters of the API, by headings.
func paramGroups() []paramGroup {
	return []paramGroup{
		{"Window and resolution", timeParams()},
		{"Rows and idle", rowParams()},
		{"Sharing", shareParams()},
		{"Allocation filters", filterParams()},
		{"Form of the answer", answerParams()},
		{"Asset parameters", assetParams()},
		{"Selectors", selectorParams()},
		{"Bill parameters", cloudParams()},
		{"Savings parameters", savingParams()},
		{"Prediction parameters", predictionParams()},
		{"Right-sizing parameters", sizingParams()},
		{"Others", otherParams()},
		{"Ignored", ignoredParams()},
	}
}

// params are the parameters of all groups.
func params() []param {
	var list []param
	for _, g := range paramGroups() {
		list = append(list, g.params...)
	}
	return list
}

// Groups of endpoints that share parameters.
const (
	sizings     = kubecostSizes | requestSizes | backtests                                              // endpoints about requests
	merged      = allocations | summaries | toplines | trends | changes                                 // endpoints that merge rows as they are asked to
	savingLists = unclaimedVolumes | abandonedWorkloads | idleGPUs                                      // endpoints about what could cost less
	results     = merged | anomalies | forecasts                                                        // endpoints that run the passes, except for ACK's
	selected    = results | completions | savingLists | savingOverviews | sizings                       // endpoints that filter allocations
	served      = assetLists | assetMaps                                                                // endpoints that answer with assets
	listed      = served | assetToplines | assetCompletions | assetDiffs | assetForecasts | nodeSavings // endpoints that filter assets
	computed    = selected | listed | ackAllocations                                                    // endpoints that ask the ledger
	forecasting = forecasts | assetForecasts                                                            // endpoints about time that is to come
	judging     = anomalies | forecasting                                                               // endpoints about expected costs, of days
	clouds      = cloudCosts | cloudViews | cloudTrends                                                 // endpoints that sum lines of bills
	customs     = customTotals | customSeries                                                           // endpoints that sum lines of vendors' bills
	billed      = clouds | customs | reconciliations
	compared    = changes | assetDiffs // endpoints that compare two windows
	cloudViews  = cloudGraphs | cloudTotals | cloudTables
	stepped     = allocations | summaries | assetLists | ackAllocations
)

// timeParams choose the window, the resolution, and the sets.
func timeParams() []param {
	hour := defaults{kubecost: "1h"}
	return []param{
		{"window", nil, "window", defaults{}, computed &^ (assetDiffs | judging | savingLists | savingOverviews | nodeSavings | sizings), "What time (required): today, yesterday, week, month, lastweek, lastmonth; 30m, 12h, 7d, 2w, also with \" offset 1d\"; two RFC 3339 times, dates or Unix seconds with a comma.", setText(func(q *request) *string { return &q.timing.window })},
		{"window", nil, "window", hour, diagnoses, "What time to look at.", setText(func(q *request) *string { return &q.timing.window })},
		{"window", nil, "window", defaults{}, anomalies, "Which days (required), in the forms of window elsewhere: all that it touches, up to the last full hour. The running day is compared with the same hours of others.", setText(func(q *request) *string { return &q.timing.window })},
		{"predictionWindow", nil, "duration", all("30d"), forecasting, "How many days are forecast, from the next midnight on, such as 30d, up to 366d.", parseAhead},
		{"period", nil, "day|week|month|quarter", defaults{}, forecasting, "In place of predictionWindow: what the running day, week (from Sunday), month or quarter comes to, with what it has cost so far.", parsePeriod},
		{"baseline", nil, "window", defaults{}, changes, "What the window is compared with, in the forms of window. Without it: the day, week, month or quarter before one, as much of it as has passed; else as much time before the window.", setText(func(q *request) *string { return &q.timing.baseline })},
		{"after", []string{"window"}, "window", defaults{}, assetDiffs, "The later window (required), in the forms of window.", setText(func(q *request) *string { return &q.timing.window })},
		{"before", nil, "window", defaults{}, assetDiffs, "The earlier window, in the forms of window. Without it: the day, week, month or quarter before one, as much of it as has passed; else as much time before the later one.", setText(func(q *request) *string { return &q.timing.baseline })},
		{"resolution", nil, "auto|exact|duration", all("auto"), computed &^ judging, "How finely to sample: exact uses every sample, a duration is the distance of a grid, anchored at the window's end, on which running and requests are sampled. auto is exact where TSDB blocks, streamed remote read or VictoriaMetrics' exports serve the whole window, else a grid of 1m or the scrape interval, whichever is longer. The answer names what was used.", parseResolution},
		{"maxError", nil, "number", defaults{}, computed &^ judging, "In place of resolution: how far the running time of a container may be off, such as 0.05. The resolution is then the longest divisor of an hour that keeps to it, and exact where that is below the scrape interval.", parseMaxError},
		{"minDuration", nil, "duration", all("10m"), computed &^ judging, "How long a container has to run for maxError to hold for it.", parseMinDuration},
		{"step", nil, "duration|hour|day|week|month|quarter", defaults{}, stepped, "Length of a set: a duration, cut backward from the window's end, or a word, cut where hours, days, weeks (from Sunday), months or quarters of the time zone begin; without it the window is one set. 1d is 24 hours, but on /v2/allocation a day of the time zone, as 1w is 7 of them. Stored sets, those of paths below /model without compute, are days (hours in a duration under 24h): there it is 1h or 1d.", parseStep},
		{"accumulate", nil, "boolean|hour|day|week|month|quarter|all|none", all("false"), allocations | summaries, "Sum all sets into one, or those of each hour, day, week (from Sunday), month or quarter of the time zone. Without a step, the window is cut there.", parseAccumulate},
		{"accumulate", nil, "boolean|hour|day|week|month|quarter|all|none", all("false"), assetLists, "Sum all sets into one, or those of each hour, day, week (from Sunday), month or quarter of the time zone.", parseAccumulate},
		{"accumulateBy", nil, "hour|day|week|month|quarter|all|none", defaults{}, allocations | summaries, "The same as accumulate, and wins over it.", parseAccumulateBy},
	}
}

// filterParams select allocations.
func filterParams() []param {
	list := []param{
		{"filter", nil, "filter", defaults{}, selected | ackAllocations, `Which workloads, in the v2 language: namespace:"web"+label[app]!:"redis". It selects before anything is merged, and never changes what one workload pays.`, parseFilter},
	}
	for _, f := range filter.V1Filters() {
		list = append(list, param{f.Name, nil, "list", defaults{}, selected, "Comma list of " + f.What + ". One of them must match; a trailing * matches any rest. Ignored if filter is given.", addV1(f.Name)})
	}
	return list
}

// selectorParams select allocations by the selectors of Kubernetes, in addition to other filters.
func selectorParams() []param {
	const and = " Both hold besides filter and v1 filters, before anything is merged."
	return []param{
		{"fieldSelector", nil, "field selector", defaults{}, selected | listed | ackAllocations, "Which objects, by their fields: spec.node=n1,metadata.namespace!=kube-system. /openapi.json lists the fields; the configuration may declare more." + and, setText(func(q *request) *string { return &q.selection.fieldSelector })},
		{"labelSelector", nil, "label selector", defaults{}, selected | listed | ackAllocations, "Which objects, by their labels: app=web,tier in (a,b),!canary; keys raw or as Prometheus writes them." + and, setText(func(q *request) *string { return &q.selection.labelSelector })},
	}
}

// otherParams are the parameters of single endpoints.
func otherParams() []param {
	return []param{
		{"threshold", nil, "number", all("4"), anomalies, "The score from which on a cost is unusual, above or below what is expected.", parseThreshold},
		{"names", nil, "list", defaults{}, trends, "Comma list of the results whose trends are asked for (required).", parseNames},
		{"names", nil, "list", defaults{}, cloudTrends, "Comma list of the rows whose trends are asked for; all without it.", parseNames},
		{"field", nil, "field", defaults{}, completions, "What values are asked for (required): " + fieldNames(completionFields()) + ", or label:<name>, namespaceLabel:<name> for the values of a label, an alias such as team, or a derived property of the configuration; in any case.", parseField(completionFields())},
		{"field", nil, "field", defaults{}, assetCompletions, "What values are asked for (required): " + fieldNames(assetCompletionFields()) + ", or label:<name> for the values of a label; in any case.", parseField(assetCompletionFields())},
		{"search", nil, "text", defaults{}, completions | assetCompletions, "Only values that contain this, in any case.", setText(func(q *request) *string { return &q.search.text })},
		{"limit", nil, "number", all("100"), completions | assetCompletions, "Most values given, at most 1000.", parseValueLimit},
		{"aggregate", nil, "namespace|controller|controllerKind|pod", defaults{ackFamily: "pod"}, ackAllocations, "What rows are merged by; ACK has no other fields, and properties of the configuration are for the other paths.", parseACKAggregate},
		{"format", nil, "json|csv", all("json"), ackAllocations, "Format of the answer. CSV has the rows of all sets.", setWord(func(q *request) *string { return &q.output.format }, "json", "csv")},
	}
}

// ignoredParams are parameters that clients of Kubecost and OpenCost send, and that have no effect on these paths there, either.
func ignoredParams() []param {
	var list []param
	add := func(on endpoint, names ...string) {
		for _, name := range names {
			list = append(list, param{name: name, on: on, help: "Accepted and ignored."})
		}
	}
	add(computed|predictions|billed|facts, "_", "tenantId", "title", "chartDisplay", "chartType", "rate", "metrics")
	add(listed, "idle", "includeIdle")
	add(assetMaps, "accumulate", "step")
	add(cloudCosts|cloudGraphs|cloudTotals|cloudTrends, "limit", "offset", "sortBy", "sortByOrder")
	add(computed&^trends|(clouds&^cloudTrends), "names")
	add(computed&^(completions|assetCompletions), "field", "search")
	return list
}
