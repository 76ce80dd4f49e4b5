// Package grafana is promcost's dashboards as code, written with Grafana's foundation SDK: tables of panels, a file a
// dashboard. It makes the JSON that package dashboards embeds, and is imported by the tests that write and check it only,
// so that neither it nor the SDK is part of promcost.
package grafana

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// variable is a choice that a dashboard offers.
type variable struct {
	name, label string
	metric      string // the metric whose label values are offered
	of          string // that label
	matchers    string // of the metric: the variables that this one depends on
	one         bool   // one value at a time, not several or all
}

// Variables of several dashboards.
var (
	clusterVariable    = variable{name: "cluster", label: "Cluster", metric: "promcost_namespace_hourly_cost", of: "cluster"}
	namespaceVariable  = variable{name: "namespace", label: "Namespace", metric: "promcost_namespace_hourly_cost", of: "namespace", matchers: ofCluster}
	controllerVariable = variable{name: "controller", label: "Controller", metric: "promcost_controller_hourly_cost", of: "controller", matchers: ofNamespace}
	labelVariable      = variable{name: "label", label: "Label", metric: "promcost_label_hourly_cost", of: "label", matchers: ofCluster, one: true}
	budgetVariable     = variable{name: "budget", label: "Budget", metric: "promcost_budget_limit", of: "budget"}
	instanceVariable   = variable{name: "instance", label: "Instance", metric: "promcost_build_info", of: "instance"}
)

// board is a dashboard: its variables beside the data source, and its panels, which flow from left to right.
type board struct {
	uid, title, help string
	from             string // the time range that it opens with, up to now
	step             string // that queries over time are asked in at least
	costs            prices // what its costs are, and whether that can be chosen
	variables        []variable
	panels           []panel
}

// prices are what the costs of a dashboard are, which its description says.
type prices uint8

const (
	chosenPrices prices = iota // what the variable prices says
	byBill                     // what was billed, and list prices where a panel says so
	asBudgets                  // each budget says which
	listPrices                 // as they were when it ran, and stay
)

// description returns what the description of a dashboard says about its costs.
func (p prices) description() string {
	return [...]string{
		chosenPrices: " Costs are at list prices or by bill: choose which at the top, or at one of the two links, as bills end some days ago. By bill wants promcost itself as the data source.",
		byBill:       " Costs are by bill, or at list prices where a panel says so; the other dashboards can switch.",
		asBudgets:    " Costs are at list prices, or by bill for budgets with cost: billed in the config file: there is nothing to switch here.",
		listPrices:   " The one cost here, Residual, is at list prices: bills have none.",
	}[p]
}

// Values of the variable prices: how the names of metrics end. Its texts are values of the parameter prices of promcost's page.
const (
	atList = "hourly_cost"
	billed = "billed_hourly_cost"
)

// pricesVariable chooses between list prices and bills.
func pricesVariable() cog.Builder[dashboard.VariableModel] {
	option := func(text, value string, selected bool) dashboard.VariableOption {
		return dashboard.VariableOption{
			Selected: &selected, Text: dashboard.StringOrArrayOfString{String: &text}, Value: dashboard.StringOrArrayOfString{String: &value},
		}
	}
	list := option("list", atList, true)
	return dashboard.NewCustomVariableBuilder("prices").Label("Costs").
		Description("At list prices, or by bill. By bill wants promcost itself as the data source, and a time range that ends where bills do.").
		Values(dashboard.StringOrMap{String: new("list : " + atList + ", billed : " + billed)}).
		Options([]dashboard.VariableOption{list, option("billed", billed, false)}).Current(list)
}

// pageURL is the address of promcost's page until package dashboards hands the files out.
const pageURL = "http://localhost:9003"

// pageVariable is the address of promcost's page.
func pageVariable() cog.Builder[dashboard.VariableModel] {
	return dashboard.NewConstantVariableBuilder("promcost").Label("promcost").
		Description("Address of promcost's page, where series lead.").Value(dashboard.StringOrMap{String: new(pageURL)})
}

