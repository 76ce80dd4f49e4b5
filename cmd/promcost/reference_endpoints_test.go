package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/fields"
)

// endpoint is what REFERENCE.md tells of paths that take the same parameters. Paths with other defaults follow the first ones.
type endpoint struct {
	title, paths, what string
	example            string // a path with parameters
	answer             string // of the example, shortened
}

// endpoints are all endpoints of the API, in the order of the page.
var endpoints = []endpoint{
	{
		"Allocations", "/model/allocation /model/allocation/compute /allocation /allocation/compute",
		"What workloads cost. `data` has an object for each set of the window, with its rows by name. `/model/allocation` answers with stored days and hours, the others for any window; they use stored hours where these fit.",
		"/model/allocation?window=7d&aggregate=namespace&accumulate=true",
		`{"code": 200, "status": "success", "data": [{"search": {"name": "search", "properties": {"namespace": "search", …}, "cpuCost": 3.1, …, "totalCost": 5.2,
  "errorBounds": {"lower": 0.998, "upper": 1.002}}, "__idle__": {…}}], "coveredHours": 24, "windowHours": 24, "resolution": "exact", "warnings": ["…"]}`,
	},
	{
		"Summaries", "/model/allocation/summary /allocation/summary /allocation/compute/summary",
		"The same with name, start, end, averages and costs only; as CSV, with Kubecost's columns.", "/model/allocation/summary?window=lastweek&aggregate=controller&limit=10",
		`"data": {"step": 604800000000000, "window": {…}, "sets": [{"window": {…}, "allocations": {"deployment:api": {"name": …, "totalCost": …}, …}}]}`,
	},
	{
		"Topline", "/model/allocation/summary/topline", "One sum of all rows, and how many they are.", "/model/allocation/summary/topline?window=month&filter=namespace:%22search%22",
		`"data": {"numResults": 7, "combined": {"allocations": {"total": {"totalCost": 48.8, …}}, "window": {…}}}`,
	},
	{
		"Trends", "/model/allocation/trends", "How the costs of named rows changed against the window before.", "/model/allocation/trends?window=7d&aggregate=namespace&names=search,web",
		`"data": {"step": …, "sets": [{"allocationTrends": {"search": {"trends": {"costs": {"totalCost": {"relativeChange": {"isInfinite": false, "isNaN": false, "value": 0.12}}}}}, …}, "window": {…}}]}`,
	},
	{
		"Changes", "/model/allocation/change", "Why costs differ between two windows: effects that add up to the change ([SEMANTICS.md](SEMANTICS.md) defines them). `missing` lists the parts of both windows that have no costs. `since` is when a row reached its new level, `before` and `after` are what ran on average, and what a core, a GiB and a GPU cost an hour.",
		"/model/allocation/change?window=lastweek&aggregate=namespace&drill=controller",
		`"data": {"window": {…}, "baselineWindow": {…}, "total": {"baseline": 24.4, "cost": 48.8, "change": 24.4, "relative": 1.0, "effects": {"replicas": 3.2, "price": 1.1, …}, "withinBounds": false},
  "rows": [{"name": "search", "baseline": …, "cost": …, "change": …, "effects": {…}, "since": "2026-03-10T00:00:00Z", "owner": "jo", "team": "team-b",
    "before": {"replicas": 3, "cores": 1.5, "gib": 6, "gpus": 0, "corePrice": 0.03, "gibPrice": 0.004, "gpuPrice": null}, "after": {…}, "parts": […]}, …]}`,
	},
	{
		"Unusual days", "/model/anomalies", "Days on which something cost unusually much or little ([SEMANTICS.md](SEMANTICS.md) §11), and the question to `/model/allocation/change` that says why. Medians do not add, and growth is not extrapolated.",
		"/model/anomalies?window=7d&aggregate=namespace",
		`"data": {"window": {…}, "threshold": 4, "count": 1, "unknown": 0, "notes": […],
  "rows": [{"name": "search", "day": {…}, "cost": 72, "expected": 24, "spread": 1.2, "score": 40, "change": "/model/allocation/change?…"}]}`,
	},
	{
		"Forecasts", "/forecasting/forecast/allocation",
		"What the next days, or the running period, will cost, in the shape of Kubecost's forecasts: `all` is everything together, `closedCost` what the period has cost so far. The model is medians of like days ([SEMANTICS.md](SEMANTICS.md) §11), and the limits are the 10th and the 90th percentile. What is not known is null.",
		"/forecasting/forecast/allocation?period=month&aggregate=namespace",
		`"data": {"arima/namespace": {"model": "median", "status": "trained", "aggregate": "namespace", "window": {…}, "closedCost": 508, "TotalPredictedCost": 744, "bestCasePredicted": 744, "worstCasePredicted": 792, "notes": […],
  "predictions": {"all": [{"window": {…}, "predictedCost": 24, "confidenceInterval": {"confidenceLevel": 0.8, "lowerConfidenceLimit": 24, "upperConfidenceLimit": 24}}, …], "search": […]},
  "totals": {"all": {"closedCost": 508, "predictedCost": 744, "lowerConfidenceLimit": 744, "upperConfidenceLimit": 792}, "search": {…}}}}`,
	},
	{
		"Values of allocations", "/model/allocation/autocomplete /allocation/autocomplete", "Which values a field has, for completion.", "/model/allocation/autocomplete?window=7d&field=namespace&search=sea",
		`"data": {"data": ["search", "search-dev"]}`,
	},
	{
		"ACK", "/v2/allocation", "ACK's allocations, in its shape.", "/v2/allocation?window=3d&step=1d&aggregate=namespace",
		`"data": [{"one/search": {"name": "one/search", "properties": {…}, "start": …, "end": …, "cpuCoreRequestAverage": 1, …, "cost": 2.25, "costRatio": 0.1, "customCost": 48}, …}, …]`,
	},
	{
		"Assets", "/model/assets", "What costs money: nodes, disks, load balancers, network, cluster management. `data` has an object for each set, with its assets by key.", "/model/assets?window=7d&aggregate=type&accumulate=true",
		`"data": [{"Node": {"type": "Node", "properties": {…}, "cpuCost": …, "ramCost": …, "adjustment": 0, "totalCost": 33}, …}]`,
	},
	{"OpenCost's assets", "/assets", "The same as one map of the whole window; each asset is a row.", "/assets?window=1d", `"data": {"AWS/…/n1": {"type": "Node", …, "totalCost": 4.5}, …}`},
	{
		"Topline of assets", "/model/assets/topline", "One sum of all assets, and how many they are.", "/model/assets/topline?window=month&filter=assetType:%22node%22",
		`"data": {"totalCost": 48.8, "adjustment": 0, "numResults": 10}`,
	},
	{
		"Changes of assets", "/model/assets/diff", "Assets that were added, removed or changed between two windows: `Kind` says which.", "/model/assets/diff?window=lastweek&filter=assetType:%22node%22",
		`"data": {"AWS/…/n1": {"Entity": {"type": "Node", …}, "Kind": "added"}, …}`,
	},
	{
		"Forecasts of assets", "/forecasting/forecast/assets", "The same for assets.", "/forecasting/forecast/assets?predictionWindow=30d&aggregate=type",
		`"data": {"arima/type": {"model": "median", "status": "trained", "aggregate": "type", …, "predictions": {"all": […], "Node": […]}, "totals": {…}}}`,
	},
	{"Values of assets", "/model/assets/autocomplete /assets/autocomplete", "Which values a field of assets has.", "/model/assets/autocomplete?window=7d&field=provider", `"data": {"data": ["AWS"]}`},
	{
		"Cloud costs", "/cloudCost /model/cloudCost", "What bills say, a set for each step: the five costs of FOCUS, and which part of each is of clusters.", "/cloudCost?window=lastmonth&aggregate=service",
		`"data": {"sets": [{"aggregationProperties": ["service"], "cloudCosts": {"AmazonEC2": {"properties": {…}, "window": {…}, "listCost": {"cost": 28, "kubernetesPercent": 0.8}, "netCost": {…}, …}}}, …]}`,
	},
	{"Views of cloud costs", "/cloudCost/view/graph /cloudCost/view/totals /model/cloudCost/view/graph /model/cloudCost/view/totals", "The dearest rows of each set, for a chart; the sum of all rows.", "/cloudCost/view/graph?window=lastmonth&aggregate=provider&costMetric=listCost", ""},
	{
		"Trends of cloud costs", "/model/cloudCost/view/trends", "How costs of bills changed against the window before, which is as long.", "/model/cloudCost/view/trends?window=lastweek&aggregate=provider&names=AWS",
		`"data": {"trends": {"AWS": {"value": -0.15, "isInfinite": false, "isNaN": false}}, "window": {…}, "comparisonWindow": {…}}`,
	},
	{"Table of cloud costs", "/cloudCost/view/table /model/cloudCost/view/table", "A page of rows, with their cost and the part of it that is of clusters.", "/cloudCost/view/table?window=lastmonth&aggregate=service&limit=20", ""},
	{"Custom costs", "/customCost/timeseries /customCost/total", "What bills of vendors that are no cloud providers say, by step and in total.", "/customCost/total?window=lastmonth&aggregate=domain", ""},
	{
		"Reconciliation", "/model/reconciliation", "How bills and clusters fit together: what matches, what does not and how to fix that. `promcost check bills -o json` prints the same.", "/model/reconciliation?window=7d",
		`"data": {"start": …, "end": …, "bills": [{"name": "aws", "totalCost": …, "matchedCost": …, "accounts": […]}], "kinds": […], "unbilled": […], "unmatched": [{"service": …, "cost": …, "why": …, "remedy": …}], "nodes": […]}`,
	},
	{
		"Overview of savings", "/model/savings", "What the paths below come to, in money a month, with the same filter: requests by Kubecost's formula, and what is listed as abandoned, unclaimed and idle. A pod may be in several of them: they do not add up.",
		"/model/savings?filter=namespace:web",
		`"data": {"cluster": "one", "profile": "kubecost", "containerRequestSizing": {"savingsPerMonth": 812.4, "lastRefresh": …}, "abandonedWorkloads": {…}, "unclaimedVolumes": {…}, "idleGPUs": {…}}`,
	},
	{
		"Unclaimed volumes", "/model/savings/unclaimedVolumes", "Persistent volumes that no pod mounts, the dearest first, in money a month of 730 hours: `monthlyCost` with what bills add, `monthlyListCost` at list prices. A filter selects by the cluster, and by the namespace of the claim.",
		"/model/savings/unclaimedVolumes?days=7",
		`"data": {"count": 1, "monthlyCost": 12.3, "monthlyListCost": 14.6, "volumes": [{"volumeName": "pvc-…", "monthlyCost": …, "monthlyListCost": …, "bytes": 107374182400, "storageClass": "gp3", "claim": "web/files", "properties": {"cluster": …, "providerID": …}}]}`,
	},
	{
		"Abandoned workloads", "/model/savings/abandonedWorkloads", "Pods that used less than 1 % of the CPU that they request, and whose traffic is below a threshold: a list in Kubecost's shape, with warnings in the header. What is not known of usage counts as used, and of traffic as busy; pods of which that is so are named in a warning.",
		"/model/savings/abandonedWorkloads?days=7&threshold=500",
		`[{"pod": "old-1", "namespace": "web", "node": "n1", "clusterId": "one", "owners": [{"name": "old", "kind": "deployment"}], "ingressBytesPerSecond": 10, "egressBytesPerSecond": 0,
  "allocation": {"cpuCores": 1, "ramBytes": …}, "requests": {…}, "usage": {…}, "monthlySavings": 28.1, "monthlyListSavings": 33.4}]`,
	},
	{
		"Idle GPUs", "/model/savings/idleGPUs", "Pods that hold GPUs and use less than 1 % of them, with what the GPUs cost a month; beside them, as `unknown`, those whose usage is not known.", "/model/savings/idleGPUs?days=3",
		`"data": {"count": 1, "monthlyCost": 693.5, "monthlyListCost": 693.5, "idle": [{"cluster": …, "node": …, "namespace": "ml", "pod": "train-0", "gpus": 1, "usage": 0.002, "monthlyCost": …}], "unknown": [{…, "usage": null}]}`,
	},
	{
		"Without these nodes", "/model/savings/nodes", "What pools of nodes are used for, and what would be paid a month without them, the dearest first: `moving` is what pods would have to run elsewhere, `daemonSets` what ends with the nodes, `idle` what nobody is allocated, `idleElsewhere` what is idle on the cluster's other " +
			"nodes. `committedMonthlyCost` is what bills charge under commitments, null where they charge nothing, and `billedPart` how much of the time they charge. `aggregate=node` is about single nodes; a filter selects nodes, as that of assets does. `promcost query nodes` prints it.",
		"/model/savings/nodes?filter=nodePool:batch",
		`"data": {"aggregate": "nodePool", "count": 1, "monthlyCost": 1155.1, "monthlyListCost": …, "notes": […], "nodes": [{"cluster": …, "nodePool": "batch", "nodeTypes": ["c5.4xlarge"], "nodes": 3.2, "monthlyCost": 1155.1, "monthlyListCost": …,
  "moving": {"cpuCores": 25.2, "ramBytes": …, "gpus": 0, "monthlyCost": 590.5, "monthlyListCost": …}, "daemonSets": {…}, "idle": {…}, "idleElsewhere": {"cpuCores": 40.2, …}, "committedMonthlyCost": 0, "billedPart": 0.9, "monthlySavings": {"least": 564.2, "most": 1155.1}}]}`,
	},
	{
		"Predictions", "/model/prediction/speccost", "What rendered manifests would cost a month, what those workloads cost now, and the difference: POST them as the body, up to 4 MiB and 1,000 objects of YAML or JSON. The answer is a list in Kubecost's shape, with warnings in the header; " +
			"`format=json` has a total and what is not priced beside it. What cannot be known is null, and `notes` say why. `promcost predict` prints it.",
		"/model/prediction/speccost?window=7d' --data-binary '@manifests.yaml",
		`[{"namespace": "web", "controllerKind": "deployment", "controllerName": "front", "replicasBefore": 2, "replicasAfter": 3,
  "costBefore": {"totalMonthlyRate": 58.4, "cpuMonthlyRate": …, "ramMonthlyRate": …, "gpuMonthlyRate": 0, "pvMonthlyRate": 0, "monthlyCPUCoreHours": …, …}, "costAfter": {…}, "costChange": {…}, "notes": []}]`,
	},
	{
		"Recommended requests", "/model/savings/requests", "What each container of a controller should request, by how long its usage was how high (SEMANTICS §10): replicas count together. `why` is what decided: quantile, weekday, maximum, peaks, " +
			"floor, oom, throttled, or for none hpa, short, unknown, grows. `exceedance` is the part of the running time in which usage was above the recommendation, `currentExceedance` above today's request; `low` and `high` are the 10th and 90th " +
			"percentile over other draws of the same days. Above the list, `exceedance` is that of all containers by the hours that they ran. `distribution=true` adds for which `shares` of the time usage lay between which `levels`: " +
			"at most 24 bars, each of as many buckets of the history, the first with all that is lower. `monthlyRisk` is what the recommendation costs more, where a request is too low. Amounts are cores and bytes; null is unknown.",
		"/model/savings/requests?profile=safe&limit=10",
		`"data": {"profile": "safe", "count": 42, "monthlySaving": 812.4, "monthlyRisk": 30.1, "cpu": {"exceedance": 0.006, "currentExceedance": 0.21}, "memory": {…}, "notes": ["freed requests become idle until nodes shrink: …", …], "requests": [{"cluster": …, "namespace": "web", "controllerKind": "deployment", "controller": "front", "container": "nginx",
  "owner": "team-a", "runningHours": 672, "days": 14, "lowConfidence": false, "hpa": [], "throttled": null, "waiting": null, "oomKilledBytes": null, "monthlySaving": 41.2, "monthlyRisk": 0,
  "cpu": {"request": 2, "limit": 0, "recommended": 0.263, "why": "quantile", "low": 0.25, "high": 0.31, "exceedance": 0.02, "currentExceedance": 0, "knownHours": 672, "usageAverage": 0.2, "usageMax": 0.6, "monthlySaving": 39, "distribution": null},
  "memory": {…, "recommendedLimit": 1240000000, "highestDays": [1070000000, 1030000000]}}, …]}`,
	},
	{
		"Recommended requests as Kubecost has them", "/model/savings/requestSizingV2 /model/savings/requestSizingV2/topline", "The same by Kubecost's formula, unless parameters say otherwise, in its shape: a list, or where `offset` or `limit` is given an object of the list with its " +
			"total; topline is the object without the list. Containers without a recommendation are left out. Warnings are in the header.",
		"/model/savings/requestSizingV2?window=7d&algorithmCPU=quantile&qCPU=0.95",
		`[{"clusterID": …, "namespace": "web", "controllerKind": "deployment", "controllerName": "front", "containerName": "nginx", "recommendedRequest": {"cpu": "358m", "memory": "1469Mi"}, "latestKnownRequest": {…}, "averageUsage": {…}, "maxUsage": {…},
  "normalizedRecommendedRequest": {"cpuInMilliCores": 358, "memoryInMiB": 1468.6}, …, "monthlySavings": {"cpu": 35.9, "memory": 18.7, "total": 54.6}, "currentEfficiency": {"cpu": 0.1, "memory": 0.25, "total": 0.16}}, …]`,
	},
	{
		"Back-test of requests", "/model/savings/backtest", "How each preset would have done: a request for each day from the seven days before, without floors and rounding. `slack` is the part of the requested CPU that was not used, `exceedance` the part of the running time in which usage " +
			"was above the request, `memoryDaysExceeded` the part of the days on which the highest memory usage was; all are means over containers.",
		"/model/savings/backtest?window=28d",
		`"data": {"trainingDays": 7, "points": [{"profile": "tight", "slack": 0.33, "exceedance": 0.039, "memorySlack": …, "memoryDaysExceeded": …, "containers": 42, "days": 882}, …]}`,
	},
	{
		"Diagnosis", "/model/diagnose", "Which inputs the source has, cluster by cluster. `promcost check source -o json` prints the same. A state is `found` (the best alternative is there), `fallback` (a later one is), " +
			"`none` (there is nothing of the kind, which may be right) or `missing`. `complete` says that no required input is missing, in no part of the window. `uncovered` are the parts of 15 minutes in which one is, and at the end of the window those of 5 minutes " +
			"and two scrapes. `oldest` is that of all samples where the source knows it, else of those in the window. Unknown members are left out. Of a source that has none of the inputs, `nothing` is true, `jobs` are what it scrapes, and `recipes` texts that add what must be there.",
		"/model/diagnose?window=1h",
		`"data": {"window": {"start": …, "end": …}, "complete": true, "oldest": …, "sources": [as explain has them],
  "clusters": [{"cluster": "prod", "scrapeInterval": "30s", "oldest": …, "newest": …, "uncovered": [{"start": …, "end": …}], "inputs": [
    {"name": "running", "state": "found", "required": true, "scrapeInterval": "30s", "oldest": …, "newest": …,
     "alternatives": [{"metric": "kube_pod_container_status_running", "series": 180}]},
    {"name": "pod labels", "state": "missing", "required": false, "alternatives": [],
     "missing": "no cost by label", "remedy": "run kube-state-metrics with …"}, …]}]}`,
	},
	{
		"Facts", "/model/budgets /model/questions /model/views /model/clusterInfo /model/getConfigs /model/clusterInfoMap /clusterInfo /clusterInfoMap /cloudCost/status /customCost/status",
		"What promcost knows without computing: budgets with what is spent and forecast (what is unknown is null); the saved questions, and the saved views of the page; the cluster, and `closedUntil`, the end of the newest closed hour, and `nextClosed`, when the next one will be closed; currency and time zone; all clusters; " +
			"when bills were and will be looked for, and what of them does not count.",
		"/model/budgets",
		`"data": [{"name": "team-a", "period": "month", "amount": 100, "cost": "list", "spent": 60, "forecast": 90, "window": {"start": …, "end": …}, "billedUntil": null, "spentUnbilled": null}]`,
	},
	{"Health and description", "/healthz /model/healthz /openapi.json", "That the process lives; the API in OpenAPI 3.0, with all fields that selectors may name.", "/openapi.json", ""},
}

