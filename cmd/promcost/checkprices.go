package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// defineCheckPrices is the subcommand that reads prices, and says what prices each thing of a source.
func defineCheckPrices(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &checkFlags{source: addSourceFlags(clause), cost: addCostFlags(clause)}
	oneOf(clause, "output", "Output format: table, or wide (all columns, however wide).", &f.output, "table", wideOutput).Short('o')
	clause.Flag("baseline", "Price sheet to compare with: show what each thing of the source costs by both.").PlaceHolder("FILE").StringVar(&f.baseline)
	clause.Flag("window", "What time to look at. A duration ends now, or where the newest block does if only blocks are read.").Default("1h").StringVar(&f.window)
	return func(ctx context.Context) error { return checkPrices(ctx, f, io, logs) }
}

// checkPrices prints the prices and, if there is a source, where the price of each thing comes from.
func checkPrices(ctx context.Context, f *checkFlags, io streams, logs *logFlags) error {
	s, err := config.Read(f.cost.Flags)
	if err != nil {
		return err
	}
	for _, w := range s.Warnings(time.Now()) {
		if err := warn(io.err, w); err != nil {
			return err
		}
	}
	if err := writeLine(io.out, "prices: "+s.ExplainPrices()+", in "+s.Currency); err != nil {
		return err
	}
	if !f.source.given() {
		if f.baseline != "" {
			return usageErrorf("--baseline compares prices of what a source has: give --prometheus.url or --tsdb.path")
		}
		return writeLine(io.out, "give --prometheus.url or --tsdb.path to see what is priced by what")
	}
	if f.baseline != "" {
		if err := checkBaseline(f.baseline); err != nil {
			return err
		}
	}
	set, err := f.compute(ctx, io, logs)
	if err != nil {
		return err
	}
	for _, w := range set.Warnings {
		if !notices.IsAboutSuspiciousPrices(w) {
			continue // the tables say which prices are defaults
		}
		if err := warn(io.err, w); err != nil {
			return err
		}
	}
	for _, w := range differingPrices(set, s.Rates) {
		if err := warn(io.err, w); err != nil {
			return err
		}
	}
	if f.baseline != "" {
		return f.compare(ctx, set, io, logs)
	}
	return printPrices(set, s, io, io.layout(f.output))
}

// compute computes the window as one set.
func (f *checkFlags) compute(ctx context.Context, io streams, logs *logFlags) (*allocation.Set, error) {
	svc, err := openService(f.source, f.cost, io.err, logs)
	if err != nil {
		return nil, err
	}
	defer svc.Close()
	w, err := f.parseWindow(svc)
	if err != nil {
		return nil, err
	}
	stop := showProgress(io.err, svc.status)
	defer stop()
	for set, err := range svc.ledger.Sets(ctx, allocation.Query{Window: w, Resolution: allocation.AutoResolution}) {
		if err != nil {
			return nil, fmt.Errorf("check prices: %w", err)
		}
		return set, nil
	}
	return nil, errors.New("check prices: there is no answer")
}

// pricedNode is a node with what it costs and why.
type pricedNode struct {
	cells   []string
	cost    float64
	sources []string
}

// printPrices prints each node with its average prices and their sources, dearest first, then everything else with a price, and then what has
// default prices.
func printPrices(set *allocation.Set, s *config.Settings, io streams, layout texttable.Layout) error {
	var b strings.Builder
	var missing []string
	nodes := make([]pricedNode, len(set.Nodes))
	for i := range set.Nodes {
		n := &set.Nodes[i]
		nodes[i] = priceNode(n, s, time.Now())
		if slices.ContainsFunc(nodes[i].sources, func(s string) bool { return rates.Kind(s) == rates.DefaultSource }) {
			name := n.Name
			if set.Nodes[0].Cluster != set.Nodes[len(set.Nodes)-1].Cluster { // they are in the order of clusters
				name = n.Cluster + "/" + name
			}
			missing = append(missing, name)
		}
	}
	slices.SortStableFunc(nodes, func(x, y pricedNode) int { return cmp.Compare(y.cost, x.cost) })
	b.WriteString("\n")
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "CLUSTER", Rank: 3, Long: texttable.Cut},
		{Name: "NODE", Long: texttable.Cut},
		{Name: "TYPE", Rank: 2, Long: texttable.Cut},
		{Name: "REGION", Rank: 5},
		{Name: "SPOT", Rank: 1},
		{Name: "CPU", Right: true},
		{Name: "RAM", Right: true},
		{Name: "GPU", Right: true, Spare: true},
		{Name: "730 HOURS", Right: true},
		{Name: "AGE", Right: true, Rank: 4, Spare: true},
		{Name: "BETTER BY", Rank: 6, Long: texttable.Wrapped},
		{Name: "SOURCE", Long: texttable.Wrapped},
	}}
	for _, n := range nodes {
		t.Rows = append(t.Rows, n.cells)
	}
	if err := t.Write(&b, layout); err != nil {
		return err
	}
	more, err := printItemPrices(&b, set, layout)
	if err != nil {
		return err
	}
	for _, text := range [...]string{printShares(set), missingPrices(missing, len(set.Nodes), more)} {
		b.WriteString(texttable.WrapLines(text, layout.Width))
	}
	_, err = io.out.Write([]byte(b.String()))
	return err
}

