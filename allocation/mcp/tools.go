package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// tool is a row of the table of tools.
type tool struct {
	name, help string
	schema     schema
	answer     answerer
	output     any // a value of the type that it answers with; nil for tools with OpenCost's names, whose long answers are sent as text alone
}

// rowParameters are the parameters of allocations that assistants get.
var rowParameters = []string{
	"window", "aggregate", "filter", "labelSelector", "fieldSelector", "idle", "shareIdle", "shareNamespaces", "shareLabels", "shareCost", "reconcile", "unbilled", "external", "resolution",
}

// tools are promcost's tools, then those with OpenCost's names.
func (s *server) tools() []tool {
	window := []string{"window"}
	return append([]tool{
		{
			"allocations", "What Kubernetes workloads cost in a window: by namespace, controller, pod, label:<name>, node and the like. Answers with the dearest rows, the rest as one, and the total.",
			s.schemaOf("/model/allocation", rowParameters, window, rowsArgument()), s.allocations,
			table{},
		},
		{
			"assets", "What clusters are made of, and what that costs: nodes, disks, load balancers, network, management, and cloud costs of bills.",
			s.schemaOf("/model/assets", []string{"window", "aggregate", "filter"}, window, rowsArgument()), s.assets,
			table{},
		},
		{
			"explain_change", "Why costs differ between a window and the one before, or a baseline: effects (replicas, size, placement, price, new, gone, volumes, idle, …) that add up to the change, since when, replicas, cores, GiB and prices before and after, owner and team. drill names who did it.",
			s.schemaOf("/model/allocation/change", append([]string{"baseline", "drill"}, rowParameters...), window, rowsArgument()), s.explainChange,
			table{},
		},
		{
			"anomalies", "On which days rows cost unusually much or little, compared with the same weekdays of the four weeks before, the most unusual first. explain_change with such a day as window, and its baseline, says why.",
			s.schemaOf("/model/anomalies", []string{"window", "aggregate", "filter", "threshold", "idle", "unbilled"}, window, map[string]member{
				"limit": {Type: "integer", Description: fmt.Sprintf("Most rows; count is of all. Default: %d, at most %d.", defaultRows, mostLong)},
			}), s.anomalies,
			shortAnswer[unusual]{},
		},
		{
			"forecast", "What the running day, week, month or quarter will come to, or the next days, with the 10th and 90th percentile, the dearest rows first. Medians: rows do not add up to the total.",
			s.schemaOf("/forecasting/forecast/allocation", []string{"period", "predictionWindow", "aggregate", "filter", "idle", "unbilled"}, nil, map[string]member{
				"limit": {Type: "integer", Description: fmt.Sprintf("Most rows; the total and count are of all. Default: %d, at most %d.", defaultRows, mostRows)},
			}), s.forecast,
			shortAnswer[outlook]{},
		},
		{"budgets", "The budgets of the configuration: what is spent of them, and what they will come to.", schema{Type: "object", Properties: map[string]member{}}, s.budgets, shortAnswer[budgetList]{}},
		{
			"diagnose", "Which data there is to compute costs from, cluster by cluster, and what is missing.",
			s.schemaOf("/model/diagnose", window, nil, nil), s.diagnose,
			shortAnswer[any]{},
		},
		{
			"promql", "A PromQL expression over the cost metrics, such as sum by (namespace) (promcost_namespace_hourly_cost). With start and end it is evaluated over time. The resource promcost://metrics lists the metrics.",
			promqlSchema(), s.promql,
			shortAnswer[any]{},
		},
		{
			"filter_help", "How to write filters and aggregations, and, for a filter that is given, what is wrong with it.",
			schema{Type: "object", Properties: map[string]member{"filter": {Type: "string", Description: "A filter to check."}}},
			s.filterHelp,
			map[string]string{},
		},
	}, append(s.savingTools(), s.openCostTools()...)...)
}

// savingTools are those about what could cost less.
func (s *server) savingTools() []tool {
	return []tool{
		{
			"savings", "What containers should request of CPU and memory, by how long their usage was how high: what that saves a month, and, as exceedance, for what part of the time usage was above it. Those that save most come first.",
			s.schemaOf("/model/savings/requests", []string{"window", "profile", "filter", "sortBy"}, nil, map[string]member{
				"limit": {Type: "integer", Description: fmt.Sprintf("Most containers; totals are of all. Default: %d, at most %d.", defaultRows, mostLong)},
			}), s.savings,
			shortAnswer[sizes]{},
		},
		{
			"nodes", "What pools of nodes, or single nodes, are used for and what would be paid without them: what is idle, what pods would have to run elsewhere and how much is idle there, what is paid on under commitments, and what is saved at least and at most. The dearest come first.",
			s.schemaOf("/model/savings/nodes", []string{"window", "aggregate", "filter", "unbilled"}, nil, map[string]member{
				"limit": {Type: "integer", Description: fmt.Sprintf("Most pools or nodes; sums are of all. Default: %d, at most %d.", defaultRows, mostLong)},
			}), s.nodes,
			shortAnswer[nodesWithout]{},
		},
	}
}

// promqlSchema describes the arguments of promql.
func promqlSchema() schema {
	return schema{Type: "object", Required: []string{"query"}, Properties: map[string]member{
		"query": {Type: "string", Description: "The expression. Costs are one sample an hour."},
		"time":  {Type: "string", Description: "When to evaluate: RFC 3339 or Unix seconds; now without it."},
		"start": {Type: "string", Description: "Start of a range."}, "end": {Type: "string", Description: "End of a range."},
		"step": {Type: "string", Description: "Step of a range, such as 1h or 1d."},
	}}
}

