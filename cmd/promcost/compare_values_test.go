package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/cloudcost"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/savings"
)

// valueDifference are values of parameters by name, of a path. Others are given by their types.
func comparedValues() map[string]func(g *compareGenerator, path string) string {
	of := func(list ...string) func(*compareGenerator, string) string {
		return func(g *compareGenerator, _ string) string { return g.pick(list...) }
	}
	word := func(field string) func(*compareGenerator, string) string {
		return func(g *compareGenerator, _ string) string { return g.oneOrTwo(field) }
	}
	instant := func(g *compareGenerator, _ string) string { return g.instant().Format(time.RFC3339) }
	family := func(g *compareGenerator, _ string) string { return g.family() }
	return map[string]func(*compareGenerator, string) string{
		"window": (*compareGenerator).window, "resolution": of("auto", "exact", "1m", "5m", "30s", "90s", "1h"), "maxError": of("0.05", "0.1", "0.5"), "minDuration": of("10m", "1h"),
		"baseline": (*compareGenerator).hours, "before": (*compareGenerator).hours, "after": (*compareGenerator).window,
		"windowAvgUsage": (*compareGenerator).hours, "windowResourceCost": (*compareGenerator).hours, "clusterID": word("cluster"), "defaultNamespace": word("namespace"),
		"days": of("0.1", "1", "3"), "costType": of("blended", "billed", "list"), "unbilled": of("list", "estimate"), "drill": of("controller", "pod", "namespace", "label:team"), "costChangeRatio": of("0", "0.1", "2"), "threshold": of("1", "4", "0.5"), "predictionWindow": of("1d", "7d", "2w"), "period": of("day", "week", "month"),
		"profile": of(savings.PresetNames()...), "only": of("all", "smaller"), "qCPU": of("0.5", "0.9"), "qRAM": of("0.99"), "targetCPUUtilization": of("0.5", "0.8"), "targetRAMUtilization": of("0.65"), "minRecCPUMillicores": of("0", "500"),
		"minRecRAMBytes": of("1", "1e9"), "halfLife": of("6h", "7d"), "margin": of("1", "1.5"), "memoryMargin": of("0", "0.3"),
		"step": (*compareGenerator).step, "aggregate": (*compareGenerator).aggregate, "filter": (*compareGenerator).filter, "share": (*compareGenerator).filter,
		"fieldSelector": (*compareGenerator).fieldSelector, "labelSelector": of("team", "team=team-a", "team in (team-b,team-c)", "!team", "team!=team-a,team"),
		"shareNamespaces": word("namespace"), "shareLabels": of("team:platform", "team:team-a,team:team-b"), "shareCost": of("100", "12.5", "0.3"),
		"offset": of("1", "3"), "limit": of("1", "5", "20", "100"), "sortBy": (*compareGenerator).sortBy, "fields": (*compareGenerator).members, "jmespath": (*compareGenerator).expression,
		"names": word("namespace"), "field": (*compareGenerator).field, "search": of("a", "e", "p", "o"),
		"filterClusters": word("cluster"), "filterNodes": word("node"), "filterNodePools": word("nodePool"), "filterNamespaces": word("namespace"), "filterControllerKinds": word("controllerKind"),
		"filterControllers": word("controllerName"), "filterPods": word("pod"), "filterContainers": word("container"), "filterServices": word("service"),
		"filterLabels": of("team:team-a", "team:team*", "team:platform,team:team-b"), "filterAnnotations": of("prometheus_io_scrape:true", "example_com_owner:*"),
		"filterDepartments": of("*"), "filterEnvironments": of("*"), "filterOwners": of("*"), "filterProducts": of("*"), "filterTeams": word("team"),
		"filterTypes": of("node", "disk", "node,loadbalancer"), "filterNames": word("asset name"), "filterCategories": of("Compute", "Storage,Network"), "filterProviders": of("AWS", "*"),
		"filterProviderIDs": word("asset providerID"), "filterProvidersID": word("asset providerID"), "filterAccountIDs": of("*"), "filterInvoiceEntityIDs": of("*"), "filterAccounts": of("*"), "filterProjects": of("*"), "filterRegions": of("us-east-1", "*"),
		"query": (*compareGenerator).promql, "match[]": (*compareGenerator).series, "match_target": of(`{job="x"}`), "metric": family, "name[]": family,
		"time": instant, "start": instant, "end": instant, "timeout": of("1m"), "lookback_delta": of("5m", "15m", "1h"), "stats": of("all", "true"), "limit_per_metric": of("1", "2"),
		"state": of("active"), "scrapePool": of("x"),
	}
}

