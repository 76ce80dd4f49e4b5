package charge

import (
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// usageAdders has the method that takes the series of each signal of usage and traffic.
var usageAdders = [signals.NumSignals]func(l *integrator, s *observe.Incoming) error{
	signals.ContainerUse:   (*integrator).addUsage,
	signals.ContainerLevel: (*integrator).addUsage,
	signals.PodUse:         (*integrator).addPodUsage,
	signals.PodLevel:       (*integrator).addPodUsage,
	signals.PodTransmitted: (*integrator).addTransmitted,
	signals.PodReceived:    (*integrator).addReceived,
	signals.PodEgress:      (*integrator).addEgress,
	signals.ClaimUsed:      (*integrator).addClaimUsed,
	signals.NodeDiskUsed:   (*integrator).addNodeDiskUsed,

	signals.ContainerPeriods:   (*integrator).addPressure,
	signals.ContainerThrottled: (*integrator).addPressure,
	signals.ContainerOOMKills:  (*integrator).addPressure,
	signals.ContainerWaiting:   (*integrator).addPressure,
	signals.ContainerKilled:    (*integrator).addKilled,
}

// integrator integrates the usage and traffic that a Charger is given, one series after the other.
type integrator struct {
	ch        *Charger
	at        observe.Incoming   // the series at hand
	cells     []timeline.Cell    // of it
	joiner    timeline.Joiner    // of them
	since     int64              // when its container started, if its first cell begins near that but not then; else 0
	charged   []timeline.Part    // scratch of integrate
	levels    *levelCount        // scratch of tally; nil where levels are not wanted
	free      timeline.Intervals // scratch of cover
	moving    moving
	flows     []flow // the flows made last
	prices    map[pricedTraffic]*prices.Item
	unmatched int    // usage series of containers that never ran
	leaps     []leap // impossible increases of counters
}

// add takes the points of a series of usage or traffic, as Charger.AddUsage does.
func (l *integrator) add(series signals.Series, key []signals.Symbol, p *timeline.Points) (err error) {
	if l.at, err = l.ch.Look(series, key, p); err != nil {
		return err
	}
	return usageAdders[series.Signal](l, &l.at)
}
