// Package billwatch keeps the numbers that metrics about bills have: of the newest day that the bills reach.
package billwatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billcheck"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/cloudcost"
	"github.com/promcost/promcost/collector"
)

// interval is how often it is seen whether bills changed. Only then the day is looked at.
const interval = time.Minute

// Watch keeps the state of bills. It is safe for concurrent use.
type Watch struct {
	checker func() *billcheck.Checker // nil where no bills are configured
	zone    func() *time.Location
	logger  log.Logger

	mu      sync.Mutex
	state   collector.BillState
	version string // of the book that the state is of
}

// New returns a watch that knows nothing yet. The functions return what is configured at the time.
func New(checker func() *billcheck.Checker, zone func() *time.Location, logger log.Logger) *Watch {
	return &Watch{checker: checker, zone: zone, logger: logger}
}

// State returns what is known.
func (w *Watch) State() collector.BillState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Run looks at the bills until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := w.Look(ctx); err != nil && ctx.Err() == nil {
			level.Warn(w.logger).Log("msg", "Metrics about bills are not renewed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Look renews the state if the bills changed. After an error the state is the one before.
func (w *Watch) Look(ctx context.Context) error {
	c := w.checker()
	if c == nil {
		w.set(collector.BillState{}, "")
		return nil
	}
	book, err := c.Book(ctx)
	if err != nil {
		return err
	}
	reach := book.Reach()
	var state collector.BillState
	var until time.Time
	for _, r := range reach {
		state.Reach = append(state.Reach, collector.BillReach{Bill: r.Bill, Account: r.Account, SubAccount: r.SubAccount, Until: r.Until})
		if r.Until.After(until) {
			until = r.Until
		}
	}
	version := book.Version() + until.String()
	if w.knows(version) || until.IsZero() {
		return nil
	}
	day := allocation.Day.Round(allocation.Window{Start: until.Add(-1), End: until}, w.zone())
	report, err := c.Check(ctx, day)
	if err != nil {
		return err
	}
	state.Matched, state.Nodes = ratiosOf(report)
	if state.Cloud, err = cloudCosts(ctx, c, book, day); err != nil {
		return err
	}
	w.set(state, version)
	return nil
}

func (w *Watch) set(state collector.BillState, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.version = state, version
}

func (w *Watch) knows(version string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version == version
}

// ratiosOf are the ratios of a report: of bills that cost something, and of instance types, on the spot market or not.
func ratiosOf(r *billcheck.Report) (bills []collector.BillRatio, nodes []collector.NodeRatio) {
	for i := range r.Bills {
		if ratio, ok := r.Bills[i].MatchedRatio(); ok {
			bills = append(bills, collector.BillRatio{Bill: r.Bills[i].Name, Ratio: ratio})
		}
	}
	for from := 0; from < len(r.Nodes); {
		first, list, billed := &r.Nodes[from], 0.0, 0.0
		for from < len(r.Nodes) && r.Nodes[from].Cluster == first.Cluster && r.Nodes[from].InstanceType == first.InstanceType {
			list += r.Nodes[from].List
			billed += r.Nodes[from].Billed
			from++
		}
		if billed != 0 {
			nodes = append(nodes, collector.NodeRatio{Cluster: first.Cluster, InstanceType: first.InstanceType, Ratio: list / billed})
		}
	}
	return bills, nodes
}

// cloudCosts sums a day by what the metric has as labels.
func cloudCosts(ctx context.Context, c *billcheck.Checker, book *billing.Book, day allocation.Window) ([]collector.CloudCost, error) {
	keys, err := cloudcost.ParseKeys("provider,accountID,service,category", false)
	if err != nil {
		return nil, err
	}
	sets, err := cloudcost.Read(ctx, book, cloudcost.Query{Windows: []allocation.Window{day}, Keys: keys, Asset: c.Assets(ctx, book)})
	if err != nil {
		return nil, err
	}
	list := make([]collector.CloudCost, 0, len(sets[0].Rows))
	for i := range sets[0].Rows {
		r := &sets[0].Rows[i]
		list = append(list, collector.CloudCost{
			Provider: r.Texts[cloudcost.Provider], Account: r.Texts[cloudcost.AccountID], Service: r.Texts[cloudcost.Service], Category: r.Texts[cloudcost.Category], Cost: r.Costs[billing.Effective],
		})
	}
	return slices.Clip(list), nil
}
