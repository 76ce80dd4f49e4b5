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

// Known is what is known of a node over time, besides its attributes.
type Known struct {
	Amount   [allocation.NumResources]timeline.Steps // what it has
	Price    [allocation.NumResources]timeline.Steps // per price unit and hour, by metrics of its own
	Exported []Exported                              // by other exporters, best first
}

// lacksSome reports whether something that the node has lacks a price by a metric of its own at some time, while something else may have one.
func (k *Known) lacksSome() bool {
	lacks := false
	for r, amount := range k.Amount {
		lacks = lacks || len(amount) > 0 && !k.Price[r].Cover(timeline.Union(timeline.AppendIntervals(nil, amount)))
	}
	return lacks
}

// Node asks the sheet for a node's prices at the start of the window, and at each change within it of the sheet or of what is known of the node.
func (s Sheet) Node(n rates.NodeAttributes, known *Known) Node {
	changes := s.changes()
	lacks, currency := known.lacksSome(), s.Currency()
	for r, amount := range known.Amount {
		changes = amount.Edges(changes)
		if lacks {
			changes = known.Price[r].Edges(changes)
		}
	}
	for i := range known.Exported {
		changes = known.Exported[i].edges(changes)
	}
	out := Node{}
	for stretch := range s.stretches(changes) {
		to := stretch.To
		for r, amount := range known.Amount {
			n.Size[r] = sizeAt(amount, to) / allocation.Resource(r).PerPriceUnit()
			n.Own[r] = known.Price[r].Value(to)
		}
		var next [2]rates.NodeRates
		for i, spot := range [...]bool{false, true} {
			n.Spot, n.Exported = spot, exportedAt(known.Exported, currency, to, spot)
			next[i] = s.Rates.Node(n, time.UnixMilli(stretch.From).UTC())
		}
		switch {
		case len(out.rates) == 0:
			out.rates = append(out.rates, next)
		case next != out.rates[len(out.rates)-1]:
			out.Changes, out.rates = append(out.Changes, stretch.From), append(out.rates, next)
		}
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
