package democluster

import (
	"slices"
	"time"
)

// changesLast is how long what Config.Changes begins takes.
const changesLast = 2 * time.Hour

// afterChanges is how long after Config.Changes something happens; 0 for what does not happen then.
func afterChanges(fraction float64) time.Duration {
	switch fraction {
	case atPriceChange:
		return 30 * time.Minute
	case atBiggerRequest:
		return 40 * time.Minute
	case atNodeJoins:
		return 50 * time.Minute
	case atMoveToSpot:
		return 60 * time.Minute
	case atNewTeam:
		return 80 * time.Minute
	}
	return 0
}

// requestMore rolls out a template of which each container requests twice as much, and uses as much as before.
func (c *Cluster) requestMore(w *workload, at int64) error {
	w.containers = slices.Clone(w.containers) // pods that run keep theirs
	for i := range w.containers {
		q := &w.containers[i].request
		q.cpu, q.mem = 2*q.cpu, 2*q.mem
	}
	return c.rollOut(w, at)
}

// moveToSpot rolls out a template whose pods need a spot node.
func (c *Cluster) moveToSpot(w *workload, at int64) error {
	w.onSpot = true
	return c.rollOut(w, at)
}

// Kinds of events.
const (
	PriceEvent   = "price"
	RolloutEvent = "rollout"
	SpotEvent    = "spot"
	TeamEvent    = "team"
)

// ChangeTruth says why a window costs another amount than as much time before it: what containers cost at list price, with their
// volumes, traffic and load balancers, without idle and shared costs.
type ChangeTruth struct {
	BaselineStart time.Time `json:"baselineStart"`
	Start         time.Time `json:"start"` // of the window; the baseline ends there
	End           time.Time `json:"end"`
	// Events are the changes that somebody made in the window, in the order of time.
	Events []EventTruth `json:"events"`
	// Namespaces has a row for each namespace with containers in either time, by name.
	Namespaces []NamespaceChangeTruth `json:"namespaces"`
}

// EventTruth is a change that somebody made.
type EventTruth struct {
	Kind string    `json:"kind"` // PriceEvent or the like
	Time time.Time `json:"time"`
	What string    `json:"what"`
	// Namespace and Controller are what it touched; empty is all.
	Namespace  string `json:"namespace,omitempty"`
	Controller string `json:"controller,omitempty"`
	// Effects are those of what it touched; of a change of prices, that of prices only.
	Effects Effects `json:"effects"`
}

// NamespaceChangeTruth is what a namespace cost before and after, in USD, and why: the effects add up to the difference.
type NamespaceChangeTruth struct {
	Namespace string  `json:"namespace"`
	Baseline  float64 `json:"baseline"`
	Cost      float64 `json:"cost"`
	Effects   Effects `json:"effects"`
}

// eventTruth are the changes that are made in the history.
func (c *Cluster) eventTruth() []EventTruth {
	timeAt := func(fraction float64) time.Time { return instant(c.timeAt(fraction)) }
	events := []EventTruth{
		{Kind: PriceEvent, Time: timeAt(atPriceChange), What: "a core of " + generalType().name + " costs 12 % more, and volumes and traffic other prices, too"},
		{Kind: RolloutEvent, Time: timeAt(atBiggerRequest), What: "each pod requests twice as much", Namespace: "payments", Controller: "ledger-writer"},
		{Kind: SpotEvent, Time: timeAt(atMoveToSpot), What: "all pods move to spot nodes", Namespace: "search", Controller: "indexer"},
		{Kind: TeamEvent, Time: timeAt(atNewTeam), What: "team-d begins", Namespace: "fraud"},
	}
	if c.cfg.NoOpenCost { // nothing says that prices change
		return events[1:]
	}
	return events
}

// ChangeWindow returns a window that the changes fall into, and which is not longer than the history before it: the 24 hours from
// Config.Changes on, else the last 24 full hours; fewer in a short history.
func (c *Cluster) ChangeWindow() (start, end time.Time) {
	if from := c.cfg.Changes; !from.IsZero() {
		return from.UTC(), from.Add(min(24*time.Hour, c.End().Sub(from), from.Sub(c.Start()))).UTC()
	}
	until := c.end / hourMillis * hourMillis
	length := min(dayMillis, (until-c.start)/2/hourMillis*hourMillis)
	return instant(until - length), instant(until)
}

// ChangeTruth explains the difference between a window and as much time before it (SEMANTICS §9).
func (c *Cluster) ChangeTruth(start, end time.Time) *ChangeTruth {
	before := start.Add(-end.Sub(start))
	out := &ChangeTruth{BaselineStart: before.UTC(), Start: start.UTC(), End: end.UTC(), Events: []EventTruth{}, Namespaces: []NamespaceChangeTruth{}}
	for _, e := range c.eventTruth() {
		if e.Effects = (Effects{}); !e.Time.Before(start) && e.Time.Before(end) {
			out.Events = append(out.Events, e)
		}
	}
	for _, u := range unitsOf(c.Truth(before, start), c.Truth(start, end)) {
		effects := u.effects(end.Sub(start).Hours())
		n := len(out.Namespaces) - 1
		if n < 0 || out.Namespaces[n].Namespace != u.namespace {
			out.Namespaces = append(out.Namespaces, NamespaceChangeTruth{Namespace: u.namespace, Effects: Effects{}})
			n++
		}
		row := &out.Namespaces[n]
		row.Baseline, row.Cost = row.Baseline+u.cost(0), row.Cost+u.cost(1)
		row.Effects.add(effects)
		for i := range out.Events {
			switch e := &out.Events[i]; {
			case e.Kind == PriceEvent:
				e.Effects["price"] += effects["price"]
			case e.Namespace == u.namespace && (e.Controller == "" || e.Controller == u.controller):
				e.Effects.add(effects)
			}
		}
	}
	return out
}
