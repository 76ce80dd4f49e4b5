package charge

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// addCovered notes in every set when each cluster has data: when some node or container of it ran, of whichever shard.
func (ch *Charger) addCovered() {
	ran := map[signals.Symbol]timeline.Intervals{}
	add := func(cluster signals.Symbol, when timeline.Intervals) {
		for _, x := range when {
			ran[cluster] = ran[cluster].With(x)
		}
	}
	nodes := map[signals.Symbol][]*observe.Node{}
	for _, n := range observe.Each(&ch.Limits, slices.All(ch.SortedNodes())) {
		add(n.Cluster, n.Life)
		nodes[n.Cluster] = append(nodes[n.Cluster], n)
	}
	for c := range ch.Every() {
		add(c.Pod.Cluster, c.Runs)
	}
	for i := ch.First; i < ch.Last; i++ {
		s := ch.Sets[i]
		s.Covered = nil
		for _, cluster := range observe.SortedSymbols(ran) {
			for _, x := range ran[cluster].Clip(ch.Borders[i], ch.Borders[i+1]) {
				s.Covered = append(s.Covered, allocation.Covered{
					Cluster: cluster.Name(), Start: time.UnixMilli(x.From).UTC(), End: time.UnixMilli(x.To).UTC(), Created: oldest(nodes[cluster], x),
				})
			}
		}
		s.Covered = coverage.Join(s.Covered)
	}
}

// oldest is when the oldest of the nodes of a stretch was created; the zero time if that is not known of all of them, or if there are none.
func oldest(nodes []*observe.Node, x timeline.Interval) (created time.Time) {
	for _, n := range nodes {
		life := n.Life.Clip(x.From, x.To)
		if len(life) == 0 {
			continue
		}
		at := n.Asset(life[len(life)-1].To).Created
		if at.IsZero() {
			return at
		}
		if created.IsZero() || at.Before(created) {
			created = at
		}
	}
	return created
}