// value is a value of a parameter of a path.
func (g *compareGenerator) value(path string, p hostileParameter) string {
	value := comparedValues()[p.name]
	if value != nil && p.kind != anyType {
		return value(g, path)
	}
	var words []string
	for kind := range strings.SplitSeq(p.kind, "|") {
		switch kind {
		case "boolean":
			words = append(words, "true", "false")
		case anyType: // has no effect
			words = append(words, "x")
		case "number", "duration", "list", "text", "time", "filter", "field", "fields", "expression", "window", "promql", "series", "field selector", "label selector":
			panic("there are no values of " + p.name + " of " + path + ": give it a row")
		default:
			words = append(words, kind)
		}
	}
	return g.pick(words...)
}

// comparedWords are what fields of the data have, by name; those of assets begin with the word asset.
func comparedWords(t *testing.T, base string, start, end time.Time) map[string][]string {
	t.Helper()
	window := start.Format(time.RFC3339) + "," + end.Format(time.RFC3339)
	words := map[string][]string{}
	ask := func(target string, into any) {
		code, body := get(t, base+target)
		if err := json.Unmarshal([]byte(body), into); err != nil || code != http.StatusOK {
			t.Fatalf("%s: %d %v: %.300s", target, code, err, body)
		}
	}
	for _, field := range []string{"cluster", "node", "nodePool", "namespace", "controllerKind", "controllerName", "pod", "container", "service", "team", "asset name", "asset providerID", "asset type"} {
		path, name := "/model/allocation/autocomplete", field
		if asset, ok := strings.CutPrefix(field, "asset "); ok {
			path, name = "/model/assets/autocomplete", asset
		}
		var answer struct{ Data struct{ Data []string } }
		ask(path+"?limit=1000&"+url.Values{"window": {window}, "field": {name}}.Encode(), &answer)
		words[field] = answer.Data.Data
	}
	var answer struct{ Data []string }
	ask("/api/v1/label/__name__/values?"+url.Values{"start": {start.Format(time.RFC3339)}, "end": {end.Format(time.RFC3339)}}.Encode(), &answer)
	words["family"] = slices.DeleteFunc(answer.Data, func(name string) bool {
		return !strings.HasPrefix(name, "promcost_") || !strings.HasSuffix(name, "_hourly_cost") && !strings.HasSuffix(name, "_cost_total") && !strings.HasSuffix(name, "_efficiency_ratio")
	})
	for field, list := range words {
		if len(list) == 0 {
			t.Fatalf("the data has no %s", field)
		}
	}
	return words
}

// oneOrTwo are one or two words of a field.
func (g *compareGenerator) oneOrTwo(field string) string { return g.some(2, g.words[field]...) }

// instant is a time within the data, mostly at an odd second.
func (g *compareGenerator) instant() time.Time {
	at := g.start.Add(time.Hour + time.Duration(g.rng.Int64N(int64(g.end.Sub(g.start)-time.Hour))))
	return at.Truncate([]time.Duration{time.Second, time.Second, time.Minute, time.Hour}[g.rng.IntN(4)])
}

// hours are some hours between two instants: a window that ends at now would be another one for each program.
func (g *compareGenerator) hours(string) string {
	from := g.instant()
	return from.Format(time.RFC3339) + "," + from.Add(time.Duration(1+g.rng.IntN(24))*time.Hour).Format(time.RFC3339)
}

// window is a window of hours, of days, or with odd or far edges. Long ones are mostly of the stored history.
func (g *compareGenerator) window(path string) string {
	class := compareClass(path)
	day := func(t time.Time) time.Time {
		year, month, day := t.In(g.zone).Date()
		return time.Date(year, month, day, 0, 0, 0, 0, g.zone)
	}
	write := func(start, end time.Time) string {
		layouts := []string{time.RFC3339, time.RFC3339, time.RFC3339, "unix"}
		if day(start).Equal(start) && day(end).Equal(end) {
			layouts = append(layouts, time.DateOnly, time.DateOnly)
		}
		layout := g.pick(layouts...)
		if layout == "unix" {
			return fmt.Sprintf("%d,%d", start.Unix(), end.Unix())
		}
		return start.Format(layout) + "," + end.Format(layout)
	}
	hour := g.instant().Truncate(time.Hour)
	switch kind := g.rng.IntN(20); {
	case class == "bills", kind < 3 && (class == "history" || g.one(4)):
		from := day(g.start.AddDate(0, 0, 1).Add(time.Duration(g.rng.Int64N(int64(max(1, g.end.Sub(g.start)-24*time.Hour))))))
		return write(from, from.AddDate(0, 0, 1+g.rng.IntN(3)))
	case kind == 3:
		return write(g.start.Add(-2*time.Hour), g.start.Add(2*time.Hour))
	case kind == 4:
		return write(g.end.Add(-2*time.Hour), g.end.Add(time.Hour))
	case kind == 5 && (class == "history" || g.one(4)):
		return write(g.start.Truncate(time.Hour), g.end.Truncate(time.Hour))
	case kind == 6 && class == "compute":
		return relativeHours
	case kind < 11:
		at := g.instant()
		return write(at.Add(-time.Duration(7+g.rng.IntN(300))*time.Minute-time.Duration(g.rng.IntN(60))*time.Second), at)
	}
	return write(hour.Add(-time.Duration(1+g.rng.IntN(8))*time.Hour), hour)
}

