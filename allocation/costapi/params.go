package costapi

import (
	"fmt"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// Parameter describes a parameter for documentation.
type Parameter struct {
	Name    string
	Aliases []string
	Type    string // boolean, duration, …, or its values separated by |
	Default string // "" means none
	Help    string
	// Ignored parameters are accepted because clients of the peers send them, and have no effect.
	Ignored bool
}

// Parameters are the parameters that a path takes, in the order of the documentation; none for other paths.
func Parameters(path string) []Parameter {
	var list []Parameter
	for _, rt := range routes() {
		if rt.path != path {
			continue
		}
		for _, p := range params() {
			if p.on&rt.endpoint != 0 {
				list = append(list, Parameter{p.name, p.aliases, p.kind, p.def[rt.family], p.help, p.parse == nil})
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
	def     [numFamilies]string // on Kubecost's and on OpenCost's paths
	on      endpoint
	help    string
	parse   func(q *request, value string) error // gets no empty value; nil where the parameter is ignored
}

// both is a default that both families have.
func both(value string) [numFamilies]string { return [numFamilies]string{value, value} }

// params is the table of parameters: all that the API knows. A parameter that is not there yet stands with the values that
// have no effect.
func params() []param {
	const everywhere = allocations | assets
	hour := [numFamilies]string{kubecost: "1h"}
	none := both("")
	no := both("false")
	rows := []param{
		{"window", nil, "window", none, everywhere, "What time (required): today, yesterday, week, month, lastweek, lastmonth; 30m, 12h, 7d, 2w, also with \" offset 1d\"; two RFC 3339 times, dates or Unix seconds with a comma.", setText(func(q *request) *string { return &q.window })},
		{"window", nil, "window", hour, diagnosis, "What time to look at.", setText(func(q *request) *string { return &q.window })},
		{"resolution", nil, "duration|exact", both("1m"), everywhere, "Distance of the grid that running and requests are sampled on; exact uses every sample.", parseResolution},
		{"maxError", nil, "number", none, everywhere, "In place of resolution: how far the running time of a container may be off, such as 0.05. The resolution is then the longest divisor of an hour that keeps to it, and exact where that is below the scrape interval.", parseMaxError},
		{"minDuration", nil, "duration", both("10m"), everywhere, "How long a container has to run for maxError to hold for it.", parseMinDuration},
		{"step", nil, "duration|hour|day|week", none, everywhere, "Length of a set, cut backward from the window's end; without it the window is one set.", parseStep},
		{"accumulate", nil, "boolean|all|none", no, everywhere, "Sum all sets into one.", parseAccumulate},
		{"accumulateBy", nil, "all|none", none, allocations, "The same as accumulate, and wins over it.", parseAccumulateBy},
		{"aggregate", nil, "fields", none, allocations, "What rows are merged by: a comma list of " + strings.Join(allocation.KeyNames(), ", ") + "; empty is one row a container.", parseAggregate},
		{"filter", nil, "filter", none, allocations, `Which workloads, in the v2 language: namespace:"web"+label[app]!:"redis".`, parseFilter},
		{"filter", nil, "filter", none, assets, `Which assets; only assetType:"node" for now, which is all there is.`, only("only nodes are there", isNodeFilter)},
		{"idle", []string{"includeIdle"}, "boolean", [numFamilies]string{kubecost: "true", openCost: "false"}, allocations, "Include what nodes cost and nobody was allocated as __idle__.", setBool(func(q *request) *bool { return &q.options.Idle })},
		{"idleByNode", nil, "boolean", no, allocations, "Keep idle per node, else per cluster.", setBool(func(q *request) *bool { return &q.options.IdleByNode })},
		{"splitIdle", nil, "boolean", no, allocations, "Name idle <cluster>/__idle__, or <cluster>/<node>/__idle__ with idleByNode.", setBool(func(q *request) *bool { return &q.options.SplitIdle })},
		{"format", nil, "json|csv", both("json"), allocations, "csv implies accumulate.", setWord(func(q *request) *string { return &q.format }, "json", "csv")},
		{"format", nil, "json", both("json"), assets, "Format of the answer.", setWord(func(q *request) *string { return &q.format }, "json")},
		{"explain", nil, "boolean", no, everywhere, "Say in the answer, as explain, what was read for it: sources, requests, samples, timings, and which metric served which input of which cluster.", setBool(func(q *request) *bool { return &q.explain })},
		{"labelNames", nil, "pair|value", [numFamilies]string{kubecost: "pair", openCost: "value"}, allocations, "Name results of labels app=redis or redis.", parseLabelNames},
		{"propertyNames", nil, "plural|singular", both("plural"), allocations, "Call the properties labels, annotations and services, or label, annotation and service.", parsePropertyNames},
		{"includeAggregatedMetadata", nil, "boolean", no, allocations, "Keep the labels and annotations that all merged rows of a namespace have in common.", setBool(func(q *request) *bool { return &q.options.AggregatedMetadata })},
		{"shareIdle", nil, "false", no, allocations, "Sharing idle is not there yet. Without idle there is nothing to share, and OpenCost's paths take any value.", parseShareIdle},
		{"reconcile", nil, "boolean", both("true"), allocations, "Without bills this changes nothing.", checkBool},
		{"external", nil, "boolean", no, allocations, "Without bills this adds nothing.", checkBool},
		{"shareTenancyCosts", nil, "boolean", both("true"), allocations, "Without costs of cluster management and disks this changes nothing.", checkBool},
		{"shareSplit", nil, "weighted|even", both("weighted"), allocations, "Without shared costs this changes nothing.", func(_ *request, value string) error { return oneOf(value, "weighted", "even") }},
		{"includeSharedCostBreakdown", nil, "boolean", both("true"), allocations, "Without shared costs this changes nothing.", checkBool},
		{"disableAdjustments", nil, "boolean", no, assets, "Without bills this changes nothing.", checkBool},
		{"filterTypes", nil, "node", none, assets, "Only nodes are there for now.", only("only nodes are there", isNode)},
		{"aggregate", nil, "", none, assets, "Aggregating assets is not there yet.", only("assets are not aggregated", nil)},
	}
	return append(append(rows, laterParams()...), ignoredParams()...)
}

// laterParams are the parameters of later versions: only values that change nothing are accepted.
func laterParams() []param {
	var rows []param
	add := func(on endpoint, instead string, names ...string) {
		for _, name := range names {
			rows = append(rows, param{name: name, on: on, help: "Not there yet: " + instead + ".", parse: only(instead, nil)})
		}
	}
	add(allocations, "sharing is not done", "share", "shareNamespaces", "shareLabels")
	add(allocations|assets, "evaluate the answer with a tool of your own", "jmespath", "fields")
	add(allocations|assets, "use filter", "fieldSelector", "labelSelector")
	for _, f := range v1Filters {
		rows = append(rows, param{name: f.name, on: allocations, help: "Not there yet: use filter.", parse: f.refuse})
	}
	add(assets, "select from the answer", "filterNames", "filterClusters", "filterCategories", "filterProviders",
		"filterProviderIDs", "filterAccounts", "filterProjects", "filterServices", "filterLabels", "filterRegions")
	for _, p := range []struct {
		name, harmless, instead string
		on                      endpoint
	}{
		{"shareCost", "0", "sharing is not done", allocations},
		{"offset", "0", "the answer has all rows", allocations | assets},
		{"limit", "0", "the answer has all rows", allocations | assets},
		{"includeProportionalAssetResourceCosts", "false", "divide by the costs of /model/assets", allocations},
		{"sharelb", "false", "sharing is not done", allocations},
		{"costMetric", "cumulative", "divide by the window's length", allocations},
		{"costUnit", "cumulative", "divide by the window's length", allocations},
	} {
		rows = append(rows, param{name: p.name, kind: p.harmless, def: both(p.harmless), on: p.on, help: "Not there yet: " + p.instead + ".", parse: only(p.instead, isHarmless(p.harmless))})
	}
	return rows
}

// ignoredParams are what clients of the peers send, and what has no effect on these paths there, either. sortBy and
// sortByOrder order pages, and answers are maps.
func ignoredParams() []param {
	var rows []param
	for _, name := range []string{"_", "tenantId", "title", "chartDisplay", "rate", "sortBy", "sortByOrder", "names", "field", "search"} {
		rows = append(rows, param{name: name, on: allocations | assets, help: "Accepted and ignored."})
	}
	return rows
}

// v1Filters are Kubecost's first filters, and how the same is said in the second language.
var v1Filters = []v1Filter{
	{"filterClusters", "cluster"},
	{"filterNodes", "node"},
	{"filterNamespaces", "namespace"},
	{"filterControllerKinds", "controllerKind"},
	{"filterControllers", "controllerName"},
	{"filterPods", "pod"},
	{"filterContainers", "container"},
	{"filterServices", "services"},
	{"filterLabels", "label[…]"},
	{"filterAnnotations", "annotation[…]"},
	{"filterDepartments", "label[department]"},
	{"filterEnvironments", "label[env]"},
	{"filterOwners", "label[owner]"},
	{"filterProducts", "label[app]"},
	{"filterTeams", "label[team]"},
}

// v1Filter is one of v1Filters.
type v1Filter struct{ name, field string }

// refuse names the filter of the second language.
func (f v1Filter) refuse(_ *request, value string) error {
	values := strings.ReplaceAll(value, ",", `","`)
	return fmt.Errorf("not there yet in this version: use filter=%s:\"%s\", with %%22 for the quotes in a URL", f.field, values)
}
