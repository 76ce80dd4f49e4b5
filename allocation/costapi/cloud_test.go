package costapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billcheck"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/reconcile"
)

// ofBills reports whether a path answers from bills alone.
func ofBills(path string) bool {
	return strings.Contains(path, "/cloudCost") || strings.Contains(path, "/customCost") || path == "/model/reconciliation"
}

// fakeBills are bills of lines at hand. Lines of the resources that begin with i- are of nodes.
type fakeBills struct {
	lines []billing.Line
	err   error
}

func (f fakeBills) Book(context.Context) (*billing.Book, error) {
	if f.err != nil {
		return nil, f.err
	}
	rates := billing.Rates{Currency: "USD"}
	return billing.FromLines(billing.Options{
		Zone: time.UTC, Now: now,
		Bills: []billing.Bill{{Name: "aws", Rates: rates}, {Name: "datadog", Rates: rates}, {Name: "empty", Rates: rates}},
	}, f.lines), nil
}

func (fakeBills) Parts(context.Context, *billing.Book) func(*billing.Line) ([]reconcile.Part, error) {
	return func(l *billing.Line) ([]reconcile.Part, error) {
		of := reconcile.Asset{Kind: reconcile.Cloud}
		if strings.HasPrefix(l.Resource.ID, "i-") {
			of = reconcile.Asset{Kind: reconcile.Node, AssetKey: allocation.AssetKey{Cluster: "one", Name: "n1"}}
		}
		return []reconcile.Part{{Asset: of, Share: 1}}, nil
	}
}

func (f fakeBills) Check(_ context.Context, w allocation.Window) (*billcheck.Report, error) {
	return &billcheck.Report{Start: w.Start, End: w.End, UnbilledCost: 3.5, Warnings: []string{"half of it is odd"}}, f.err
}

// billed is a line of November 20th, 2026, from an hour on. Its costs are cost, and multiples of it.
func billed(item billing.Item, hour, hours int, cost float64) billing.Line {
	start := time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC)
	item.Account.Currency = "USD"
	item.Account.PeriodStart, item.Account.PeriodEnd = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	return billing.Line{
		Item: &item, Start: start, End: start.Add(time.Duration(hours) * time.Hour), Costs: billing.Costs{cost, 2 * cost, 3 * cost, 4 * cost},
		Known: [billing.NumCosts]bool{true, true, true, true}, Quantity: float64(hours), PricingQuantity: math.NaN(),
	}
}

// sampleBills are a node, a volume with a tag, a bucket, tax, a credit, and a vendor of SaaS.
func sampleBills() fakeBills {
	aws := func(service, category, kind, id string, tags ...billing.Tag) billing.Item {
		return billing.Item{
			Bill: "aws", Account: billing.Account{Provider: "AWS", ID: "payer", Name: "Example", SubID: "prod", SubName: "production"},
			Service: billing.Service{Name: service, Category: category}, Charge: billing.Charge{ConsumedUnit: "Hours"},
			Resource: billing.Resource{ID: id, Type: kind, Region: "us-east-1", Zone: "us-east-1a"}, Tags: tags,
		}
	}
	tax := aws("Tax", "Other", "", "")
	tax.Charge.Category = billing.Tax
	credit := aws("Amazon EC2", "Compute", "", "")
	credit.Charge.Category = billing.Credit
	vendor := billing.Item{
		Bill: "datadog", Account: billing.Account{Provider: "Datadog", ID: "dd-1", Name: "Example", SubID: "dd-1"},
		Service: billing.Service{Name: "Logs", Category: "Management and Governance"}, Charge: billing.Charge{Description: "Log events", ConsumedUnit: "Events"}, Resource: billing.Resource{ID: "index-1", Type: "Index"},
	}
	return fakeBills{lines: []billing.Line{
		billed(aws("Amazon EC2", "Compute", "Instance", "i-1"), 0, 24, 10),
		billed(aws("Amazon EC2", "Compute", "Instance", "i-1"), 0, 24, 2),
		billed(aws("Amazon EC2", "Storage", "Volume", "vol-1", billing.Tag{Name: "team", Value: "web"}), 0, 24, 4),
		billed(aws("Amazon S3", "Storage", "Bucket", "bucket-1", billing.Tag{Name: "team", Value: "data"}), 0, 24, 3),
		billed(tax, 0, 24, 1),
		billed(credit, 12, 12, -5),
		billed(vendor, 0, 24, 7),
		billed(vendor, 24, 24, 8), // of the next day
	}}
}

func cloudHandler() http.Handler {
	return newHandler(&fake{}, costapi.Config{Bills: sampleBills()})
}