// step is the length of a set.
func (g *compareGenerator) step(path string) string {
	switch compareClass(path) {
	case "promql":
		return g.pick("30s", "1m", "5m", "1h")
	case "history":
		return g.pick("1h", "1d", "hour", "day")
	case "bills":
		return g.pick("1d", "day")
	}
	return g.pick("1h", "2h", "45m", "1d", "hour", "day", "week", "month", "quarter")
}

// aggregate is one to three keys.
func (g *compareGenerator) aggregate(path string) string {
	if strings.HasSuffix(path, "/savings/nodes") {
		return g.pick("nodePool", "node")
	}
	switch class := compareClass(path); class {
	case "bills":
		return g.pick("namespace", "controller", "controllerKind", "pod")
	case "cloud costs":
		return g.some(2, cloudcost.Names(strings.Contains(path, "/customCost"))...)
	case "asset topline", "assets", "asset map":
		return strings.ReplaceAll(g.some(2, assets.Dimensions()...), "<name>", g.pick("team", "kubernetes_io_arch"))
	}
	names := append(allocation.KeyNames(), "namespace", "namespace", "controller", "label:<name>", "cost-center")
	return strings.ReplaceAll(g.some(3, names...), "<name>", g.pick("team", "example_com_owner"))
}

// filter is an expression in the v2 language.
func (g *compareGenerator) filter(path string) string {
	if compareClass(path) == "cloud costs" {
		return g.pick(cloudcost.Names(strings.Contains(path, "/customCost"))...) + g.pick(`:"a"`, `!:"a"`, `~:"s"`, `<~:"A"`)
	}
	fields := []string{"cluster", "node", "nodePool", "namespace", "namespace", "controllerKind", "controllerName", "pod", "container"}
	label := `label[team]`
	if class := compareClass(path); strings.HasPrefix(class, "asset") || strings.Contains(path, "assets") || strings.HasSuffix(path, "/savings/nodes") {
		fields, label = []string{"asset name", "asset providerID", "asset type", "asset type"}, `label[kubernetes_io_arch]`
	}
	condition := func() string {
		field := g.pick(fields...)
		name := strings.TrimPrefix(field, "asset ")
		value := g.pick(g.words[field]...)
		switch g.rng.IntN(7) {
		case 0:
			return fmt.Sprintf("%s!:%q", name, value)
		case 1:
			return fmt.Sprintf("%s~:%q", name, value[:min(len(value), 3)])
		case 2:
			return fmt.Sprintf("%s<~:%q", name, value[:1])
		case 3:
			return label + g.pick(`:"team-a"`, `!:"team-a"`, `:"team-b","amd64"`, `:"amd64"`)
		case 4:
			return fmt.Sprintf("%s:%q,%q", name, value, g.pick(g.words[field]...))
		}
		return fmt.Sprintf("%s:%q", name, value)
	}
	switch g.rng.IntN(5) {
	case 0:
		return condition() + "+" + condition()
	case 1:
		return condition() + "|" + condition()
	case 2:
		return "(" + condition() + "|" + condition() + ")+(" + condition() + "|" + condition() + ")"
	}
	return condition()
}

// fieldSelector is a selector of Kubernetes.
func (g *compareGenerator) fieldSelector(path string) string {
	if strings.Contains(path, "assets") {
		return g.pick("spec.region=us-east-1", "metadata.name!=network", "spec.cluster="+g.pick(g.words["cluster"]...))
	}
	return g.pick("spec.node="+g.pick(g.words["node"]...), "metadata.namespace!="+g.pick(g.words["namespace"]...), "metadata.namespace="+g.pick(g.words["namespace"]...))
}

