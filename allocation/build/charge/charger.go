package charge

import (
	"errors"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/build/resolve"
	"github.com/promcost/promcost/allocation/metadata"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Charger integrates usage over what was resolved, and divides the cost of everything among the rows of the sets.
type Charger struct {
	*resolve.Resolver
	again observe.Span // whose usage is being added again
	left  map[leftKey]*left
	usage integrator
	uses  uses
}

// New returns a charger of what rs resolves. levels says that rows get the levels of their usage.
func New(rs *resolve.Resolver, levels bool) *Charger {
	ch := &Charger{Resolver: rs, left: map[leftKey]*left{}}
	ch.usage = integrator{ch: ch, prices: map[pricedTraffic]*prices.Item{}}
	ch.usage.moving.until = ch.usage.sameUntil
	if levels {
		ch.usage.levels = newLevelCount()
		for _, rows := range ch.Rows {
			rows.KeepLevels()
		}
	}
	return ch
}

// AddUsage integrates the points of a series of usage or traffic. It keeps neither key nor p. It refuses series of signals that are not added in
// this phase.
func (ch *Charger) AddUsage(series signals.Series, key []signals.Symbol, p *timeline.Points) error {
	return ch.usage.add(series, key, p)
}

// Finish returns the finished sets, oldest first. It fails if usage is not finalized.
func (ch *Charger) Finish() ([]*allocation.Set, error) {
	if ch.Stopped == nil && ch.Phase != observe.Finalized {
		ch.Stopped = errors.New("make sets: usage is not finalized")
	}
	if ch.Stopped != nil {
		return nil, ch.Stopped
	}
	ch.Count(notices.KnownByUsage, ch.Report.Discovered)
	if n := ch.usage.unmatched; n > 0 {
		ch.Warn(notices.UnmatchedUsage.Text(n, nil))
	}
	if err := ch.Run(ch.describeShown, ch.warnLeaps, ch.warnIncomplete, ch.reconcileNodes, ch.chargeAssets, ch.addCovered, ch.warnSuspiciousPrices); err != nil {
		return nil, err
	}
	warnings := slices.Compact(slices.Sorted(slices.Values(ch.Report.Warnings)))
	sets := slices.Clone(ch.Sets[ch.First:ch.Last])
	for i, s := range sets {
		var err error
		if sets[i], err = s.OfShard(ch.Shard); err != nil {
			return nil, err
		}
		sets[i].Warnings, sets[i].Incomplete = warnings, ch.Evidence.Incomplete
		if err = metadata.Defer(sets[i]); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// Finalize ends a phase of usage. In time that no usage series covers, the last known usage is held, or only the request is
// charged. again has the stretches in which nodes were allocated beyond their capacity. The usage of each is added
// again, so that the containers above their requests at that instant give up the excess.
func (ch *Charger) Finalize() (again []Excess, err error) {
	if ch.Phase != observe.Measuring && ch.Phase != observe.Correcting {
		return nil, errors.New("finalize usage: out of order")
	}
	reserves := ch.chargeReserves
	if ch.Phase == observe.Correcting {
		reserves = ch.correctReserves
	}
	if err := ch.Run(ch.measureRestarted, ch.measureDevices, ch.holdUsage, reserves); err != nil || ch.Phase == observe.Correcting {
		ch.Phase = observe.Finalized
		return nil, err
	}
	ch.Count(notices.UnseenUsage, ch.Outages.Holes.Names, notices.Clocks(ch.Outages.Holes.When))
	if again, ch.Phase = ch.findOvercommit(), observe.Finalized; len(again) > 0 {
		ch.Phase = observe.Correcting
	}
	return again, ch.Stopped
}

// Revisit begins a span whose usage is added again.
func (ch *Charger) Revisit(s observe.Span) {
	ch.measureRestarted()
	ch.again = s
}

// Begin resolves what was observed, and makes room for usage.
func (ch *Charger) Begin() error {
	if err := ch.Resolve(); err != nil {
		return err
	}
	return ch.Run(ch.layUses)
}
