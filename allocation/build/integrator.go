package build

import (
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// integrator integrates the usage and traffic that a Builder is given, one series after the other.
type integrator struct {
	b         *Builder
	at        incoming           // the series at hand
	cells     []timeline.Cell    // of it
	joiner    timeline.Joiner    // of them
	since     int64              // when its container started, if its first cell begins near that but not then; else 0
	charged   []timeline.Part    // scratch of integrate
	free      timeline.Intervals // scratch of cover
	moving    moving
	flows     []flow // the flows made last
	prices    map[pricedTraffic]*prices.Item
	unmatched int    // usage series of containers that never ran
	leaps     []leap // impossible increases of counters
}

// add takes the points of a series of usage or traffic, as Builder.Add does.
func (l *integrator) add(series signals.Series, key []signals.Symbol, p *timeline.Points) (err error) {
	if l.at, err = l.b.look(series, key, p); err != nil {
		return err
	}
	return usageAdders[series.Signal](l, &l.at)
}

// prepare makes l the integrator of b.
func (l *integrator) prepare(b *Builder) {
	l.b, l.prices = b, map[pricedTraffic]*prices.Item{}
	l.moving.until = l.sameUntil
}
