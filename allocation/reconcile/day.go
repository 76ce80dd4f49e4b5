package reconcile

import (
	"context"
	"math"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/passes"
)

// Day is what bills charge for the assets of one day. It does not change, and is safe for concurrent use.
type Day struct {
	*Index
	window  allocation.Window
	matched []float64 // what lines charge for each asset
	billed  []bool    // a line charges the asset, or it is known to be charged elsewhere
	// committed is what lines charge for each asset under commitments, amortized; NaN where a line does not tell that.
	committed []float64
}

// Reached says of a line whether its charges are final: later ones would make assets look cheap.
type Reached func(*billing.Line) bool

// NewDay reads the lines of a day and matches them with its assets. Lines that are not reached do not count.
func NewDay(ctx context.Context, x *Index, book *billing.Book, day allocation.Window, reached Reached) (*Day, error) {
	d := &Day{Index: x, window: day, matched: make([]float64, len(x.assets)), billed: make([]bool, len(x.assets)), committed: make([]float64, len(x.assets))}
	matches := x.matcher()
	err := book.Read(ctx, day, func(l *billing.Line) error {
		if m := matches(l.Item); m.Kind < External && reached(l) {
			x.divide(m, func(at int32, share float64) {
				d.matched[at] += l.Cost * share
				d.billed[at] = true
				d.committed[at] += committedCost(l) * share
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.takeOffDisks()
	return d, nil
}

// committedCost is what a line charges under a commitment, amortized: with the part of what was paid for the commitment as a whole. It is NaN
// if the line is of one and does not tell that.
func committedCost(l *billing.Line) float64 {
	switch {
	case l.Commitment.Status == "":
		return 0
	case !l.Known[billing.Effective]:
		return math.NaN()
	}
	return l.Costs[billing.Effective]
}

// mostItems bounds how many items are remembered at a time. A bill may have millions, and lines of one are close together.
const mostItems = 1 << 14

// remember notes something of an item.
func remember[T any](known map[*billing.Item]T, item *billing.Item, v T) {
	if len(known) >= mostItems {
		clear(known)
	}
	known[item] = v
}

// matcher returns Match with a memory of items.
func (x *Index) matcher() func(*billing.Item) *Match {
	known := map[*billing.Item]*Match{}
	return func(item *billing.Item) *Match {
		m, ok := known[item]
		if !ok {
			of := x.Match(item)
			m = &of
			remember(known, item, m)
		}
		return m
	}
}

// takeOffDisks makes the own disks of billed nodes free if no line charges them: the bill has them as volumes of the provider,
// which are among the Cloud costs.
func (d *Day) takeOffDisks() {
	for at, a := range d.assets {
		if a.Kind != LocalDisk || d.billed[at] || !d.there[at] {
			continue
		}
		a.Kind = Node
		if node, ok := d.position[a]; ok && d.billed[node] {
			d.billed[at] = true
		}
	}
}

// Each calls f with each asset of the day: its list cost, and what was charged for it. Assets that no line charges have billed
// false and keep their list cost.
func (d *Day) Each(f func(a Asset, list, charged float64, billed bool)) {
	for at, a := range d.assets {
		if d.there[at] && (d.billed[at] || d.has[at].list != 0) {
			f(a, d.has[at].list, d.matched[at], d.billed[at])
		}
	}
}

// quantities says how much of a day's assets a set has.
type quantities struct {
	window allocation.Window
	has    []quantity // by position
	there  []bool
	usage  map[string]float64 // seconds that the containers of each cluster ran
}

// quantities returns how much of the day's assets a set has.
func (d *Day) quantities(s *allocation.Set) *quantities {
	p := &quantities{window: s.Window, has: make([]quantity, len(d.assets)), there: make([]bool, len(d.assets)), usage: usageOf(s)}
	eachAsset(s, func(a Asset, has quantity, _ any) {
		if at, ok := d.position[a]; ok {
			p.has[at], p.there[at] = p.has[at].plus(has), true
		}
	})
	return p
}

// Adjustments returns the adjustments of a set that is the day or a part of it, as Set.Reconcile takes them.
func (d *Day) Adjustments(s *allocation.Set) passes.Adjustments {
	of := d.quantities(s)
	var out passes.Adjustments
	for at, a := range d.assets {
		if !d.billed[at] {
			continue
		}
		if v, ok := d.adjustment(at, of); ok {
			addAdjustment(&out, a, v)
		}
		if list, committed := d.has[at].list, d.committed[at]; a.Kind == Node && of.there[at] && list > 0 && !math.IsNaN(committed) {
			part := of.has[at].list
			addCharged(&out, a.AssetKey, allocation.Charged{Listed: part, Committed: committed * (part / list)})
		}
	}
	return out
}

// addAdjustment adds the adjustment of an asset.
func addAdjustment(to *passes.Adjustments, a Asset, v float64) {
	byKey := [...]*map[allocation.AssetKey]float64{Node: &to.Nodes, Volume: &to.Volumes, LocalDisk: &to.LocalDisks, Balancer: &to.LoadBalancers}
	byCluster := [...]*map[string]float64{Network: &to.Networks, Management: &to.Management}
	if a.Kind >= Network {
		addTo(byCluster[a.Kind], a.Cluster, v)
	} else {
		addTo(byKey[a.Kind], a.AssetKey, v)
	}
}

func addCharged(to *passes.Adjustments, key allocation.AssetKey, c allocation.Charged) {
	if to.Charged == nil {
		to.Charged = map[allocation.AssetKey]allocation.Charged{}
	}
	to.Charged[key] = c
}

func addTo[K comparable](m *map[K]float64, key K, v float64) {
	if *m == nil {
		*m = map[K]float64{}
	}
	(*m)[key] += v
}

// adjustment is the adjustment of a part of an asset: in proportion to list cost, or to the amount if the asset is free. It
// returns false if the asset has no part.
func (d *Day) adjustment(at int, of *quantities) (float64, bool) {
	a, all := d.assets[at], &d.has[at]
	p, ok := of.has[at], of.there[at]
	switch {
	case all.list > 0:
		return p.list * (d.matched[at]/all.list - 1), ok
	case same(of.window, d.window):
		return d.matched[at], true
	case a.Kind >= Network:
		share := of.window.Duration().Hours() / d.window.Duration().Hours()
		if usage := d.usage[a.Cluster]; usage > 0 {
			share = of.usage[a.Cluster] / usage
		}
		return d.matched[at] * share, share > 0
	}
	for i, amount := range all.amounts {
		if amount > 0 {
			return d.matched[at] * (p.amounts[i] / amount), ok
		}
	}
	return 0, false
}
