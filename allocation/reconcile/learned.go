package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/rates"
)

// learnedDays is how many billed days the factor of a class is learned from.
const learnedDays = 7

// class is what assets have in common that bills are taken to charge alike.
type class struct {
	kind     Kind
	provider string // of a node
	cluster  string
	variety  string // the instance type of a node, the storage class of a disk
	spot     bool
}

// classOf is the class of an asset, which of is.
func classOf(a Asset, of any) class {
	c := class{kind: a.Kind, cluster: a.Cluster}
	switch of := of.(type) {
	case *allocation.Node:
		c.provider, c.variety, c.spot = rates.Provider(of.ProviderID), of.InstanceType, of.Spot
	case *allocation.Disk:
		c.variety = of.StorageClass
	}
	return c
}

// widths are how wide classes are: in one cluster, in all clusters, and of all varieties.
const widths = 3

// widened returns the class at a width. Classes of machines whose provider is not known, and of what is no machine and no volume, are not widened: what bills charge
// for others says nothing of them.
func (c class) widened(width int) class {
	if c.kind != Volume && (c.kind != Node || c.provider == "") {
		return c
	}
	if width > 0 {
		c.cluster = ""
	}
	if width > 1 {
		c.variety = ""
	}
	return c
}

// charges are what bills charged for a class.
type charges struct {
	days          int
	list, charged float64
}

// factors are what bills charge for classes of assets in proportion to list cost, as they did on the last billed days. They do not change
// once they are learned.
type factors [widths]map[class]*charges

// factor returns the factor of the narrowest class that bills charged, else 1.
func (f *factors) factor(c class) float64 {
	for width := range f {
		if x := f[width][c.widened(width)]; x != nil {
			return x.charged / x.list
		}
	}
	return 1
}

// learn adds a day to the classes that do not have enough days yet.
func (f *factors) learn(d *Day) {
	for width := range f {
		today := map[class]*charges{}
		for at, has := range d.has {
			if !d.billed[at] || has.list <= 0 {
				continue
			}
			c := d.classes[at].widened(width)
			if today[c] == nil {
				today[c] = &charges{}
			}
			today[c].list += has.list
			today[c].charged += d.matched[at]
		}
		for c, x := range today {
			have := f[width][c]
			if have == nil {
				have = &charges{}
				f[width][c] = have
			}
			if have.days < learnedDays {
				have.days, have.list, have.charged = have.days+1, have.list+x.list, have.charged+x.charged
			}
		}
	}
}

// estimate adds to adjustments those of the assets of a set that the day does not bill; nil bills none. It returns what these cost then.
func (f *factors) estimate(s *allocation.Set, day *Day, to *passes.Adjustments) (cost float64) {
	eachAsset(s, func(a Asset, has quantity, of any) {
		if day != nil {
			if at, ok := day.position[a]; ok && day.billed[at] {
				return
			}
		}
		factor := f.factor(classOf(a, of))
		addAdjustment(to, a, has.list*(factor-1))
		cost += has.list * factor
	})
	return cost
}

// lesson is what was learned from one version of the bills.
type lesson struct {
	version string
	factors *factors // nil if bills charge no assets
}

// learn finds what the bills charge for classes of assets if estimates are wanted, once for each version of the bills.
func (a *answer) learn(ctx context.Context) error {
	if !a.wanted.Adjustments || !a.wanted.Estimate {
		return nil
	}
	version := a.book.Version()
	if known := a.lesson.Load(); known != nil && known.version == version {
		a.factors = known.factors
		return nil
	}
	f, leave, err := a.learning.Do(ctx, version, a.lastFactors)
	leave()
	if err != nil {
		return fmt.Errorf("learn from bills what assets cost: %w", err)
	}
	a.lesson.Store(&lesson{version, f})
	a.factors = f
	return nil
}

// lastFactors are the factors of the last billed days, nil if bills charge no assets.
func (a *answer) lastFactors(ctx context.Context) (*factors, error) {
	q := allocation.Query{Resolution: allocation.AutoResolution, Stored: true}
	of := &answer{Reconciler: a.Reconciler, query: q, book: a.book, reach: a.reach}
	var f factors
	for width := range f {
		f[width] = map[class]*charges{}
	}
	for _, w := range a.billedDays() {
		set, err := of.whole(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("the assets of %s: %w", w.Start.Format(time.DateOnly), err)
		}
		if set == nil {
			continue
		}
		day, err := of.billed(ctx, w, set)
		if err != nil {
			return nil, err
		}
		f.learn(day)
	}
	if len(f[0]) == 0 {
		return nil, nil
	}
	return &f, nil
}

// billedDays are the last days that each bill reaches, newest first.
func (a *answer) billedDays() (days []allocation.Window) {
	for _, until := range a.reach.bills {
		for range learnedDays {
			w := a.day(until.Add(-1))
			if !a.reach.charged.Start.Before(w.End) {
				break
			}
			days = append(days, w)
			until = w.Start
		}
	}
	slices.SortFunc(days, func(x, y allocation.Window) int { return cmp.Compare(y.Start.Unix(), x.Start.Unix()) })
	return slices.CompactFunc(days, same)
}
