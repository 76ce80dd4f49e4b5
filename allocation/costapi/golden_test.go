package costapi_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// richHandler is the API over the rich sets, which it checks at every pass.
func richHandler(cfg costapi.Config) http.Handler {
	cfg.Now, cfg.Check = func() time.Time { return now }, true
	if cfg.Custom == nil {
		cfg.Custom = func() (allocation.CustomPrices, bool) {
			return allocation.CustomPrices{Node: [allocation.NumResources]float64{1, 0.5, 8}, Storage: 0.25, LoadBalancer: 0.125, Egress: 0.75}, true
		}
	}
	return costapi.New(&rich{}, log.NewNopLogger(), cfg)
}

const richDay = "window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"

// TestEndpoints holds the whole answer of each endpoint.
func TestEndpoints(t *testing.T) {
	for _, tc := range []struct {
		file, path string
		params     []string
	}{
		{"containers.json", "/model/allocation", []string{"includeProportionalAssetResourceCosts=true"}},
		{"namespaces.json", "/model/allocation", []string{"aggregate=namespace", "shareNamespaces=kube-system", "shareCost=73", "accumulate=true"}},
		{"summary.json", "/model/allocation/summary", []string{"aggregate=namespace"}},
		{"opencost_summary.json", "/allocation/summary", []string{"aggregate=namespace", "step=12h"}},
		{"topline.json", "/model/allocation/summary/topline", []string{"aggregate=namespace"}},
		{"trends.json", "/model/allocation/trends", []string{"aggregate=namespace", "names=web,nowhere"}},
		{"change.json", "/model/allocation/change", []string{"aggregate=namespace", "drill=controller", "baseline=2026-11-18T00:00:00Z,2026-11-18T12:00:00Z", "limit=2"}},
		{"anomalies.json", "/model/anomalies", []string{"aggregate=namespace", "filter=namespace:\"web\""}},
		{"forecast.json", "/forecasting/forecast/allocation", []string{"predictionWindow=2d", "aggregate=namespace"}},
		{"forecast_assets.json", "/forecasting/forecast/assets", []string{"period=week", "aggregate=type"}},
		{"change.csv", "/model/allocation/change", []string{"aggregate=namespace", "drill=pod", "baseline=2026-11-18T00:00:00Z,2026-11-18T12:00:00Z", "format=csv"}},
		{"asset_diff.json", "/model/assets/diff", []string{"before=2026-11-18T00:00:00Z,2026-11-18T12:00:00Z"}},
		{"values.json", "/model/allocation/autocomplete", []string{"field=controllerName"}},
		{"rich_assets.json", "/model/assets", nil},
		{"rich_assetmap.json", "/assets", nil},
		{"asset_types.json", "/model/assets", []string{"aggregate=type"}},
		{"asset_clusters.json", "/model/assets", []string{"aggregate=cluster"}},
		{"asset_topline.json", "/model/assets/topline", nil},
		{"ack.json", "/v2/allocation", nil},
		{"ack.csv", "/v2/allocation", []string{"format=csv", "aggregate=controller"}},
		{"namespaces.csv", "/model/allocation", []string{"aggregate=namespace", "format=csv"}},
		{"full.csv", "/model/allocation", []string{"format=csv", "csvColumns=full"}},
		{"assets.csv", "/model/assets", []string{"format=csv"}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			w := get(richHandler(costapi.Config{}), tc.path, append(tc.params, richDay)...)
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %.500s", w.Code, w.Body)
			}
			body := w.Body.String()
			if strings.HasSuffix(tc.file, ".json") {
				var indented bytes.Buffer
				if err := json.Indent(&indented, w.Body.Bytes(), "", " "); err != nil {
					t.Fatalf("%v in %.500s", err, body)
				}
				body = indented.String()
			} else if _, err := csv.NewReader(strings.NewReader(body)).ReadAll(); err != nil {
				t.Error(err)
			}
			golden(t, tc.file, body)
		})
	}
}

