// Package billwatch keeps the numbers that metrics about bills have: of the newest day that each bill reaches, and of yesterday.
package billwatch

import (
	"context"
	"fmt"
	"maps"
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

// interval is how often it is seen whether bills changed. Only then lines are read.
const interval = 15 * time.Second

// Options of a Watch. All are required.
type Options struct {
	Checker func() *billcheck.Checker // of what is configured at the time; nil where no bills are
	Zone    func() *time.Location     // where days begin
	Now     func() time.Time
	Logger  log.Logger
}

// Watch keeps the state of bills. It is safe for concurrent use.
type Watch struct {
	Options

	mu    sync.Mutex
	state collector.BillState
	key   string // of the book and the days that the state is of
}

// New returns a watch that knows nothing yet.
func New(o Options) *Watch { return &Watch{Options: o} }

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
			level.Warn(w.Logger).Log("msg", "Metrics about bills are not renewed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Look renews the state if the bills changed, or a day has passed. After an error the state is the one before.
func (w *Watch) Look(ctx context.Context) error {
	c := w.Checker()
	if c == nil {
		w.set(collector.BillState{}, "")
		return nil
	}
	book, err := c.Book(ctx)
	if err != nil {
		return err
	}
	var state collector.BillState
	newest, charged := map[string]time.Time{}, map[string]time.Time{} // until when bills reach and charge
	for _, r := range book.Reach() {
		state.Reach = append(state.Reach, collector.BillReach{Bill: r.Bill, Account: r.Account, SubAccount: r.SubAccount, Until: r.Until})
		if r.Until.After(newest[r.Bill]) {
			newest[r.Bill] = r.Until
		}
		if r.Charged.After(charged[r.Bill]) {
			charged[r.Bill] = r.Charged
		}
	}
	today := w.day(w.Now()).Start
	yesterday := w.day(today.Add(-1))
	key := fmt.Sprint(book.Version(), " ", today.Unix())
	if w.knows(key) {
		return nil
	}
	if state.Matched, state.Nodes, err = w.ratios(ctx, c, newest); err != nil {
		return err
	}
	if state.Cloud, err = cloudCosts(ctx, c, book, yesterday, charged); err != nil {
		return err
	}
	w.set(state, key)
	return nil
}

// ratios are those of each bill on its newest day, and those of nodes on the newest day on which any are billed: other bills, such as
// those of vendors, may reach further.
func (w *Watch) ratios(ctx context.Context, c *billcheck.Checker, newest map[string]time.Time) (bills []collector.BillRatio, nodes []collector.NodeRatio, err error) {
	ends := slices.SortedFunc(maps.Values(newest), func(a, b time.Time) int { return b.Compare(a) })
	for _, end := range slices.CompactFunc(ends, time.Time.Equal) {
		report, err := c.Check(ctx, w.day(end.Add(-1)))
		if err != nil {
			return nil, nil, err
		}
		ofBills, ofNodes := ratiosOf(report)
		for _, of := range ofBills {
			if newest[of.Bill].Equal(end) {
				bills = append(bills, of)
			}
		}
		if len(nodes) == 0 {
			nodes = ofNodes
		}
	}
	return bills, nodes, nil
}

// day is the day of an instant.
func (w *Watch) day(t time.Time) allocation.Window {
	return allocation.Day.Round(allocation.Window{Start: t, End: t.Add(1)}, w.Zone())
}

func (w *Watch) set(state collector.BillState, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.key = state, key
}

func (w *Watch) knows(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.key == key
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

// wholly reads those lines of a book whose bills have charged all of what is read. Costs are those that the bills' settings take.
type wholly struct {
	*billing.Book
	charged map[string]time.Time // until when, by bill
}

// Read implements cloudcost.Source.
func (b wholly) Read(ctx context.Context, w allocation.Window, f func(*billing.Line) error) error {
	return b.Book.Read(ctx, w, func(l *billing.Line) error {
		if b.charged[l.Bill].Before(w.End) {
			return nil
		}
		own := *l
		own.Costs[billing.Effective] = l.Cost
		return f(&own)
	})
}

// cloudCosts sums a day by what the metric has as labels.
func cloudCosts(ctx context.Context, c *billcheck.Checker, book *billing.Book, day allocation.Window, charged map[string]time.Time) ([]collector.CloudCost, error) {
	keys, err := cloudcost.ParseKeys("provider,accountID,service,category", false)
	if err != nil {
		return nil, err
	}
	sets, err := cloudcost.Read(ctx, wholly{book, charged}, cloudcost.Query{Windows: []allocation.Window{day}, Keys: keys, Parts: c.Parts(ctx, book)})
	if err != nil {
		return nil, err
	}
	list := make([]collector.CloudCost, len(sets[0].Rows))
	for i := range list {
		r := &sets[0].Rows[i]
		list[i] = collector.CloudCost{
			Provider: r.Texts[cloudcost.Provider], Account: r.Texts[cloudcost.AccountID], Service: r.Texts[cloudcost.Service], Category: r.Texts[cloudcost.Category], Cost: r.Costs[billing.Effective],
		}
	}
	return list, nil
}
