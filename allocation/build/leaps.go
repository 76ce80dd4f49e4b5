package build

import (
	"slices"
	"strconv"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// maxLeap is how many times the capacity of its node a container can at most be seen to use. Counters are read some seconds
// before they are scraped, so that an increase may be of more time than lies between two scrapes.
const maxLeap = 10

// withoutLeaps are the cells of a counter of CPU without those whose increase is more than its node could have given: the
// counter is wrong there, and what was used is not known. They are changed in place.
func (l *Worker) withoutLeaps(c *container, s *seen, cells []timeline.Cell) []timeline.Cell {
	if s.Signal != signals.ContainerUse || c.node == nil {
		return cells
	}
	capacity := 0.0 // the most that the node had
	for _, x := range c.node.amount[allocation.CPU] {
		capacity = max(capacity, x.V)
	}
	return slices.DeleteFunc(cells, func(x timeline.Cell) bool {
		seconds := float64(x.To-x.From)/1000 + 1 // starts are told in whole seconds
		leaps := capacity > 0 && x.Amount > maxLeap*capacity*seconds
		if leaps && x.To > l.b.start() && x.From < l.b.end() {
			l.leaps = append(l.leaps, leap{c, x.To})
		}
		return leaps
	})
}

// leap is an increase of a container's counter that is more than can be, and when it was seen.
type leap struct {
	of *container
	at int64
}

// warnLeaps says whose counters rose by more than can be, and when.
func (b *Builder) warnLeaps() {
	var names []string
	for _, l := range b.workers {
		for _, x := range l.leaps {
			names = append(names, b.placed(x.of.cluster, x.of.namespace.Value()+"/"+x.of.name.Value()+"/"+x.of.container.Value())+" at "+notices.Instant(x.at))
		}
	}
	b.count(notices.LeapingUsage, names, strconv.Itoa(maxLeap))
}
