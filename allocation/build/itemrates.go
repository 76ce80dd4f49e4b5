package build

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// itemRates is the price of one item over time: by a metric, else by the price sheet.
type itemRates struct {
	metric  string
	steps   timeline.Steps // of the metric
	changes []int64        // of the sheet's price, ascending, Unix milliseconds
	rates   []rates.Rate   // one more than changes
	cuts    []int64        // when the price may change, ascending
}

// ratesOf is the price of an item: the steps of a metric, else the sheet's price with its changes in the window.
func (b *Builder) ratesOf(metric string, steps timeline.Steps, i rates.Item) itemRates {
	t := itemRates{metric: metric, steps: b.fillGaps(steps)}
	start, end := time.UnixMilli(b.sampling.Start).UTC(), time.UnixMilli(b.sampling.End).UTC()
	t.rates = []rates.Rate{b.prices.rates.Item(i, start)}
	for _, change := range b.prices.rates.Changes(start, end) {
		if next := b.prices.rates.Item(i, change); next != t.rates[len(t.rates)-1] {
			t.changes, t.rates = append(t.changes, change.UnixMilli()), append(t.rates, next)
		}
	}
	t.cuts = timeline.SortedEdges(t.steps.Edges(slices.Clone(t.changes)))
	return t
}

// rate is the sheet's price for the stretch that ends at t. At the instant of a change it is the old price.
func (t *itemRates) rate(at int64) *rates.Rate {
	i, _ := slices.BinarySearch(t.changes, at)
	return &t.rates[i]
}

// at is the price at t.
func (t *itemRates) at(at int64) float64 {
	if price, known := t.steps.At(at); known {
		return price
	}
	return t.rate(at).Price
}

// source names where the price comes from at t.
func (t *itemRates) source(at int64) string {
	if _, known := t.steps.At(at); known {
		return t.metric
	}
	return t.rate(at).Source
}

// isDefault reports whether a part of a life has only a default price.
func (t *itemRates) isDefault(life timeline.Intervals) bool {
	return t.rates[len(t.rates)-1].Default && !t.steps.Cover(life)
}

// edges appends the instants at which the price may change.
func (t *itemRates) edges(dst []int64) []int64 { return append(dst, t.cuts...) }

// each calls f for the stretches of (from, to] with one price each.
func (t *itemRates) each(from, to int64, f func(from, to int64, price float64)) {
	i, _ := slices.BinarySearch(t.cuts, from+1)
	for ; i < len(t.cuts) && t.cuts[i] < to; i++ {
		f(from, t.cuts[i], t.at(t.cuts[i]))
		from = t.cuts[i]
	}
	f(from, to, t.at(to))
}

// currency is the currency of the answers.
func (b *Builder) currency() string {
	if d, ok := b.prices.rates.(rates.Denominated); ok && d.Currency() != "" {
		return d.Currency()
	}
	return rates.Dollar
}

// inDollars is the end of warnings about built-in prices: it says that these are in another currency than the answers, if so.
func (b *Builder) inDollars() string {
	if c := b.currency(); c != rates.Dollar {
		return ", which are in " + rates.Dollar + ", not converted to " + c
	}
	return ""
}
