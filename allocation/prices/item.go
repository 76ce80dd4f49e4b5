package prices

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// Item is the price of one item over time: by a metric, else by the price sheet.
type Item struct {
	metric  string
	steps   timeline.Steps // of the metric
	changes []int64        // of the sheet's price, ascending, Unix milliseconds
	rates   []rates.Rate   // one more than changes
	cuts    []int64        // when the price may change, ascending
}

// Free is an item that costs nothing.
func Free() Item { return Item{rates: make([]rates.Rate, 1)} }

// ExportedUnit is the price of a unit of an item by another exporter than the metric of its own.
type ExportedUnit struct {
	Source   string // the exporter, for people
	Currency string // ISO code
	Steps    timeline.Steps
}

// Item is the price of an item: the steps of a metric, else the sheet's price with its changes in the window, which knows what an exporter says.
func (s Sheet) Item(metric string, steps timeline.Steps, by ExportedUnit, i rates.Item) Item {
	t := Item{metric: metric, steps: steps}
	changes := s.changes()
	if by.Currency == s.Currency() {
		changes, i.ExportedBy = by.Steps.Edges(changes), by.Source
	} else {
		by.Steps = nil
	}
	for stretch := range s.stretches(changes) {
		i.Exported = by.Steps.Value(stretch.To)
		next := s.Rates.Item(i, time.UnixMilli(stretch.From).UTC())
		switch {
		case len(t.rates) == 0:
			t.rates = append(t.rates, next)
		case next != t.rates[len(t.rates)-1]:
			t.changes, t.rates = append(t.changes, stretch.From), append(t.rates, next)
		}
	}
	t.cuts = timeline.SortedEdges(t.steps.Edges(slices.Clone(t.changes)))
	return t
}

// rate is the sheet's price for the stretch that ends at t. At the instant of a change it is the old price.
func (t *Item) rate(at int64) *rates.Rate {
	i, _ := slices.BinarySearch(t.changes, at)
	return &t.rates[i]
}

// At is the price at t.
func (t *Item) At(at int64) float64 {
	if price, known := t.steps.At(at); known {
		return price
	}
	return t.rate(at).Price
}

// Source names where the price comes from at t.
func (t *Item) Source(at int64) string {
	if _, known := t.steps.At(at); known {
		return t.metric
	}
	return t.rate(at).Source
}

// IsDefault reports whether a part of a life has only a default price.
func (t *Item) IsDefault(life timeline.Intervals) bool {
	return t.rates[len(t.rates)-1].Default && !t.steps.Cover(life)
}

// Edges appends the instants at which the price may change.
func (t *Item) Edges(dst []int64) []int64 { return append(dst, t.cuts...) }

// Until is the first instant after t at which the price may change.
func (t *Item) Until(at int64) int64 {
	if i, _ := slices.BinarySearch(t.cuts, at+1); i < len(t.cuts) {
		return t.cuts[i]
	}
	return timeline.Forever
}

// Each calls f for the stretches of (from, to] with one price each.
func (t *Item) Each(from, to int64, f func(from, to int64, price float64)) {
	i, _ := slices.BinarySearch(t.cuts, from+1)
	for ; i < len(t.cuts) && t.cuts[i] < to; i++ {
		f(from, t.cuts[i], t.At(t.cuts[i]))
		from = t.cuts[i]
	}
	f(from, to, t.At(to))
}