// priceNode says what a node costs, why, since when that is right, and what would be better.
func priceNode(n *allocation.Node, s *config.Settings, now time.Time) pricedNode {
	out := pricedNode{cost: n.TotalCost(), cells: []string{n.Cluster, n.Name, dash(n.InstanceType), dash(n.Region), strconv.FormatBool(n.Spot)}}
	for r := range allocation.NumResources {
		price := "-"
		if n.Hours[r] > 0 {
			price = priceText(n.Cost[r] / n.Hours[r] * r.PerPriceUnit())
		}
		out.cells = append(out.cells, price)
	}
	age, better := "-", ""
	out.sources = nodeSources(n)
	for _, source := range out.sources {
		if at := pricesFrom(source, s); !at.IsZero() {
			age = strconv.Itoa(max(0, int(now.Sub(at).Hours()/24))) + "d"
		}
		better = cmp.Or(better, betterPrices(n, source))
	}
	out.cells = append(out.cells, nodeMonth(n), age, dash(better), strings.Join(out.sources, ", "))
	return out
}

// pricesFrom is since when the prices of a source are right; zero for prices that are always new, and for defaults.
func pricesFrom(source string, s *config.Settings) time.Time {
	if at, ok := rates.AsOf(source); ok {
		return at
	}
	if rates.Kind(source) == rates.SheetSource {
		return s.RatesFrom
	}
	return time.Time{}
}

// betterPrices says what would price a node better than a source does, "" for nothing.
func betterPrices(n *allocation.Node, source string) string {
	switch rates.Kind(source) {
	case rates.DefaultSource:
		if provider := rates.Provider(n.ProviderID); provider == "azure" || provider == "gcp" {
			return "promcost prices fetch --provider=" + provider
		}
		return "a rule of --pricing.file"
	case rates.EstimateSource:
		if rates.IsOfOtherRegion(source) {
			return "promcost prices fetch --provider=" + rates.Provider(n.ProviderID) + " --region=" + n.Region
		}
		return "the metrics of Karpenter, or cloudcost-exporter"
	case rates.ListSource:
		return "bills"
	case rates.MetricSource, rates.SheetSource, rates.ExporterSource, rates.UnknownSource:
	}
	return ""
}

// printShares says how much of the cost rests on which kind of prices.
func printShares(set *allocation.Set) string {
	costs, total := map[rates.SourceKind]float64{}, 0.0
	for _, x := range set.PricedBy() {
		costs[rates.Kind(x.Source)] += x.Cost
		total += x.Cost
	}
	var parts []string
	for _, kind := range slices.SortedFunc(maps.Keys(costs), func(x, y rates.SourceKind) int { return cmp.Or(cmp.Compare(costs[y], costs[x]), cmp.Compare(x, y)) }) {
		parts = append(parts, fmt.Sprintf("%.1f %% %s", 100*costs[kind]/total, kindTexts[kind]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\nThe cost rests on: " + strings.Join(parts, ", ") + ".\n"
}

// kindTexts are the kinds of sources of prices for people.
var kindTexts = map[rates.SourceKind]string{
	rates.MetricSource: "metrics", rates.SheetSource: "the price sheet", rates.ExporterSource: "other exporters", rates.ListSource: "list prices",
	rates.EstimateSource: "estimates from list prices", rates.DefaultSource: "defaults", rates.UnknownSource: "prices of unknown origin",
}

// missingPrices says what has built-in prices, nodes by their names, and the remedy.
func missingPrices(names []string, of int, more []string) string {
	if len(names) == 0 && len(more) == 0 {
		return counted(of, "\n{n} {node,|nodes, all} priced by metrics, rules or price lists.\n")
	}
	var b strings.Builder
	b.WriteByte('\n')
	if len(names) > 0 {
		b.WriteString(counted(len(names), "{n} of {} {has|have} a built-in price, for neither a metric nor a rule gives one: {}.\n", counted(of, "{n} {node|nodes}"), strings.Join(names, ", ")))
	}
	if len(more) > 0 {
		fmt.Fprintf(&b, "Built-in prices are those of %s.\n", strings.Join(more, ", "))
	}
	b.WriteString("Give their prices in the file of --pricing.file or in prices of --config.file, or fetch what the provider lists (--pricing.fetch of serve).\n")
	return b.String()
}

// dash is text, or a dash if it is empty.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