// diagnose answers with the inputs that were found, by name, and with all that is known of the others.
func (s *server) diagnose(ctx context.Context, args arguments) ([]byte, error) {
	v, err := args.parameters(asIs)
	if err != nil {
		return nil, err
	}
	v.Set("jmespath", "{window: window, complete: complete, oldest: oldest, clusters: clusters[].{cluster: cluster, scrapeInterval: scrapeInterval, found: inputs[?state == 'found'].name, others: inputs[?state != 'found']}}")
	answer, err := s.ask(ctx, "/model/diagnose", v)
	if err != nil {
		return nil, err
	}
	return short(answer.Data, answer.Warnings)
}

// promql evaluates an expression, at an instant or over a range.
func (s *server) promql(ctx context.Context, args arguments) ([]byte, error) {
	v, err := args.parameters(asIs)
	if err != nil {
		return nil, err
	}
	path := "/api/v1/query"
	if v.Get("start") != "" || v.Get("end") != "" {
		path = "/api/v1/query_range"
	}
	answer, err := s.ask(ctx, path, v)
	if err != nil {
		return nil, err
	}
	return short(answer.Data, answer.Warnings)
}

// filterHelp answers with the parameters that select and merge, and checks a filter.
func (s *server) filterHelp(ctx context.Context, args arguments) ([]byte, error) {
	help := map[string]string{"examples": filterExamples}
	for _, p := range s.cfg.Parameters("/model/allocation") {
		if slices.Contains([]string{"filter", "aggregate", "labelSelector", "fieldSelector"}, p.Name) {
			help[p.Name] = p.Help
		}
	}
	if text, _ := args["filter"].(string); text != "" {
		_, err := s.ask(ctx, "/model/allocation/summary/topline", url.Values{"window": {"1h"}, "filter": {text}})
		help["checked"] = "the filter is right"
		if err != nil {
			help["checked"] = err.Error()
		}
	}
	body, err := json.Marshal(help)
	if err != nil {
		return nil, fmt.Errorf("write the help: %w", err)
	}
	return body, nil
}

// filterExamples show the language of filters.
const filterExamples = `namespace:"web" · namespace!:"kube-system" · label[app]:"redis" · controllerKind:"deployment" + cluster:"one" (both hold) · ` +
	`namespace:"a","b" (either) · pod<~:"web-" (begins with) · label[team]~:"front" (contains) · (namespace:"a"|namespace:"b")+!(pod<~:"x")`

// openCostNames are the arguments of OpenCost's tools and what the API calls them.
var openCostNames = map[string]string{
	"window": "window", "aggregate": "aggregate", "step": "step", "accumulate": "accumulate", "share_idle": "shareIdle", "include_idle": "includeIdle", "idle_by_node": "idleByNode",
	"include_proportional_asset_resource_costs": "includeProportionalAssetResourceCosts", "include_aggregated_metadata": "includeAggregatedMetadata", "share_lb": "sharelb", "filter": "filter", "resolution": "resolution",
}

// openCostSchema is the schema of a tool with OpenCost's arguments.
func (s *server) openCostSchema(path string, names ...string) schema {
	known := map[string]Parameter{}
	for _, p := range s.cfg.Parameters(path) {
		known[p.Name] = p
	}
	out := schema{Type: "object", Required: []string{"window"}, Properties: map[string]member{
		"limit": {Type: "integer", Description: fmt.Sprintf("Most rows of each set. Default: %d.", openCostRows)},
	}}
	for _, name := range names {
		p, ok := known[openCostNames[name]]
		if name == "include_idle" { // an alias
			p, ok = known["idle"]
		}
		if ok {
			out.Properties[name] = p.member()
		}
	}
	return out
}

// openCostTools are the tools with OpenCost's names.
func (s *server) openCostTools() []tool {
	all := slices.Sorted(maps.Keys(openCostNames))
	clouds := s.openCostSchema("/cloudCost", "window", "aggregate", "accumulate", "filter")
	for _, f := range cloudFilters {
		clouds.Properties[f.argument] = member{Type: "string", Description: f.help}
	}
	used := s.openCostSchema("/allocation/compute", "window", "aggregate", "filter")
	used.Properties["buffer_multiplier"] = member{Type: "number", Description: fmt.Sprintf("How much more than what is used to recommend, as a factor. Default: %g.", defaultBuffer)}
	return []tool{
		{"get_allocation_costs", "Costs of allocations in OpenCost's shape, all rows, unrounded. allocations is shorter.", s.openCostSchema("/allocation/compute", all...), s.openCost("allocations", "/allocation/compute", readAllocationSets), nil},
		{"get_asset_costs", "Costs of assets in OpenCost's shape, all rows, unrounded. assets is shorter.", s.openCostSchema("/assets", "window"), s.openCost("assets", "/assets", readAssetSet), nil},
		{"get_cloud_costs", "Costs of cloud services that bills have, in OpenCost's shape, unrounded.", clouds, s.cloudCosts, nil},
		{"get_efficiency", "What workloads use of their CPU and memory requests on average, in OpenCost's shape, and what requests somewhat above that would cost. By pod unless aggregated otherwise. Averages hide peaks.", used, s.efficiency, nil},
	}
}
