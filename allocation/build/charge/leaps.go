package charge

import (
	"slices"
	"strconv"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// maxLeap is how many times the CPU capacity of its node a container can at most be seen to use. Counters are read some seconds
// before they are scraped. So an increase may cover more time than lies between two scrapes.
const maxLeap = 10

// withoutLeaps removes, in place, the cells of a CPU counter that increase by more than the node can provide. There the counter is
// wrong and usage is not known.
func (l *integrator) withoutLeaps(c *observe.Container, s *observe.Incoming, cells []timeline.Cell) []timeline.Cell {
	most := possible(c)
	if s.Signal != signals.ContainerUse || most == 0 {
		return cells
	}
	return slices.DeleteFunc(cells, func(x timeline.Cell) bool {
		seconds := float64(x.To-x.From)/1000 + 1 // starts are reported in whole seconds
		leaps := x.Amount > most*seconds
		if leaps && x.To > l.ch.Start() && x.From < l.ch.End() {
			l.leaps = append(l.leaps, leap{c, x.To})
		}
		return leaps
	})
}

// possible is how much CPU a container can at most be seen to use in a second, 0 if that is not known.
func possible(c *observe.Container) float64 {
	capacity := 0.0 // the node's highest
	if c.Node != nil {
		for _, x := range c.Node.Amount[allocation.CPU] {
			capacity = max(capacity, x.V)
		}
	}
	return maxLeap * capacity
}

// leap is an impossible increase of a container's counter, and when it was seen.
type leap struct {
	of *observe.Container
	at int64
}

// warnLeaps names the containers whose counters rose by more than is possible, and when.
func (ch *Charger) warnLeaps() {
	var names []string
	for _, x := range ch.usage.leaps {
		names = append(names, ch.Placed(x.of.Pod.Cluster, x.of.Pod.Namespace.Value()+"/"+x.of.Pod.Name.Value()+"/"+x.of.Name.Value())+" at "+notices.Instant(x.at))
	}
	ch.Count(notices.LeapingUsage, names, strconv.Itoa(maxLeap))
}
