package prices

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// Node has the sheet's prices of a node over the window.
type Node struct {
	Changes []int64              // when they change, ascending, Unix milliseconds
	rates   [][2]rates.NodeRates // on demand and spot; one more than changes
}

// Node asks the sheet for a node's prices at the start of the window, and at each change within it of the sheet or of what the node has.
func (s Sheet) Node(n rates.NodeAttributes, amounts *[allocation.NumResources]timeline.Steps) Node {
	var changes []int64
	for _, change := range s.Rates.Changes(time.UnixMilli(s.Start).UTC(), time.UnixMilli(s.End).UTC()) {
		changes = append(changes, change.UnixMilli())
	}
	for _, amount := range amounts {
		changes = amount.Edges(changes)
	}
	changes = slices.DeleteFunc(timeline.SortedEdges(changes), func(t int64) bool { return t <= s.Start || t >= s.End })
	out := Node{}
	from := s.Start
	for _, to := range append(changes, s.End) {
		for r, amount := range amounts {
			n.Size[r] = sizeAt(amount, to) / allocation.Resource(r).PerPriceUnit()
		}
		var next [2]rates.NodeRates
		for i, spot := range [...]bool{false, true} {
			n.Spot = spot
			next[i] = s.Rates.Node(n, time.UnixMilli(from).UTC())
		}
		switch {
		case len(out.rates) == 0:
			out.rates = append(out.rates, next)
		case next != out.rates[len(out.rates)-1]:
			out.Changes, out.rates = append(out.Changes, from), append(out.rates, next)
		}
		from = to
	}
	return out
}

// sizeAt is the amount for the stretch that ends at t, or where that is not known, the last one before, or the first.
func sizeAt(amount timeline.Steps, t int64) (v float64) {
	for i, x := range amount {
		if i > 0 && x.From >= t {
			break
		}
		v = x.V
	}
	return v
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
