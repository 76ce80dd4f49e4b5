package resolve

import (
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// Resolver finds out from what was observed what ran when and where. It makes the sets and their rows, and cuts the time of each container into
// sections in which only usage changes.
type Resolver struct {
	*observe.Observer
	ChargeFrom allocation.ChargeFrom
	Sets       []*allocation.Set
	Rows       []*allocation.Rows // of the sets
	cuts       cuts
	scaled     [len(allocation.LevelResources)]map[observe.OwnerKey]timeline.Intervals // when controllers are scaled by usage of CPU, and of RAM
}

// New returns a resolver of what ob observes, with an empty set for each of its windows.
func New(ob *observe.Observer, from allocation.ChargeFrom) *Resolver {
	rs := &Resolver{Observer: ob, ChargeFrom: from, cuts: cuts{terms: map[observe.Terms]*observe.Terms{}}}
	for _, w := range ob.Windows {
		set := allocation.NewSet(w, ob.Dict)
		set.Resolution = time.Duration(ob.Sampling.Step) * time.Millisecond
		set.ScrapeInterval = max((time.Duration(ob.Sampling.Interval) * time.Millisecond).Round(time.Second), time.Second)
		rs.Sets, rs.Rows = append(rs.Sets, set), append(rs.Rows, allocation.NewRows(set))
	}
	return rs
}
