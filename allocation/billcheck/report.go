package billcheck

import (
	"errors"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// Report is what bills say of a window. Costs are in the configured currency. Lines are counted day by day: one of a month
// counts on each of its days.
type Report struct {
	// Start and End are the days that were looked at: those of the window that the bills reach.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Bills are in the order of the config file, Kinds in the order in which lines are matched.
	Bills []Bill `json:"bills"`
	// Deliveries are what was brought of the bills, and what counts of it.
	Deliveries []billing.Brought `json:"deliveries"`
	Kinds      []Kind            `json:"kinds"`
	// Unbilled are assets that no line charges, the dearest first. UnbilledCost is that of all of them at list price.
	Unbilled     []Unbilled `json:"unbilled"`
	UnbilledCost float64    `json:"unbilledCost"`
	// TakenOffCost is the list cost of nodes' own disks that no line charges although lines charge their nodes. It does not count: bills
	// have such disks as volumes.
	TakenOffCost float64 `json:"takenOffCost"`
	// Unmatched are lines that look like a cluster's and match nothing, the dearest first. UnmatchedCost is that of all.
	Unmatched     []Unmatched `json:"unmatched"`
	UnmatchedCost float64     `json:"unmatchedCost"`
	Nodes         []NodeType  `json:"nodes"`
	Warnings      []string    `json:"-"`

	clusters map[string]bool // whether a line matches an asset of the cluster
}

// Bill is what was read of a bill.
type Bill struct {
	Name       string    `json:"name"`
	Cost       string    `json:"cost"` // of FOCUS' costs, the one that counts
	Statements int       `json:"statements"`
	Lines      int64     `json:"lines"` // of all statements' files
	Delivered  time.Time `json:"delivered,omitzero"`
	Accounts   []Account `json:"accounts"`
	// Total is the sum of the lines of the window, Matched that of lines of clusters.
	Total   float64 `json:"totalCost"`
	Matched float64 `json:"matchedCost"`

	effective, expected float64 // sums of EffectiveCost, and of what it should be
}

// MatchedRatio is which part of the bill's cost clusters explain; ok is false if it cost nothing.
func (b *Bill) MatchedRatio() (ratio float64, ok bool) { return b.Matched / b.Total, b.Total != 0 }

// Account is until when a bill has charged a sub-account.
type Account struct {
	Account    string    `json:"account"`
	SubAccount string    `json:"subAccount"`
	Charged    time.Time `json:"charged"`
	Until      time.Time `json:"until"`
}

// Kind is what lines of one kind cost. Share is that of the cost of all lines, null if they cost nothing.
type Kind struct {
	Kind  string   `json:"kind"`
	Lines int64    `json:"lines"`
	Cost  float64  `json:"cost"`
	Share *float64 `json:"share"`
}

// Unbilled is an asset that no line charges.
type Unbilled struct {
	Kind    string  `json:"kind"`
	Cluster string  `json:"cluster"`
	Name    string  `json:"name"`
	Days    int     `json:"days"`
	Cost    float64 `json:"listCost"`
	Remedy  string  `json:"remedy"`
}

// Unmatched are lines of one resource that look like a cluster's.
type Unmatched struct {
	Bill     string  `json:"bill"`
	Service  string  `json:"service"`
	Resource string  `json:"resource"`
	Lines    int64   `json:"lines"`
	Cost     float64 `json:"cost"`
	Why      string  `json:"why"`
	Remedy   string  `json:"remedy"`
}

// NodeType is what nodes of an instance type cost on days on which bills charge them.
type NodeType struct {
	Cluster      string   `json:"cluster"`
	InstanceType string   `json:"instanceType"`
	Spot         bool     `json:"spot"`
	List         float64  `json:"listCost"`
	Billed       float64  `json:"billedCost"`
	Ratio        *float64 `json:"listToBillRatio"` // list price ÷ bill; null if the bill is 0
}

// Window is the days that were looked at.
func (r *Report) Window() allocation.Window { return allocation.Window{Start: r.Start, End: r.End} }

// Problem says why the bills are of no use for a cluster, nil if they are of use for all.
func (r *Report) Problem() error {
	lines := int64(0)
	for i := range r.Bills {
		lines += r.Bills[i].Lines
	}
	switch {
	case lines == 0:
		return errors.New("no line of a bill was read: do the paths under bills in the config file name the files?")
	case !r.Start.Before(r.End):
		return errors.New("bills charge no whole day of the window: give a longer --window, or wait for the next delivery")
	}
	for _, name := range sortedKeys(r.clusters) {
		if !r.clusters[name] {
			return fmt.Errorf("no line of a bill is of cluster %s: is its account in the bills, and do its nodes have their provider ids?", name)
		}
	}
	return nil
}