// settingsOfPath are the parameters of a path, with its defaults; ignored are those without effect.
func settingsOfPath(path string) (settings []setting, ignored []string) {
	for _, p := range costapi.Parameters(path) {
		if p.Ignored {
			ignored = append(ignored, p.Name)
			continue
		}
		settings = append(settings, setting{p.Group, strings.Join(append([]string{p.Name}, p.Aliases...), "`, `"), p.Type, p.Default, p.Help})
	}
	return settings, ignored
}

// referEndpoints tells the endpoints, each with its parameters and an example, then the parameters of several and what answers have in common.
func referEndpoints(t *testing.T, b *strings.Builder) {
	t.Helper()
	var places []section
	var told []string
	for _, e := range endpoints {
		paths := strings.Fields(e.paths)
		settings, _ := settingsOfPath(paths[0])
		places, told = append(places, section{e.title, settings}), append(told, paths...)
		e.checkExample(t)
	}
	if want := costapi.Paths(); !slices.Equal(slices.Sorted(slices.Values(told)), want) {
		t.Errorf("endpoints have the paths %q, the API has %q", slices.Sorted(slices.Values(told)), want)
	}
	everywhere := ignoredEverywhere()
	b.WriteString("\n## Endpoints\n\nPaths below `/model` are Kubecost's, `/v2/allocation` is ACK's, the others are OpenCost's. GET, and POST with a form. An empty value means not given. " +
		"Clients send " + codes(everywhere) + "; these are accepted and ignored (for compatibility) wherever there are parameters but at `/model/diagnose`. " +
		"Other pages: `/metrics`, `/ui/`, `/ui/links`, `/mcp`, `/-/healthy`, `/-/ready`, `/-/reload`, and PromQL's below.\n")
	page := newSettingsPage(places, "Others", "parameter", "values", "default", "what")
	for i, e := range endpoints {
		paths := strings.Fields(e.paths)
		fmt.Fprintf(b, "\n### %s\n\n%s: %s\n\n    curl -s 'http://127.0.0.1:9003%s'\n", e.title, codes(paths), e.what, e.example)
		if e.answer != "" {
			b.WriteString("\n    " + strings.ReplaceAll(e.answer, "\n", "\n    ") + "\n")
		}
		page.section(b, places[i], "Parameters")
		e.others(t, b, places[i].settings, everywhere)
	}
	b.WriteString("\n## Parameters of several endpoints\n")
	page.sharedTables(b)
	referAnswers(b)
}

