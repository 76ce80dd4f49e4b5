package resolve

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// noteRequest records whether a container that ran in the window has a request of a resource, or only a limit.
func (rs *Resolver) noteRequest(c *observe.Container, r allocation.Resource, request, limit timeline.Steps, inside timeline.Intervals) {
	if r != allocation.CPU && r != allocation.RAM || len(request) == 0 && len(limit) == 0 {
		return
	}
	u := rs.Report.Unrequested[c.Pod.Cluster]
	if len(request) > 0 && (c.Init || u.Some) { // mostly: init containers have other metrics for requests
		return
	}
	ran := rs.Asked(inside)
	if len(ran) == 0 {
		return
	}
	if len(request) > 0 {
		u.Some = true
	} else {
		u.Add(rs.Placed(c.Pod.Cluster, c.Pod.Namespace.Value()+"/"+c.Pod.Name.Value()+"/"+c.Name.Value()), ran)
	}
	rs.Report.Unrequested[c.Pod.Cluster] = u
}

// warnUnrequested names the containers whose requests are missing, and says when they ran.
func (rs *Resolver) warnUnrequested() {
	for _, cluster := range observe.SortedSymbols(rs.Report.Unrequested) {
		u := rs.Report.Unrequested[cluster]
		if len(u.Names) == 0 || !u.Some {
			continue
		}
		rs.Count(notices.LackingRequests, u.Names, notices.Clocks(u.When))
	}
}

// warnBadRequests names the containers whose requests were left out, or are for devices without a price.
func (rs *Resolver) warnBadRequests() {
	rs.Count(notices.OtherDevices, rs.Report.OtherDevices)
	rs.Count(notices.BadRequests, rs.Report.BadRequests)
}
