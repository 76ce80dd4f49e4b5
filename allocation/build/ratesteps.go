package build

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation/rates"
)

// rateSteps has the sheet's prices of a node over the window.
type rateSteps struct {
	changes []int64              // when they change, ascending, Unix milliseconds
	rates   [][2]rates.NodeRates // on demand and spot; one more than changes
}

// rateSteps asks the sheet for a node's prices at the start of the window, and at each change within it.
func (b *Builder) rateSteps(n rates.NodeAttributes) rateSteps {
	at := func(t int64) (rates [2]rates.NodeRates) {
		for i, spot := range [...]bool{false, true} {
			n.Spot = spot
			rates[i] = b.prices.rates.Node(n, time.UnixMilli(t).UTC())
		}
		return rates
	}
	s := rateSteps{rates: [][2]rates.NodeRates{at(b.sampling.Start)}}
	for _, change := range b.prices.rates.Changes(time.UnixMilli(b.sampling.Start).UTC(), time.UnixMilli(b.sampling.End).UTC()) {
		t := change.UnixMilli()
		if next := at(t); next != s.rates[len(s.rates)-1] {
			s.changes, s.rates = append(s.changes, t), append(s.rates, next)
		}
	}
	return s
}

// at returns the prices for the stretch that ends at t. At the instant of a change they are the old ones.
func (s *rateSteps) at(t int64, spot bool) *rates.NodeRates {
	i, _ := slices.BinarySearch(s.changes, t)
	if spot {
		return &s.rates[i][1]
	}
	return &s.rates[i][0]
}
