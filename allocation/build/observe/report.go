package observe

import (
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Warnf adds a warning to every set's.
func (ob *Observer) Warnf(format string, args ...any) {
	ob.Report.Warnings = append(ob.Report.Warnings, fmt.Sprintf(format, args...))
}

// Count adds a warning about the things named. Names may repeat; without names there is no warning.
func (ob *Observer) Count(kind notices.Notice, names []string, more ...string) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > 0 {
		ob.Warn(kind.Text(len(names), names, more...))
	}
}

// Warn adds a warning, such as a source's, to every set's.
func (ob *Observer) Warn(text string) { ob.Report.Warnings = append(ob.Report.Warnings, text) }

// Gaps collects the objects of one kind that were not seen for a time, and when.
type Gaps struct {
	Names []string
	When  timeline.Intervals
}

// Add records the gaps of one object.
func (g *Gaps) Add(name string, when timeline.Intervals) {
	if len(when) > 0 {
		g.Names, g.When = append(g.Names, name), append(g.When, when...)
	}
}

// report collects what the sets' warnings are made of.
type report struct {
	Warnings        []string
	Unplaced        []string                       // pods on no known node
	Nodeless        []string                       // pods that ran while their nodes were away
	UnplacedDefault bool                           // some of them have default prices
	Discovered      []string                       // containers known only by their usage
	Unrequested     map[signals.Symbol]unrequested // by cluster
	OtherDevices    []string                       // containers that request devices without a price
	BadRequests     []string                       // containers with requests that are negative or not finite
	// SeveralClusters makes warnings name the cluster of what they name.
	SeveralClusters bool
}

// Placed is the name of something in a cluster as warnings show it, with the cluster's name if there are several clusters.
func (ob *Observer) Placed(cluster signals.Symbol, name string) string {
	if ob.Report.SeveralClusters {
		name = cluster.Value() + "/" + name
	}
	return allocation.TenantName(name)
}

// unrequested has the containers of a cluster whose requests are missing in the data: those with only a limit, because Kubernetes takes
// the limit as the request. A short-lived container may have no sample of either.
type unrequested struct {
	Gaps
	Some bool // others have requests; if none has, there is a warning about the input
}
