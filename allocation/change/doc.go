// Package change explains why costs differ between two windows (SEMANTICS §9).
//
// The passes give two sets whose rows are finer than the answer: by its keys, then by unit and by class of node, which Keys adds.
// A unit is a container of a controller, or of a pod without one. Explain matches the units of both sets and divides the
// difference of each into effects:
//
//	rows by key, unit and class → terms H·a·p of each resource → effects of the unit → sums by key, and in total
//
// The effects of a row add up to the change of its cost, and those of its parts to its own.
package change

import (
	"slices"
	"time"
)

// Effect is a reason for which a cost changes.
type Effect uint8

// The effects, in the order in which answers show them.
const (
	Window       Effect = iota // one window is longer, or has data of more hours
	Replicas                   // more or fewer containers ran at a time
	Placement                  // they ran on other classes of nodes: instance type, spot or not
	SizeRequest                // each requested more or less
	SizeBurst                  // each used more or less beyond its request
	Price                      // what they ran on became dearer or cheaper
	New                        // units that ran in the current window only
	Gone                       // units that ran in the baseline only
	Volumes                    // persistent volumes, mounted or not
	Network                    // traffic
	LoadBalancer               // load balancers
	Shared                     // costs shared by others
	External                   // costs outside of clusters
	Idle                       // capacity that nobody was allocated
	Adjustment                 // what bills add to list prices
	NumEffects
)

// names are the names of the effects in answers.
var names = [NumEffects]string{
	"window", "replicas", "placement", "sizeRequest", "sizeBurst", "price", "new", "gone", "volumes", "network", "loadBalancer",
	"shared", "external", "idle", "adjustment",
}

// String returns the effect's name in answers.
func (e Effect) String() string { return names[e] }

// titles are the names of the effects for people.
var titles = [NumEffects]string{
	"Length of the windows", "More or fewer containers", "Moved to other node types", "Changed requests", "Usage above requests", "Node prices", "New workloads",
	"Gone workloads", "Persistent volumes", "Network traffic", "Load balancers", "Shared costs", "Costs outside of clusters", "Idle capacity", "Discounts and bill corrections",
}

// Title returns the effect's name for people.
func (e Effect) Title() string { return titles[e] }

// TitleOf is the title of the effect that has a name in answers: the name itself where a server sends one that is not known here.
func TitleOf(name string) string {
	if i := slices.Index(names[:], name); i >= 0 {
		return titles[i]
	}
	return name
}

// Effects are amounts of money by effect.
type Effects [NumEffects]float64

// add adds other to e.
func (e *Effects) add(other *Effects) {
	for i, v := range other {
		e[i] += v
	}
}

// Row says how the cost of one key changed, and why.
type Row struct {
	Name     string
	Baseline float64 // total cost in the baseline
	Cost     float64 // total cost in the current window
	Effects  Effects // their sum is Change, but for rounding
	// WithinBounds means that the costs may be equal: the interval in which the change lies by the error bounds of both contains 0.
	WithinBounds bool
	// Before and After are what ran in the baseline and in the current window.
	Before, After Amounts
	// Owner and Team are whose most of the cost is, by the keys Levels.Owners; "" where nothing says so.
	Owner, Team string
	// Since is when the cost reached its new level, as the function Since finds it: zero where it did not, or where nobody asked.
	Since time.Time
	// Parts are the rows one level down that changed most, largest first. Rows that passes add, such as idle, have none.
	Parts []Row
}

// Change returns the difference of the two costs.
func (r *Row) Change() float64 { return r.Cost - r.Baseline }
