package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/visible"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// defineCheckPrices is the subcommand that reads prices, and says what prices each thing of a source.
func defineCheckPrices(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &checkFlags{source: addSourceFlags(clause), cost: addCostFlags(clause)}
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
	if f.source.prometheus.url == "" && f.source.tsdbPath == "" {
		return writeLine(io.out, "give --prometheus.url or --tsdb.path to see what is priced by what")
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
	return printPrices(set, io)
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

// printPrices prints each node with its average prices and their sources, then everything else with a price, and then what has
// default prices.
func printPrices(set *allocation.Set, io streams) error {
	var b strings.Builder
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CLUSTER\tNODE\tTYPE\tREGION\tSPOT\tCPU\tRAM\tGPU\t730 HOURS\tSOURCE")
	var missing []string
	for i := range set.Nodes {
		n := &set.Nodes[i]
		var sources []string
		cells := []string{n.Cluster, n.Name, dash(n.InstanceType), dash(n.Region), strconv.FormatBool(n.Spot)}
		for r := range allocation.NumResources {
			price := "-"
			if n.Hours[r] > 0 {
				price = priceText(n.Cost[r] / n.Hours[r] * r.PerPriceUnit())
				if !slices.Contains(sources, n.PriceSource[r]) {
					sources = append(sources, n.PriceSource[r])
				}
			}
			cells = append(cells, price)
		}
		if slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, rates.BuiltInPrices) }) {
			name := n.Name
			if set.Nodes[0].Cluster != set.Nodes[len(set.Nodes)-1].Cluster { // they are in the order of clusters
				name = n.Cluster + "/" + name
			}
			missing = append(missing, name)
		}
		month := "-"
		if n.RunningSeconds > 0 {
			month = monthText(n.TotalCost() / n.RunningSeconds * 3600)
		}
		fmt.Fprintln(t, visible.Row(append(cells, month, strings.Join(sources, ", "))...))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	more, err := printItemPrices(&b, set)
	if err != nil {
		return err
	}
	b.WriteString(missingPrices(missing, len(set.Nodes), more))
	_, err = io.out.Write([]byte(b.String()))
	return err
}

// missingPrices says what has built-in prices, nodes by their names, and the remedy.
func missingPrices(names []string, of int, more []string) string {
	if len(names) == 0 && len(more) == 0 {
		return counted(of, "\n{n} {node,|nodes, all} priced by metrics or rules.\n")
	}
	var b strings.Builder
	b.WriteByte('\n')
	if len(names) > 0 {
		b.WriteString(counted(len(names), "{n} of {} {has|have} a built-in price, for neither a metric nor a rule gives one: {}.\n", counted(of, "{n} {node|nodes}"), strings.Join(names, ", ")))
	}
	if len(more) > 0 {
		fmt.Fprintf(&b, "Built-in prices are those of %s.\n", strings.Join(more, ", "))
	}
	b.WriteString("Give their prices in the file of --pricing.file or in prices of --config.file.\n")
	return b.String()
}

// dash is text, or a dash if it is empty.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
