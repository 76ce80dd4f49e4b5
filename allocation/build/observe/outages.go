package observe

import (
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Absence has the times in which none of a cluster's containers, and none of its nodes, were seen, and when its pods were.
type Absence struct {
	Containers, Nodes timeline.Watch
	Pods              timeline.Intervals
}

// AbsentIn returns the absence of a cluster, an empty one for an unknown cluster.
func (ob *Observer) AbsentIn(cluster signals.Symbol) *Absence {
	if a := ob.Outages.Absent[cluster]; a != nil {
		return a
	}
	return &Absence{}
}

// Lose marks a span for which the source could not return samples of running containers. Warnings do not call kube-state-metrics down then.
func (ob *Observer) Lose(span Span) {
	ob.Outages.Lost = timeline.Union(append(ob.Outages.Lost, timeline.Interval{From: span.Start, To: span.End}))
}

// outages has the times in which something was not seen.
type outages struct {
	Absent        map[signals.Symbol]*Absence           // by cluster
	Silent        map[signals.Symbol]timeline.Intervals // when no container of a cluster gave the best running signal for longer than a lookback
	Lost          timeline.Intervals                    // when the source could not return its samples of running containers
	Bridged       Gaps                                  // of containers
	Holes         Gaps                                  // in usage
	WithoutStatus map[ObjectKey]bool                    // pods on a node none of whose containers has a status
}
