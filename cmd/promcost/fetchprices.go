package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/listprices/fetch"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/pricewatch"
)

// fetchFlags say which list prices are fetched.
type fetchFlags struct {
	checkFlags
	prices   *priceSourceFlags
	provider string
	regions  []string
	currency string
	file     string
}

// defineFetchPrices is the subcommand that fetches list prices.
func defineFetchPrices(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &fetchFlags{checkFlags: checkFlags{source: addSourceFlags(clause), cost: addCostFlags(clause)}, prices: addPriceSourceFlags(clause)}
	clause.Flag("window", "What time to look at for where nodes run, without --provider and --region.").Default("1h").StringVar(&f.window)
	addFlag(clause, "provider", "Whose price list to fetch: "+oneOfList("", fetch.Providers())+". The default is those of the source's nodes.", func(text string) error {
		if !slices.Contains(fetch.Providers(), text) {
			return fmt.Errorf("it must be %s", oneOfList("", fetch.Providers()))
		}
		f.provider = text
		return nil
	}).PlaceHolder("PROVIDER").HintOptions(fetch.Providers()...)
	eachOf(clause, "region", "Region to fetch the prices of, such as eu-central-1. The default is those of the source's nodes.", func(text string) error {
		if !fetch.IsRegion(text) {
			return errors.New("give the name of a region, such as eu-central-1")
		}
		f.regions = append(f.regions, text)
		return nil
	}).PlaceHolder("REGION")
	addFlag(clause, "currency", "Currency of the prices. The default is that of --config.file or --pricing.file, else USD. AWS lists in USD only.", func(text string) error {
		if !pricing.IsCurrency(text) {
			return errors.New("give a code of three letters such as USD")
		}
		f.currency = text
		return nil
	}).PlaceHolder("CODE")
	clause.Flag("output", "File to write, which --pricing.list takes. The default is standard output.").Short('o').PlaceHolder("FILE").StringVar(&f.file)
	return func(ctx context.Context) error { return fetchPrices(ctx, f, io, logs) }
}

// fetchPrices fetches list prices and writes them. If any of them fails, nothing is written.
func fetchPrices(ctx context.Context, f *fetchFlags, to streams, logs *logFlags) error {
	switch fromSource := f.source.given(); {
	case f.provider == "" && len(f.regions) > 0:
		return usageErrorf("--region=%s is of a provider: give --provider, too", f.regions[0])
	case len(f.regions) == 0 && !fromSource:
		return usageErrorf("nothing says what to fetch: give --provider and --region, or --prometheus.url or --tsdb.path of a source, whose nodes say where they are")
	}
	client, key, err := f.prices.open()
	if err != nil {
		return err
	}
	places, currency, err := f.places(ctx, to, logs)
	if err != nil {
		return err
	}
	now := time.Now()
	var rows []listprices.Row
	for _, provider := range fetch.Providers() {
		var regions []string
		for _, p := range places {
			if p.Provider == provider && fetch.IsRegion(p.Region) {
				regions = append(regions, p.Region)
			}
		}
		if len(regions) == 0 {
			continue
		}
		lists, err := fetch.Fetch(ctx, fetch.Request{Client: client, Provider: provider, Regions: regions, URL: f.prices.urls[provider], Currency: currency, Key: key, Now: now})
		if err != nil {
			return err
		}
		for _, l := range lists {
			rows = append(rows, l.Rows...)
		}
	}
	if len(rows) == 0 {
		return errNoPlaces
	}
	table, err := listprices.New("fetched", rows)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		return listprices.Write(w, []string{"List prices, fetched at " + now.UTC().Format(time.RFC3339) + " by \"promcost prices fetch\"."}, table.Rows())
	}
	if f.file == "" {
		return write(to.raw)
	}
	if err := writeFile(f.file, write); err != nil {
		return fmt.Errorf("write --output: %w", err)
	}
	return writeLine(to.err, counted(table.Len(), "{n} {price is|prices are} in {}: give it to --pricing.list", f.file))
}

// places are those that the flags name, or those of the source's nodes, and the currency of the prices.
func (f *fetchFlags) places(ctx context.Context, to streams, logs *logFlags) (places []pricewatch.Place, currency string, err error) {
	s, err := config.Read(f.cost.Flags)
	if err != nil {
		return nil, "", err
	}
	currency = s.Currency
	if f.currency != "" {
		currency = f.currency
	}
	for _, region := range f.regions {
		if p := (pricewatch.Place{Provider: f.provider, Region: region}); !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	if len(places) > 0 {
		return places, currency, nil
	}
	set, err := f.compute(ctx, to, logs)
	if err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(placesOf(set, s), func(p pricewatch.Place) bool { return f.provider != "" && p.Provider != f.provider }), currency, nil
}