// boards are all dashboards, in the order of their links.
func boards() []board {
	return []board{overview(), namespaces(), nodes(), storage(), rightSizing(), savings(), budgets(), bill(), itself()}
}

// tag is the tag of all dashboards. They link to each other by it.
const tag = "promcost"

// File is a dashboard as JSON, ready to be imported, and its name without a directory.
type File struct {
	Name string
	Text []byte
}

// Files makes all dashboards. An error is a mistake in this package.
func Files() ([]File, error) {
	var files []File
	for _, b := range boards() {
		built, err := b.build()
		if err != nil {
			return nil, fmt.Errorf("build dashboard %s: %w", b.uid, err)
		}
		text, err := json.MarshalIndent(built, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encode dashboard %s: %w", b.uid, err)
		}
		files = append(files, File{Name: b.uid + ".json", Text: append(text, '\n')})
	}
	return files, nil
}

// width is the width of Grafana's grid.
const width = 24

func (b *board) build() (dashboard.Dashboard, error) {
	d := dashboard.NewDashboardBuilder(b.title).Uid(b.uid).Description(b.help+b.costs.description()).Tags([]string{tag}).
		Time("now-"+b.from, "now").Timezone("browser").Refresh("5m").Tooltip(dashboard.DashboardCursorSyncCrosshair).Links(b.links()).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	for _, v := range b.variables {
		d.WithVariable(v.build())
	}
	if b.costs == chosenPrices {
		d.WithVariable(pricesVariable())
	}
	d.WithVariable(pageVariable())
	var x, y, below uint32 // of the next panel, and of the next line
	for i := range b.panels {
		p := &b.panels[i]
		if x+p.width > width {
			x, y = 0, below
		}
		d.WithPanel(p.build(uint32(i+1), x, y, b.step)) //nolint:gosec // a dashboard has a few dozen panels
		x += p.width
		below = max(below, y+p.usualHeight())
	}
	return d.Build()
}

// links lead to the other dashboards, and from one sort of costs to the other, each with a time range in which there are such costs.
func (b *board) links() []cog.Builder[dashboard.DashboardLink] {
	links := []cog.Builder[dashboard.DashboardLink]{
		dashboard.NewDashboardLinkBuilder("promcost").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).
			IncludeVars(true).KeepTime(true).AsDropdown(false),
	}
	if b.costs != chosenPrices {
		return links
	}
	kept := []string{"/d/" + b.uid + "?${datasource:queryparam}"}
	for _, v := range b.variables {
		kept = append(kept, "${"+v.name+":queryparam}")
	}
	for _, l := range [...]struct{ title, tooltip, prices, from, to string }{
		{"At list prices", "Up to now, at list prices", atList, "now-" + b.from, "now"},
		{"By bill", "By bill, up to where bills mostly end", billed, "now-10d", "now-3d"},
	} {
		links = append(links, dashboard.NewDashboardLinkBuilder(l.title).Type(dashboard.DashboardLinkTypeLink).Tooltip(l.tooltip).
			Url(strings.Join(kept, "&")+"&var-prices="+l.prices+"&from="+l.from+"&to="+l.to))
	}
	return links
}

func (v *variable) build() cog.Builder[dashboard.VariableModel] {
	selector := v.metric
	if v.matchers != "" {
		selector += "{" + v.matchers + "}"
	}
	query := fmt.Sprintf("label_values(%s, %s)", selector, v.of)
	b := dashboard.NewQueryVariableBuilder(v.name).Label(v.label).Datasource(source()).
		Query(dashboard.StringOrMap{String: new(query)}).Definition(query).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
	if v.one {
		return b
	}
	all := dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{String: new("All")},
		Value:    dashboard.StringOrArrayOfString{String: new("$__all")},
	}
	return b.Multi(true).IncludeAll(true).AllValue(".*").Current(all)
}
