package allocation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// SourceCost is what assets cost whose prices come from one source.
type SourceCost struct {
	Source string  `json:"source"` // as PriceSource of assets, but for the lines of price sheets
	Cost   float64 `json:"cost"`
}

// PricedBy is what the assets cost by the sources of their prices, dearest first: at list price, without adjustments. What costs nothing has no source.
func (h *Header) PricedBy() []SourceCost {
	costs := h.pricedBy
	if costs == nil {
		costs = h.costsBySource()
	}
	var out []SourceCost
	for _, source := range slices.Sorted(maps.Keys(costs)) {
		if costs[source] > 0 {
			out = append(out, SourceCost{source, costs[source]})
		}
	}
	slices.SortStableFunc(out, func(a, b SourceCost) int { return cmp.Compare(b.Cost, a.Cost) })
	return out
}

// AddPricedBy gives the header what others cost by the sources of their prices. Merged assets alone have but the newest source of each.
func (h *Header) AddPricedBy(headers ...*Header) {
	sum := map[string]float64{}
	for _, x := range headers {
		for _, by := range x.PricedBy() {
			sum[by.Source] += by.Cost
		}
	}
	h.pricedBy = sum
}

// SetPricedBy says what the assets cost by the sources of their prices, where the assets do not say it all.
func (h *Header) SetPricedBy(by []SourceCost) {
	if len(by) == 0 {
		return
	}
	h.pricedBy = map[string]float64{}
	for _, x := range by {
		h.pricedBy[x.Source] += x.Cost
	}
}

// withoutLine is the source of a price without the line of a price sheet: sheets may have a rule for each machine.
func withoutLine(source string) string {
	i := strings.LastIndexByte(source, ':')
	if i < 0 || strings.Trim(source[i+1:], "0123456789") != "" {
		return source
	}
	return source[:i]
}

// costsBySource adds up the costs of the assets by the sources of their prices.
func (h *Header) costsBySource() map[string]float64 {
	sum := map[string]float64{}
	for i := range h.Nodes {
		for r, source := range h.Nodes[i].PriceSource {
			sum[withoutLine(source)] += h.Nodes[i].Cost[r]
		}
	}
	for i := range h.Disks {
		sum[withoutLine(h.Disks[i].PriceSource)] += h.Disks[i].Cost
	}
	for i := range h.Balancers {
		sum[withoutLine(h.Balancers[i].PriceSource)] += h.Balancers[i].Cost
	}
	for i := range h.Networks {
		n := &h.Networks[i]
		for k, cost := range [...]float64{n.CrossZone, n.CrossRegion, n.Internet} {
			sum[withoutLine(n.PriceSource[k])] += cost
		}
	}
	for i := range h.Management {
		sum[withoutLine(h.Management[i].PriceSource)] += h.Management[i].Cost
	}
	return sum
}
