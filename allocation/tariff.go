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
	metric string // empty where it is the sheet's
	item   item
	steps  timeline.Steps // of the window, or of what the metric says of it
	cuts   []int64        // when the price changes, ascending
}

// tariffOf is the tariff of an item, of which a metric says steps.
func (b *Builder) tariffOf(i item, metric string, steps timeline.Steps) tariff {
	t := tariff{b: b, metric: metric, item: i, steps: steps}
	if len(steps) == 0 {
		t.metric = ""
		from := b.sampling.Start
		for _, to := range append(b.rateChanges(nil), b.sampling.End) {
			price, _, _ := b.itemRate(i, to)
			t.steps = append(t.steps, timeline.Step{From: from, To: to, V: price})
			from = to
		}
	}
	t.cuts = sortedEdges(t.steps.Edges(nil))
	return t
}

// at is the price at t. The nearest known holds where there is none.
func (t *tariff) at(at int64) float64 { return t.steps.Held(at) }

// source names where the price comes from at t.
func (t *tariff) source(at int64) string {
	if t.metric != "" {
		return t.metric
	}
	_, source, _ := t.b.itemRate(t.item, at)
	return source
}

// isDefault reports whether nothing but a default prices it.
func (t *tariff) isDefault() bool {
	_, _, isDefault := t.b.itemRate(t.item, t.b.sampling.End)
	return t.metric == "" && isDefault
}

// each calls f for the stretches of (from, to] with one price each.
func (t *tariff) each(from, to int64, f func(from, to int64, price float64)) {
	i, _ := slices.BinarySearch(t.cuts, from+1)
	for ; i < len(t.cuts) && t.cuts[i] < to; i++ {
		f(from, t.cuts[i], t.at(t.cuts[i]))
		from = t.cuts[i]
	}
	f(from, to, t.at(to))
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