// checkExample checks that an example's parameters are those of its path.
func (e *endpoint) checkExample(t *testing.T) {
	t.Helper()
	asked, err := url.Parse(e.example)
	if err != nil || !slices.Contains(strings.Fields(e.paths), asked.Path) {
		t.Fatalf("%s: %v: the example asks %s", e.title, err, asked.Path)
	}
	settings, _ := settingsOfPath(asked.Path)
	for name := range asked.Query() {
		if !slices.ContainsFunc(settings, func(s setting) bool { return slices.Contains(strings.Split(s.name, "`, `"), name) }) {
			t.Errorf("%s: the example has the parameter %s, which %s does not take", e.title, name, asked.Path)
		}
	}
}

// others tells in which defaults the other paths differ from the first, and which further parameters are ignored.
func (e *endpoint) others(t *testing.T, b *strings.Builder, first []setting, everywhere []string) {
	t.Helper()
	paths := strings.Fields(e.paths)
	var order []string
	same := map[string][]string{}
	for _, path := range paths {
		settings, _ := settingsOfPath(path)
		usual := map[setting]string{}
		for _, s := range first {
			usual[s.withoutDefault()] = s.def
		}
		if len(settings) != len(first) {
			t.Errorf("%s: %s and %s take different parameters", e.title, paths[0], path)
		}
		differ := otherDefaults(settings, func(s setting) (string, bool) { def, ok := usual[s.withoutDefault()]; return def, ok })
		if differ == "" {
			continue
		}
		if same[differ] == nil {
			order = append(order, differ)
		}
		same[differ] = append(same[differ], path)
	}
	for _, differ := range order {
		fmt.Fprintf(b, "\n%s:%s\n", codes(same[differ]), differ)
	}
	_, ignored := settingsOfPath(paths[0])
	if ignored = without(ignored, everywhere); len(ignored) > 0 {
		fmt.Fprintf(b, "\nAlso accepted and ignored: %s.\n", codes(ignored))
	}
}

