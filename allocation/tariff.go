package allocation

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/timeline"
)

// itemKind is what is priced besides nodes.
type itemKind uint8

const (
	storageItem        itemKind = iota // a GiB-hour
	balancerItem                       // an hour
	managementItem                     // an hour
	egressZoneItem                     // a GiB
	egressRegionItem                   // a GiB
	egressInternetItem                 // a GiB
)

// item is what the price of something may depend on. An empty attribute is unknown.
type item struct {
	kind                                                           itemKind
	cluster, provider, region, zone, storageClass, namespace, name string
}

// defaultPrices are those of SEMANTICS §4, in the unit of each kind.
var defaultPrices = [...]float64{
	storageItem: 0.00005479452, balancerItem: 0.025, managementItem: 0,
	egressZoneItem: 0.01, egressRegionItem: 0.01, egressInternetItem: 0.12,
}

// itemRate is the price of an item at t where no metric prices it, where that comes from, and whether it is but a default.
func (b *Builder) itemRate(i item, _ int64) (price float64, source string, isDefault bool) {
	return defaultPrices[i.kind], "built-in defaults", i.kind != managementItem
}

// rateChanges appends the instants at which a price of the sheet may change.
func (b *Builder) rateChanges(dst []int64) []int64 { return dst }

// tariff is the price of one thing over time: what a metric says, else the sheet.
type tariff struct {
	b      *Builder
	metric string
	steps  timeline.Steps
	item   item
}

// at is the price at t. The nearest that the metric says holds where it says none.
func (t *tariff) at(at int64) float64 {
	if len(t.steps) > 0 {
		return t.steps.Held(at)
	}
	price, _, _ := t.b.itemRate(t.item, at)
	return price
}

// source names where the price comes from at t.
func (t *tariff) source(at int64) string {
	if len(t.steps) > 0 {
		return t.metric
	}
	_, source, _ := t.b.itemRate(t.item, at)
	return source
}

// isDefault reports whether nothing but a default prices it.
func (t *tariff) isDefault() bool {
	if len(t.steps) > 0 {
		return false
	}
	_, _, isDefault := t.b.itemRate(t.item, t.b.sampling.End)
	return isDefault
}

// edges appends the instants at which the price changes.
func (t *tariff) edges(dst []int64) []int64 {
	if len(t.steps) > 0 {
		return t.steps.Edges(dst)
	}
	return t.b.rateChanges(dst)
}

// each calls f for the stretches of (from, to] with one price each.
func (t *tariff) each(from, to int64, f func(from, to int64, price float64)) {
	cuts := sortedEdges(t.edges(nil))
	for _, next := range append(within(cuts, timeline.Interval{From: from, To: to}), to) {
		f(from, next, t.at(next))
		from = next
	}
}

// mean is the average price over (from, to].
func (t *tariff) mean(from, to int64) float64 {
	sum := 0.0
	t.each(from, to, func(a, b int64, price float64) { sum += price * float64(b-a) })
	return sum / float64(to-from)
}

// sortedEdges sorts instants and drops repeats.
func sortedEdges(edges []int64) []int64 {
	slices.Sort(edges)
	return slices.Compact(edges)
}

// pricesOf are the prices in s; negative ones are left out, with a warning that says whose they are.
func (b *Builder) pricesOf(s *seen, what string, names ...Symbol) timeline.Steps {
	steps := b.sampling.Steps(s.p)
	kept := steps.NotNegative()
	if len(kept) < len(steps) {
		texts := make([]string, len(names))
		for i, name := range names {
			texts[i] = name.Value()
		}
		b.warn("%s %s: negative prices are left out: mend what exports them", what, strings.Join(texts, "/"))
	}
	return kept
}
