package grafana

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// Units of values. Money is in dollars here, and changed to the currency of costs when the dashboards are handed out.
const (
	money   = units.Dollars
	ratio   = units.PercentUnit
	count   = units.Short
	seconds = units.Seconds
	rate    = "ops"
)

// kind is how a panel shows its queries.
type kind uint8

const (
	number  kind = iota // the newest value
	bars                // the newest values of all series
	lines               // series over time
	areas               // series over time, one upon the other
	columns             // a table of the newest values, a column a query
)

// query is an expression and what its result is called: a legend, in a table the title of its column.
type query struct {
	expr, name string
	unit       string // of a column, if it differs from the panel's
}

// panel is a row of a dashboard's table of panels.
type panel struct {
	kind    kind
	title   string
	help    string
	unit    string
	width   uint32 // of 24
	height  uint32 // of the panel; 0: what its kind usually has
	queries []query
	links   []*link // of the first query
}

// heights are the usual heights of the kinds.
var heights = map[kind]uint32{number: 4, bars: 8, lines: 8, areas: 8, columns: 9}

func (p *panel) usualHeight() uint32 {
	if p.height != 0 {
		return p.height
	}
	return heights[p.kind]
}

// source is the data source that the variable names.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// targets are the queries of the panel, as instant queries if only the newest value is shown.
func (p *panel) targets() []cog.Builder[variants.Dataquery] {
	targets := make([]cog.Builder[variants.Dataquery], len(p.queries))
	for i, q := range p.queries {
		b := prometheus.NewDataqueryBuilder().Expr(q.expr).RefId(string(rune('A' + i))).Datasource(source())
		switch p.kind {
		case columns:
			b.Instant().Format(prometheus.PromQueryFormatTable)
		case number, bars:
			b.Instant().Format(prometheus.PromQueryFormatTimeSeries).LegendFormat(q.name)
		default:
			b.Range().Format(prometheus.PromQueryFormatTimeSeries).LegendFormat(q.name)
		}
		targets[i] = b
	}
	return targets
}

// build is the panel as Grafana has it, with its number, its place and the least step of its queries over time.
func (p *panel) build(id, x, y uint32, step string) cog.Builder[dashboard.Panel] {
	return &headed{panel: p, shown: p.shown(step), id: id, pos: dashboard.GridPos{X: x, Y: y, W: p.width, H: p.usualHeight()}}
}

// headed is a builder of a panel that can set what panels of all kinds have.
type headed struct {
	*panel
	shown cog.Builder[dashboard.Panel]
	id    uint32
	pos   dashboard.GridPos
}

// Build implements cog.Builder.
func (h *headed) Build() (dashboard.Panel, error) {
	built, err := h.shown.Build()
	if err != nil {
		return built, err
	}
	data := source()
	built.Id, built.GridPos, built.Title, built.Description, built.Datasource = &h.id, &h.pos, &h.title, &h.help, &data
	if built.FieldConfig == nil {
		built.FieldConfig = dashboard.NewFieldConfigSource()
	}
	built.FieldConfig.Defaults.Unit = &h.unit
	if h.kind == number && h.prices() {
		built.FieldConfig.Defaults.NoValue = new("none, or not billed yet")
	}
	for _, target := range h.targets() {
		t, err := target.Build()
		if err != nil {
			return built, fmt.Errorf("build query of panel %q: %w", h.title, err)
		}
		built.Targets = append(built.Targets, t)
	}
	return built, nil
}

// shown is the builder of the panel's visualization.
func (p *panel) shown(step string) cog.Builder[dashboard.Panel] {
	newest := common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})
	switch p.kind {
	case number:
		return stat.NewPanelBuilder().ReduceOptions(newest).GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeNone)
	case bars:
		return bargauge.NewPanelBuilder().Min(0).ReduceOptions(newest).Orientation(common.VizOrientationHorizontal)
	case columns:
		return p.table()
	default:
		return p.series(step)
	}
}

// series is a panel over time.
func (p *panel) series(step string) cog.Builder[dashboard.Panel] {
	legend := common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).
		Placement(common.LegendPlacementRight).Calcs([]string{"lastNotNull", "mean"}).SortBy("Last *").SortDesc(true)
	b := timeseries.NewPanelBuilder().Legend(legend).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		ShowPoints(common.VisibilityModeNever).Interval(step)
	if p.kind == areas {
		b.FillOpacity(40).LineWidth(0).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
	}
	if len(p.links) > 0 {
		b.OverrideByQuery("A", []dashboard.DynamicConfigValue{linksValue(p.links, "__field.labels")})
	}
	return b
}

// table is a panel with a row for each label set and a column for each label and query, the first query's largest first.
func (p *panel) table() cog.Builder[dashboard.Panel] {
	b := table.NewPanelBuilder().Filterable(true).
		SortBy([]cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(p.queries[0].name).Desc(true)})
	names := map[string]any{"Value": p.queries[0].name} // as the only column with values is called
	for i, q := range p.queries {
		if len(p.queries) > 1 {
			names["Value #"+string(rune('A'+i))] = q.name
		}
		if q.unit != "" {
			b.OverrideByName(q.name, []dashboard.DynamicConfigValue{{Id: "unit", Value: q.unit}})
		}
	}
	b.WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}})
	b.WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": map[string]any{"Time": true}, "renameByName": names,
	}})
	for i, l := range p.links {
		label := l.shownAt()
		elsewhere := func(o *link) bool { return o.shownAt() != label }
		if slices.IndexFunc(p.links, func(o *link) bool { return !elsewhere(o) }) == i { // the first of its column
			b.OverrideByName(label, []dashboard.DynamicConfigValue{linksValue(slices.DeleteFunc(slices.Clone(p.links), elsewhere), "__data.fields")})
		}
	}
	return b
}

// show begins a row of a table of panels.
func show(k kind, width uint32, unit, title, help string) panel {
	return panel{kind: k, width: width, unit: unit, title: title, help: help}
}

// value adds a query.
func (p panel) value(expr, name string) panel { return p.column(expr, name, "") }

// column adds a query whose values have a unit of their own.
func (p panel) column(expr, name, unit string) panel {
	p.queries = append(slices.Clip(p.queries), query{expr: expr, name: name, unit: unit})
	return p
}

// linked adds links from the rows or series of its first query.
func (p panel) linked(links ...*link) panel {
	p.links = links
	return p
}

// prices reports whether the variable prices chooses what it shows.
func (p *panel) prices() bool {
	return slices.ContainsFunc(p.queries, func(q query) bool { return strings.Contains(q.expr, chosen) })
}

// tall sets a height other than the kind's.
func (p panel) tall(height uint32) panel {
	p.height = height
	return p
}