// TestParameters holds what every parameter does to the answer: its rows, their costs, and the warnings.
func TestParameters(t *testing.T) {
	var b strings.Builder
	for _, section := range parameterCases {
		for _, params := range section.params {
			w := get(richHandler(costapi.Config{}), section.path, append(strings.Fields(params), richDay)...)
			fmt.Fprintf(&b, "%s %s\n", section.path, params)
			writeLines(&b, w.Body.Bytes())
		}
	}
	golden(t, "parameters.txt", b.String())
}

// parameterCases are requests of one day; each parameter is in one of them.
var parameterCases = []struct {
	path   string
	params []string
}{
	{"/model/allocation", []string{
		"aggregate=cluster", "aggregate=namespace", "aggregate=node", "aggregate=controllerKind", "aggregate=controller", "aggregate=deployment",
		"aggregate=service", "aggregate=pod", "aggregate=label:app", "aggregate=annotation:team", "aggregate=team", "aggregate=environment",
		"aggregate=cluster,namespace,label:app", "aggregate=all", "aggregate=label:app labelNames=value",
		"aggregate=namespace idle=false", "aggregate=nodePool", "aggregate=cluster,nodePool splitIdle=true", "aggregate=nodePool idleByNode=false", "aggregate=nodePool shareIdle=true", "aggregate=namespace splitIdle=true", "aggregate=namespace splitIdle=true idleByNode=true",
		"aggregate=namespace shareIdle=true", "aggregate=namespace shareIdle=even", "aggregate=namespace shareIdle=weighted idleByNode=true",
		"aggregate=namespace shareIdle=true splitIdle=true", "aggregate=namespace shareIdle=true idle=false",
		"aggregate=namespace shareNamespaces=kube-system,b*", "aggregate=namespace shareLabels=env:staging,app:train", `aggregate=namespace share=cluster!:"one"`,
		"aggregate=namespace shareCost=730", "aggregate=namespace shareCost=730 shareSplit=even", "aggregate=namespace shareTenancyCosts=false",
		"aggregate=namespace sharelb=true", "aggregate=namespace shareNamespaces=kube-system includeSharedCostBreakdown=false",
		"aggregate=namespace shareNamespaces=kube-system shareIdle=true filterNamespaces=web",
		"aggregate=namespace reconcile=false", "aggregate=namespace external=true",
		"aggregate=namespace costMetric=hourly", "aggregate=namespace costUnit=monthly",
		"aggregate=namespace sortBy=cpuCost limit=2", "aggregate=namespace limit=2 offset=1", "aggregate=namespace sortBy=name sortByOrder=desc limit=2", "aggregate=namespace sortBy=efficiency sortByOrder=asc limit=1",
		"aggregate=namespace fields=name,totalCost", "aggregate=namespace includeAggregatedMetadata=true fields=properties", "propertyNames=singular filterPods=front-1 filterContainers=nginx fields=properties",
		"aggregate=namespace step=1h accumulate=day", "aggregate=namespace accumulate=week", "aggregate=namespace step=1h accumulate=all accumulateBy=none limit=1 fields=totalCost",
	}},
	{"/model/allocation", []string{
		"aggregate=namespace idle=false filterClusters=arn*", "aggregate=pod idle=false filterNodes=n2", "aggregate=pod filterNodePools=gpu", `aggregate=nodePool filter=nodePool:"gpu"`, "aggregate=namespace idle=false filterNamespaces=web,bat*",
		"aggregate=pod idle=false filterControllerKinds=Job,StatefulSet", "aggregate=pod idle=false filterControllers=front", "aggregate=pod idle=false filterControllers=daemonset:pro*,job:nothing",
		"aggregate=pod idle=false filterPods=front-1,sum-*", "aggregate=container idle=false filterContainers=sidecar", "aggregate=pod idle=false filterAnnotations=note:x",
		"aggregate=pod idle=false filterLabels=app:front,env:stag*", "aggregate=pod idle=false filterServices=fr*", "aggregate=pod idle=false filterDepartments=__unallocated__",
		"aggregate=pod idle=false filterEnvironments=prod", "aggregate=pod idle=false filterOwners=nobody", "aggregate=pod idle=false filterProducts=train,sum", "aggregate=pod idle=false filterTeams=red,blue",
		"aggregate=pod idle=false filterNamespaces=web filterClusters=one", `aggregate=pod idle=false filter=namespace:"ml" filterNamespaces=web`,
	}},
	{"/allocation", []string{
		"aggregate=namespace", "aggregate=namespace includeIdle=true", "aggregate=namespace shareIdle=true", "aggregate=namespace includeIdle=true shareIdle=true",
		"aggregate=label:app", "aggregate=namespace step=12h accumulate=true", "aggregate=namespace includeIdle=true includeProportionalAssetResourceCosts=true fields=proportionalAssetResourceCosts",
	}},
	{"/model/assets", []string{
		"aggregate=type", "aggregate=category", "aggregate=cluster,type", "aggregate=provider", "aggregate=project", "aggregate=providerID", "aggregate=account",
		"aggregate=service", "aggregate=name", "aggregate=nodePool", "filterNodePools=gpu", "aggregate=team", "aggregate=department", "aggregate=label:node",
		"filterTypes=node,Network", "filterNames=n*", "filterClusters=one aggregate=type", "filterCategories=storage", "filterProviders=GCP", "filterProviderIDs=vol-1", "filterAccounts=1",
		"filterProjects=proj aggregate=type", "filterServices=kubernetes aggregate=category", "filterRegions=eu-1 aggregate=type", "filterLabels=node:n2 aggregate=type",
		`filter=assetType!:"node"+cluster:"one" aggregate=type`, `filter=label[node]<~:"m"|(category:"Network"+name~:"front")`, `filter=label:"rack" aggregate=type`,
		"disableAdjustments=true aggregate=type", "accumulate=true aggregate=type", "limit=2", "offset=6 sortBy=name", "fields=type,totalCost limit=1",
	}},
	{"/model/allocation/autocomplete", []string{
		"field=cluster", "field=NAMESPACE", "field=node", "field=nodePool", "field=controllerkind", "field=pod search=FRONT", "field=container limit=2", "field=service", "field=label", "field=label:app",
		"field=namespaceLabel", "field=namespaceLabel:tier", "field=annotation", "field=annotation:note", "field=account", "field=pod filterNamespaces=web",
	}},
	{"/assets/autocomplete", []string{"field=assetType", "field=category", "field=name search=N1", "field=provider", "field=project", "field=providerID", "field=cluster", "field=service", "field=label", "field=label:node", "field=account"}},
	{"/v2/allocation", []string{"", "aggregate=namespace", "aggregate=controller", "aggregate=controllerKind", `filter=namespace:"web" aggregate=namespace`, "aggregate=namespace step=12h"}},
}

