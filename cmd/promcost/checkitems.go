package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/texttable"
)

// pricedItems are things other than nodes that have the same price for the same reason.
type pricedItems struct {
	kind, cluster, what string
	price, monthly      string
	unit, source        string
	before              string // the price by the baseline
	count               int
}

// itemKind is a kind of items, and what some of it are called.
type itemKind struct {
	kind, plural string
	items        func(set *allocation.Set) []pricedItems
}

// itemKinds are the kinds of items.
var itemKinds = []itemKind{
	{"volume", "volumes", func(set *allocation.Set) []pricedItems { return pricedDisks(set, false) }},
	{"node disk", "disks of nodes", func(set *allocation.Set) []pricedItems { return pricedDisks(set, true) }},
	{"load balancer", "load balancers", pricedBalancers},
	{"management", "control planes", pricedManagement},
	{"network", "kinds of traffic", pricedTraffic},
}

func pricedDisks(set *allocation.Set, local bool) (items []pricedItems) {
	for i := range set.Disks {
		if d := &set.Disks[i]; d.Local == local && d.ByteHours > 0 {
			items = append(items, pricedItems{cluster: d.Cluster, what: d.StorageClass, price: priceText(d.Cost / d.ByteHours * (1 << 30)), monthly: monthText(d.Cost / d.ByteHours * (1 << 30)), unit: "GiB-hour", source: d.PriceSource})
		}
	}
	return items
}

func pricedBalancers(set *allocation.Set) (items []pricedItems) {
	for i := range set.Balancers {
		if lb := &set.Balancers[i]; lb.Hours > 0 {
			items = append(items, pricedItems{cluster: lb.Cluster, price: priceText(lb.Cost / lb.Hours), monthly: monthText(lb.Cost / lb.Hours), unit: "hour", source: lb.PriceSource})
		}
	}
	return items
}

func pricedManagement(set *allocation.Set) (items []pricedItems) {
	for i := range set.Management {
		if m := &set.Management[i]; m.End.After(m.Start) {
			items = append(items, pricedItems{cluster: m.Cluster, what: m.Provisioner, price: priceText(m.Cost / m.End.Sub(m.Start).Hours()), monthly: monthText(m.Cost / m.End.Sub(m.Start).Hours()), unit: "hour", source: m.PriceSource})
		}
	}
	return items
}

func pricedTraffic(set *allocation.Set) (items []pricedItems) {
	for i := range set.Networks {
		n := &set.Networks[i]
		for k, what := range [...]string{"to other zones", "to other regions", "to the internet"} {
			if n.PriceSource[k] != "" {
				items = append(items, pricedItems{cluster: n.Cluster, what: what, price: priceText(n.Price[k]), unit: "GiB", source: n.PriceSource[k]})
			}
		}
	}
	return items
}

// priceText is a price for people.
func priceText(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// monthText is the price of a month at an hourly price, for people.
func monthText(hourly float64) string {
	return strconv.FormatFloat(hourly*coverage.MonthHours, 'f', 2, 64)
}

// together counts items that are alike, and sorts them.
func together(kind string, items []pricedItems) []pricedItems {
	counts := map[pricedItems]int{}
	for _, x := range items {
		x.kind = kind
		counts[x]++
	}
	out := make([]pricedItems, 0, len(counts))
	for x, n := range counts {
		x.count = n
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b pricedItems) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.what, b.what), cmp.Compare(a.source, b.source), cmp.Compare(a.price, b.price))
	})
	return out
}

// printItemPrices appends the things other than nodes with their prices and the sources of these; missing says which of them have
// default prices.
func printItemPrices(b *strings.Builder, set *allocation.Set, layout texttable.Layout) (missing []string, err error) {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "CLUSTER", Rank: 2, Long: texttable.Cut},
		{Name: "KIND"},
		{Name: "OF", Long: texttable.Cut},
		{Name: "COUNT", Right: true},
		{Name: "PRICE", Right: true},
		{Name: "PER"},
		{Name: "730 HOURS", Right: true, Rank: 1},
		{Name: "SOURCE", Long: texttable.Wrapped},
	}}
	for _, k := range itemKinds {
		all := k.items(set)
		builtIn := 0
		for _, x := range together(k.kind, all) {
			t.Rows = append(t.Rows, []string{x.cluster, x.kind, dash(x.what), strconv.Itoa(x.count), x.price, x.unit, dash(x.monthly), x.source})
			if strings.Contains(x.source, rates.BuiltInPrices) {
				builtIn += x.count
			}
		}
		if builtIn > 0 {
			missing = append(missing, fmt.Sprintf("%d of %d %s", builtIn, len(all), k.plural))
		}
	}
	if len(t.Rows) == 0 {
		return missing, nil
	}
	b.WriteByte('\n')
	return missing, t.Write(b, layout)
}