func TestCloudCost(t *testing.T) {
	w := get(cloudHandler(), "/cloudCost", "window=2026-11-20T00:00:00Z,2026-11-22T00:00:00Z")
	if w.Code != 200 {
		t.Fatal(w.Body)
	}
	var indented strings.Builder
	encoder := json.NewEncoder(&indented)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(json.RawMessage(w.Body.Bytes())); err != nil {
		t.Fatal(err)
	}
	golden(t, "cloudcost.json", indented.String())
}

// TestCloudTable compares names, costs and parts of clusters.
func TestCloudTable(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		parts      []string
	}{
		{"provider", "Datadog 7.00 0.00, AWS 15.00 0.48", []string{"aggregate=provider", "sortByOrder=asc"}},
		{"category", "Virtual Machine 12.00 1.00, Other 6.00 0.00, Disk 4.00 0.00", []string{"aggregate=category"}},
		{"two fields", "AWS/Amazon EC2 11.00 0.57, Datadog/Logs 7.00 0.00, AWS/Amazon S3 3.00 0.00, AWS/Tax 1.00 0.00", []string{"aggregate=provider,service"}},
		{"a tag", "__unallocated__ 15.00 0.48, web 4.00 0.00, data 3.00 0.00", []string{"aggregate=label:team"}},
		{"any case", "payer 15.00 0.48, dd-1 7.00 0.00", []string{"aggregate=invoiceentityid"}},
		{"invoiced", "AWS 30.00 0.48, Datadog 14.00 0.00", []string{"aggregate=provider", "costMetric=InvoicedCost"}},
		{"list", "AWS 60.00 0.48, Datadog 28.00 0.00", []string{"aggregate=provider", "costMetric=listCost"}},
		{"by name", "Datadog 7.00 0.00, AWS 15.00 0.48", []string{"aggregate=provider", "sortBy=name"}},
		{"by part", "AWS 15.00 0.48, Datadog 7.00 0.00", []string{"aggregate=provider", "sortBy=kubernetesPercent"}},
		{"limit", "Virtual Machine 12.00 1.00", []string{"aggregate=category", "limit=1"}},
		{"offset", "Disk 4.00 0.00", []string{"aggregate=category", "offset=2", "limit=5"}},
		{"offset beyond", "", []string{"aggregate=category", "offset=9"}},
		{"filter service", "AWS 3.00 0.00", []string{"aggregate=provider", `filter=service:"Amazon S3"`}},
		{"filter label", "AWS 4.00 0.00", []string{"aggregate=provider", `filter=label[team]:"web"`}},
		{"filter without label", "AWS 8.00 0.67, Datadog 7.00 0.00", []string{"aggregate=provider", `filter=label!:"team"`}},
		{"filter accountID", "Datadog 7.00 0.00", []string{"aggregate=provider", `filter=accountID:"dd-1"`}},
		{"kind and asset", "node/n1 12.00 1.00, cloud/__unallocated__ 10.00 0.00", []string{"aggregate=kind,asset"}},
		{"filter kind", "Datadog 7.00 0.00, AWS 3.00 0.00", []string{"aggregate=provider", `filter=kind:"cloud"`}},
		{"filter invoiceEntityID", "AWS 15.00 0.48", []string{"aggregate=provider", `filter=invoiceEntityID<~:"pay"`}},
		{"filter provider", "Datadog 7.00 0.00", []string{"aggregate=provider", `filter=provider!:"AWS"`}},
		{"filter providerID", "AWS 12.00 1.00", []string{"aggregate=provider", `filter=providerID:"i-1"`}},
		{"filter regionID", "AWS 15.00 0.48", []string{"aggregate=provider", `filter=regionID:"us-east-1"`}},
		{"filter availabilityZone", "AWS 15.00 0.48", []string{"aggregate=provider", `filter=availabilityZone:"us-east-1a"`}},
		{"filter category", "AWS 12.00 1.00", []string{"aggregate=provider", `filter=category:"Virtual Machine"`}},
		{"filter both", "", []string{"aggregate=provider", `filter=category:"Disk"+service:"Tax"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := get(cloudHandler(), "/cloudCost/view/table", append(tc.parts, "window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z")...)
			var answer struct {
				Data []struct {
					Name              string
					Cost              float64
					KubernetesPercent float64
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
				t.Fatalf("%v: %s", err, w.Body)
			}
			var rows []string
			for _, r := range answer.Data {
				rows = append(rows, fmt.Sprintf("%s %.2f %.2f", r.Name, r.Cost, r.KubernetesPercent))
			}
			if diff := cmp.Diff(tc.want, strings.Join(rows, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCloudAnswers(t *testing.T) {
	day := "window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"
	for _, tc := range []struct {
		name, path, want string
		parts            []string
	}{
		{"totals", "/cloudCost/view/totals", `"data":{"combined":{"name":"Totals","labels":null,"kubernetesPercent":0.375,"cost":22},"numResults":2}`, []string{day, "aggregate=provider"}},
		{"graph", "/cloudCost/view/graph", `"data":[{"start":"2026-11-20T00:00:00Z","end":"2026-11-21T00:00:00Z","items":[{"name":"AWS","value":15},{"name":"Datadog","value":7}]},` +
			`{"start":"2026-11-21T00:00:00Z","end":"2026-11-22T00:00:00Z","items":[{"name":"Datadog","value":8}]}]`, []string{"window=2026-11-20T00:00:00Z,2026-11-22T00:00:00Z", "aggregate=provider", "accumulate=day"}},
		{"graph of all", "/cloudCost/view/graph", `"items":[{"name":"AWS","value":15},{"name":"Datadog","value":15}]`, []string{"window=2026-11-20T00:00:00Z,2026-11-22T00:00:00Z", "aggregate=provider", "accumulate=true"}},
		{"trends", "/model/cloudCost/view/trends", `"data":{"comparisonWindow":{"start":"2026-11-20T00:00:00Z","end":"2026-11-21T00:00:00Z"},"trends":{"AWS":{"value":-1,"isInfinite":false,"isNaN":false},` +
			`"Datadog":{"value":0.1428571428571428,"isInfinite":false,"isNaN":false}},"window":{"start":"2026-11-21T00:00:00Z","end":"2026-11-22T00:00:00Z"}}`, []string{"window=2026-11-21T00:00:00Z,2026-11-22T00:00:00Z", "aggregate=provider"}},
		{"trends of names", "/model/cloudCost/view/trends", `"trends":{"AWS":{"value":0,"isInfinite":true,"isNaN":false},"GCP":{"value":0,"isInfinite":false,"isNaN":true}}`, []string{day, "aggregate=provider", "names=AWS,GCP"}},
		{"trends of a filter", "/model/cloudCost/view/trends", `"trends":{"Datadog":{"value":0.1428571428571428,`, []string{"window=2026-11-21T00:00:00Z,2026-11-22T00:00:00Z", "aggregate=provider", `filter=provider:"Datadog"`, "costMetricName=ListCost"}},
		{"trends of a first filter", "/model/cloudCost/view/trends", `"trends":{"Datadog":{"value":0.1428571428571428,`, []string{"window=2026-11-21T00:00:00Z,2026-11-22T00:00:00Z", "aggregate=provider", "filterProviders=data*", "CostMetricName=ListCost"}},
		{"totals of first filters", "/model/cloudCost/view/totals", `"cost":15},"numResults":1`, []string{day, "aggregate=provider", "filterProviders=AWS,GCP", "filterInvoiceEntityIDs=*", "filterLabels="}},
		{"a first filter beside a filter", "/model/cloudCost", `"warnings":["parameter filterProviders has no effect beside filter"`, []string{day, `filter=provider:"AWS"`, "filterProviders=Datadog"}},
		{"Kubecost's totals", "/model/cloudCost/view/totals", `"cost":22`, []string{day, "aggregate=provider"}},
		{"Kubecost's graph", "/model/cloudCost/view/graph", `"items":[{"name":"AWS","value":15}`, []string{day, "aggregate=provider"}},
		{"Kubecost's table", "/model/cloudCost/view/table", `"data":[{"name":"AWS"`, []string{day, "aggregate=provider", "chartType=costovertime"}},
		{"status of vendors", "/customCost/status", `"data":{"enabled":true,"domains":["Datadog"],"coverageDaily":{"Datadog":{"start":"2026-11-20T00:00:00Z","end":"2026-11-22T00:00:00Z"}}`, nil},
		{"half a day", "/cloudCost/view/totals", `"cost":13.5`, []string{"window=2026-11-20T00:00:00Z,2026-11-20T12:00:00Z", "aggregate=provider"}},
		{"days of a duration", "/cloudCost/view/totals", `"cost":30`, []string{"window=2d", "aggregate=provider"}},
		{"csv", "/cloudCost/view/table", "Name,K8s Utilization,Total,Window\nAWS,0.480,15.000,\"2026-11-20T00:00:00Z,2026-11-21T00:00:00Z\"\n", []string{day, "aggregate=provider", "format=csv", "limit=1"}},
		{"status", "/cloudCost/status", `"key":"datadog","lastRun"`, nil},
		{"status of nothing", "/cloudCost/status", `"connectionStatus":"no files were found"`, nil},
		{"custom total", "/customCost/total", `"totalCost":14,"totalCostType":"blended","customCosts":[{"id":"index-1","zone":"","account_name":"dd-1","charge_category":"Usage","description":"Log events",` +
			`"resource_name":"index-1","resource_type":"Index","provider_id":"index-1","cost":14,"list_unit_price":1.1666666666666667,"usage_quantity":24,"usage_unit":"Events","domain":"Datadog",` +
			`"cost_source":"Management and Governance","aggregate":"Datadog","cost_type":"billed"}]`, []string{day, "aggregate=domain"}},
		{"custom list", "/customCost/total", `"totalCost":28,"totalCostType":"list"`, []string{day, "costType=list"}},
		{"custom series", "/customCost/timeseries", `{"window":{"start":"2026-11-21T00:00:00Z","end":"2026-11-22T00:00:00Z"},"totalCost":16`, []string{"window=2026-11-20T00:00:00Z,2026-11-22T00:00:00Z", "aggregate=domain"}},
		{"custom filter", "/customCost/total", `"totalCost":0`, []string{day, `filter=domain:"Snowflake"`}},
		{"reconciliation", "/model/reconciliation", `"unbilledCost":3.5`, []string{day}},
		{"warnings of reconciliation", "/model/reconciliation", `"warnings":["half of it is odd","no line of a bill was read`, []string{day}},
		{"jmespath", "/model/cloudCost", `"data":2`, []string{"window=2026-11-20T00:00:00Z,2026-11-22T00:00:00Z", "jmespath=length(sets)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := get(cloudHandler(), tc.path, tc.parts...)
			if w.Code != 200 || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("status %d, want %s in %s", w.Code, tc.want, w.Body)
			}
		})
	}
}

func TestCloudErrors(t *testing.T) {
	for _, tc := range []struct {
		name, path string
		bills      costapi.Bills
		parts      []string
		status     int
		want       string
	}{
		{"no window", "/cloudCost", sampleBills(), nil, 400, "parameter window is missing"},
		{"unknown field", "/cloudCost", sampleBills(), []string{"aggregate=servce"}, 400, `did you mean \"service\"?`},
		{"label without name", "/cloudCost", sampleBills(), []string{"aggregate=label:"}, 400, "write label:team"},
		{"a label of custom costs", "/customCost/total", sampleBills(), []string{"aggregate=label:team"}, 400, "unknown field"},
		{"unknown metric", "/cloudCost/view/table", sampleBills(), []string{"costMetric=cheap"}, 400, "use listCost or netCost"},
		{"unknown order", "/cloudCost/view/table", sampleBills(), []string{"sortBy=date"}, 400, "use cost or name or kubernetesPercent"},
		{"filter", "/cloudCost", sampleBills(), []string{`filter=namespace:"web"`}, 400, "invoiceEntityID"},
		{"filter of custom costs", "/customCost/total", sampleBills(), []string{`filter=provider:"web"`}, 400, "domain"},
		{"unknown cost type", "/customCost/total", sampleBills(), []string{"costType=net"}, 400, "use blended or billed or list"},
		{"bills that fail", "/cloudCost", fakeBills{err: fmt.Errorf("%w: bucket is gone", allocation.ErrUpstream)}, nil, 502, "bucket is gone"},
		{"bills that are broken", "/cloudCost/status", fakeBills{err: errors.New("odd")}, nil, 500, "odd"},
		{"no reconciliation", "/model/reconciliation", nil, nil, 200, `"data":{},"warnings":["no bills are configured`},
		{"reconciliation fails", "/model/reconciliation", fakeBills{err: errors.New("odd")}, nil, 500, "odd"},
		{"no bills", "/cloudCost/view/table", nil, nil, 200, "no bills are configured"},
		{"no bills for a status of vendors", "/customCost/status", nil, nil, 200, `"data":{"enabled":false,"domains":null},"warnings":["no bills are configured`},
		{"no bills for a status", "/cloudCost/status", nil, nil, 200, `"data":[],"warnings":["no bills are configured`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parts := tc.parts
			if tc.name != "no window" && !strings.HasSuffix(tc.path, "status") {
				parts = append(parts, "window=yesterday")
			}
			w := get(newHandler(&fake{}, costapi.Config{Bills: tc.bills}), tc.path, parts...)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("status %d, want %d and %s in %s", w.Code, tc.status, tc.want, w.Body)
			}
		})
	}
}

// TestCloudRowsAreBounded asks for a row for each of many resources.
func TestCloudRowsAreBounded(t *testing.T) {
	var bills fakeBills
	for i := range 20 {
		line := billed(billing.Item{Bill: "aws", Account: billing.Account{Provider: "AWS", ID: "payer"}, Resource: billing.Resource{ID: strconv.Itoa(i)}}, 0, 24, 1)
		bills.lines = append(bills.lines, line)
	}
	h := newHandler(&fake{}, costapi.Config{Bills: bills, MaxRows: 15})
	if w := get(h, "/cloudCost", "window=yesterday"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "more than 15 rows") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	h = newHandler(&fake{}, costapi.Config{Bills: bills})
	if w := get(h, "/cloudCost/view/graph", "window=yesterday"); !strings.Contains(w.Body.String(), `{"name":"Other","value":10}]`) {
		t.Errorf("no other costs: %s", w.Body)
	}
}
