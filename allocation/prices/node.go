package prices

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation/rates"
)

// Node has the sheet's prices of a node over the window.
type Node struct {
	Changes []int64              // when they change, ascending, Unix milliseconds
	rates   [][2]rates.NodeRates // on demand and spot; one more than changes
}

// Node asks the sheet for a node's prices at the start of the window, and at each change within it.
func (s Sheet) Node(n rates.NodeAttributes) Node {
	ratesAt := func(t int64) (rates [2]rates.NodeRates) {
		for i, spot := range [...]bool{false, true} {
			n.Spot = spot
			rates[i] = s.Rates.Node(n, time.UnixMilli(t).UTC())
		}
		return rates
	}
	out := Node{rates: [][2]rates.NodeRates{ratesAt(s.Start)}}
	for _, change := range s.Rates.Changes(time.UnixMilli(s.Start).UTC(), time.UnixMilli(s.End).UTC()) {
		t := change.UnixMilli()
		if next := ratesAt(t); next != out.rates[len(out.rates)-1] {
			out.Changes, out.rates = append(out.Changes, t), append(out.rates, next)
		}
	}
	return out
}

// At returns the prices for the stretch that ends at t. At the instant of a change they are the old ones.
func (s *Node) At(t int64, spot bool) *rates.NodeRates {
	i, _ := slices.BinarySearch(s.Changes, t)
	if spot {
		return &s.rates[i][1]
	}
	return &s.rates[i][0]
}

// HasDefault reports whether some prices on demand are defaults.
func (s *Node) HasDefault() bool {
	return slices.ContainsFunc(s.rates, func(r [2]rates.NodeRates) bool { return r[0].Default })
}