// writeLines writes the data of an answer, a line a row: its name and every number that is not 0 and tells of money.
func writeLines(b *strings.Builder, body []byte) {
	var answer struct {
		Data     json.RawMessage
		Message  string
		Warnings []string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		fmt.Fprintf(b, "  %v\n", err)
	}
	var sets []map[string]map[string]json.RawMessage
	switch {
	case answer.Message != "":
		fmt.Fprintf(b, "  error: %s\n", answer.Message)
	case json.Unmarshal(answer.Data, &sets) != nil:
		fmt.Fprintf(b, "  %s\n", answer.Data)
	}
	for i, set := range sets {
		if i > 0 {
			b.WriteString("  --\n")
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			fmt.Fprintf(b, "  %s:", name)
			for _, field := range slices.Sorted(maps.Keys(set[name])) {
				value := string(set[name][field])
				if shown[field] && value != "0" && value != "null" || !shown[field] && len(set[name]) <= 2 {
					fmt.Fprintf(b, " %s=%s", field, value)
				}
			}
			b.WriteString("\n")
		}
	}
	for _, warning := range answer.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", warning)
	}
}

// shown are the members that the lines show.
var shown = map[string]bool{
	"cpuCost": true, "ramCost": true, "gpuCost": true, "cpuCostIdle": true, "ramCostIdle": true, "gpuCostIdle": true, "pvCost": true, "networkCost": true,
	"loadBalancerCost": true, "sharedCost": true, "externalCost": true, "totalCost": true, "type": true, "cost": true, "costRatio": true, "customCost": true,
	"sharedCostBreakdown": true,
}