// sortBy is a number of the path's rows, or their names.
func (g *compareGenerator) sortBy(path string) string {
	switch compareClass(path) {
	case "cloud costs":
		return "cost"
	case "savings":
		return g.pick("totalSavings", "currentEfficiency", "cpuRecommended", "memoryLatest")
	}
	rows, assets := encode.PageOrders()
	if strings.Contains(path, "assets") {
		rows = assets
	}
	return g.pick(append(rows, "name", "totalCost", "cpuCost")...)
}

// members are some of the members of the path's rows.
func (g *compareGenerator) members(path string) string {
	switch class := compareClass(path); class {
	case "bills":
		return g.some(3, "name", "cost", "costRatio", "properties")
	case "assets", "asset map":
		return g.some(3, "type", "properties", "totalCost", "minutes", "adjustment", "labels")
	case "summary", "topline":
		return g.some(3, "name", "totalCost", "cpuCost", "ramCost", "sharedCost")
	}
	return g.some(4, "name", "properties", "totalCost", "cpuCost", "ramCost", "pvCost", "networkCost", "minutes", "ramEfficiency", "window", "pvs", "errorBounds")
}

// expression is one in JMESPath that fits what the path answers.
func (g *compareGenerator) expression(path string) string {
	lists := map[string][]string{
		"summary": {"sets[0].allocations.*.[name,totalCost]", "length(sets)", "sets[].allocations.*.cpuCost"}, "topline": {"combined", "numResults"}, "trends": {"sets[0].allocationTrends", "step"},
		"values": {"data", "length(data)", "data[:2]"}, "assets": {"[0].*.[type,totalCost]", "length(@)", "[0].*.properties.name"}, "asset map": {"*.[type,totalCost]", "keys(@)"},
		"asset topline": {"totalCost", "@"}, "bills": {"[0].*.cost", "length([0])"}, "facts": {"@"}, "savings": {"@", "length(@)"},
	}
	expressions := lists[compareClass(path)]
	if expressions == nil {
		expressions = []string{"[0].*.[name,totalCost]", "length([0])", "[].keys(@)", "[0].*.totalCost | sort(@)", "[0].* | [?totalCost > `1`].name", "sum([].*.totalCost[])", "max_by([0].*, &cpuCost).[name,cpuCost,properties]"}
	}
	return g.pick(expressions...)
}

// field is one that values are asked of.
func (g *compareGenerator) field(path string) string {
	if strings.Contains(path, "assets") {
		return g.pick("type", "name", "nodePool", "cluster", "category", "service", "providerID", "label:kubernetes_io_arch")
	}
	return g.pick("cluster", "node", "nodePool", "namespace", "controllerKind", "controllerName", "pod", "container", "service", "label", "annotation", "label:team", "namespaceLabel:team", "team")
}

// family is the name of a metric of cost.
func (g *compareGenerator) family() string { return g.pick(g.words["family"]...) }

// series is a selector of series.
func (g *compareGenerator) series(string) string {
	return g.pick(`{__name__=~"promcost_namespace_.+"}`, g.family(), fmt.Sprintf(`{__name__=%q,namespace=%q}`, "promcost_namespace_hourly_cost", g.pick(g.words["namespace"]...)), `promcost_controller_hourly_cost{resource!="cpu"}`)
}

// promql is an expression in PromQL.
func (g *compareGenerator) promql(string) string {
	name, by := g.family(), g.pick("cluster", "namespace", "resource", "cluster, namespace")
	namespaces := "promcost_namespace_hourly_cost"
	return g.pick(name, fmt.Sprintf("sum by (%s) (%s)", by, name), fmt.Sprintf("topk(3, %s)", name), fmt.Sprintf("count without (resource) (%s)", name),
		fmt.Sprintf("avg_over_time(%s[30m])", name), fmt.Sprintf("max_over_time(sum(%s)[1h:10m])", namespaces), fmt.Sprintf("sum by (%s) (increase(promcost_namespace_cost_total[2h]))", by),
		fmt.Sprintf("%s{resource=%q} * %s", namespaces, g.pick("cpu", "ram", "pv"), strconv.Itoa(1+g.rng.IntN(9))), fmt.Sprintf("%s / on (cluster) group_left sum by (cluster) (%s)", namespaces, namespaces),
		name+" offset 30m", fmt.Sprintf("quantile by (%s) (0.9, %s)", by, name), fmt.Sprintf(`sum by (namespace) (%s) / on (namespace) group_left count by (namespace) (kube_pod_info)`, namespaces))
}