// ignoredEverywhere are the parameters that all paths accept and ignore which ignore any.
func ignoredEverywhere() (names []string) {
	for _, path := range costapi.Paths() {
		_, ignored := settingsOfPath(path)
		switch {
		case len(ignored) == 0:
		case names == nil:
			names = ignored
		default:
			names = without(names, without(names, ignored))
		}
	}
	return names
}

// without returns the names that are not in some.
func without(names, some []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(some, name) })
}

// referAnswers tells what answers have in common, and the numbers of rows.
func referAnswers(b *strings.Builder) {
	b.WriteString(answers)
	table(b, "field of an allocation", "unit", "what")
	for _, f := range fields.All() {
		help := f.Help
		if f.Nullable && !strings.Contains(help, "null") {
			help += " 0, or null with nulls=true, where it is not known."
		}
		line(b, code(f.Name), f.Unit, help)
	}
	b.WriteString("\nMembers of an asset, as far as its type has them: " + codes(encode.AssetMembers()) + ".\n")
}

// answers describes the parts of answers that all endpoints share.
const answers = `
## Answers

JSON, in gzip or zstd if the client takes it. ` + "`data`" + ` is what was asked for, ` + "`warnings`" + ` what is missing or doubtful, ` + "`resolution`" + ` the one that was used
(` + "`1m`, `exact`" + `), ` + "`billedUntil`" + ` until when costs are by bill, and with ` + "`unbilled=estimate`" + ` ` + "`estimatedFrom`" + ` from when
some are estimated, ` + "`estimatedShare`" + ` the part of the cost of all assets that is. ` + "`windowHours`" + ` are the hours of the window up to now, and
` + "`coveredHours`" + ` those that have data; where they differ, ` + "`coverage`" + ` says so in words, as a warning does. ` + "`clusterCoveredHours`" + ` and ` + "`setCoveredHours`" + ` tell them
apart where there are several clusters or sets. A rate, such as the cost of a month, is a cost divided by ` + "`coveredHours`" + `.

An error has its HTTP status and says what is wrong and what would be right; it is also a Status of Kubernetes:

    {"code": 400, "data": null, "message": "…", "kind": "Status", "apiVersion": "v1", "status": "Failure"}

400 is a wrong parameter, 422 a question that the source or a limit does not allow, 502 a source that fails, 503 a limit that is reached for now (` + "`Retry-After`" + ` says when to ask again). With
` + "`explain=true`, an answer has one element of `computations`" + ` for each computation behind it. ` + "`read` and `integrate`" + ` are estimates from some of the series; seconds of
sources and stages contain the integration of the samples that they gave.

    "explain": {"computations": [{
      "window": {"start": …, "end": …}, "resolution": "1m", "scrapeInterval": "30s",
      "seconds": {"total": 0.31, "read": 0.2, "integrate": 0.1},
      "sources": [{"name": "blocks", "until": …, "seconds": …, "requests": …, "samples": …, "bytes": …, "series": …},
                  {"name": "remote-read", "from": …, …}],
      "stages": [{"name": "inputs", "seconds": …, "requests": …, "samples": …, "bytes": …}, …],
      "inputs": [{"name": "running", "alternatives": [{"metric": "kube_pod_container_status_running", "series": …, "samples": …,
                  "clusters": [{"cluster": "prod", "series": …, "samples": …}]}]}, …]}]}
`
