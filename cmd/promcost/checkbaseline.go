package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// checkBaseline reads the sheet of the baseline, before anything is computed by it.
func checkBaseline(file string) error {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = config.ParseSheet(file, text)
	}
	if err != nil {
		return fmt.Errorf("read --baseline: %w", err)
	}
	return nil
}

// compare prints what each thing of a set costs beside what it costs by the prices of the baseline.
func (f *checkFlags) compare(ctx context.Context, set *allocation.Set, io streams, logs *logFlags) error {
	other, cost := *f, *f.cost
	other.cost, cost.PricingFile = &cost, f.baseline
	other.window = set.Window.Start.UTC().Format(time.RFC3339) + "," + set.Window.End.UTC().Format(time.RFC3339)
	before, err := other.compute(ctx, io, logs)
	if err != nil {
		return err
	}
	return printCompared(set, before, io, io.layout(f.output))
}

// printCompared prints each node and everything else with a price, with its price and its source in both sets, and what all nodes cost.
func printCompared(now, before *allocation.Set, io streams, layout texttable.Layout) error {
	var b strings.Builder
	b.WriteString("\n")
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "CLUSTER", Rank: 3, Long: texttable.Cut},
		{Name: "KIND"},
		{Name: "OF", Long: texttable.Cut},
		{Name: "COUNT", Right: true, Rank: 2},
		{Name: "PRICE", Right: true},
		{Name: "BEFORE", Right: true},
		{Name: "PER", Rank: 1},
		{Name: "SOURCE (BEFORE)", Long: texttable.Wrapped},
	}}
	kinds := append([]itemKind{{"node", "nodes", pricedNodes}}, itemKinds...)
	for _, k := range kinds {
		items, others := k.items(now), k.items(before)
		if len(items) != len(others) {
			return errors.New("check prices: the source has changed meanwhile: check them again")
		}
		for i := range items {
			items[i].before = others[i].price
			if others[i].source != items[i].source {
				items[i].source += " (" + others[i].source + ")"
			}
		}
		for _, x := range together(k.kind, items) {
			t.Rows = append(t.Rows, []string{x.cluster, x.kind, dash(x.what), strconv.Itoa(x.count), x.price, x.before, x.unit, x.source})
		}
	}
	if err := t.Write(&b, layout); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nAll nodes cost %s in 730 hours, and %s before.\n", monthText(hourlyCost(now)), monthText(hourlyCost(before)))
	_, err := io.out.Write([]byte(b.String()))
	return err
}

// pricedNodes are the nodes, each with what it costs in 730 hours.
func pricedNodes(set *allocation.Set) (items []pricedItems) {
	for i := range set.Nodes {
		n := &set.Nodes[i]
		items = append(items, pricedItems{cluster: n.Cluster, what: n.Name, price: nodeMonth(n), unit: "730 hours", source: strings.Join(nodeSources(n), ", ")})
	}
	return items
}

// hourlyCost is what an hour of all nodes that ran costs.
func hourlyCost(set *allocation.Set) (sum float64) {
	for i := range set.Nodes {
		if n := &set.Nodes[i]; n.RunningSeconds > 0 {
			sum += n.TotalCost() / n.RunningSeconds * 3600
		}
	}
	return sum
}

// nodeSources are where the prices of what a node has come from, each once.
func nodeSources(n *allocation.Node) (sources []string) {
	for r, hours := range n.Hours {
		if hours > 0 && !slices.Contains(sources, n.PriceSource[r]) {
			sources = append(sources, n.PriceSource[r])
		}
	}
	return sources
}

// nodeMonth is what a node costs in 730 hours, for people.
func nodeMonth(n *allocation.Node) string {
	if n.RunningSeconds <= 0 {
		return "-"
	}
	return monthText(n.TotalCost() / n.RunningSeconds * 3600)
}
