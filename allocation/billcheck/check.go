package billcheck

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/reconcile"
)

// Options of Check.
type Options struct {
	Window allocation.Window
	Zone   *time.Location          // where days begin
	Labels allocation.LabelMapping // what the aliases of labels stand for
}

// Check compares the lines of a book with the assets of a ledger, for the days of a window that the bills reach.
func Check(ctx context.Context, ledger reconcile.Ledger, book *billing.Book, o Options) (*Report, error) {
	c := newChecker(book, o)
	for _, day := range c.days() {
		set, err := assetsOf(ctx, ledger, day)
		if err == nil {
			err = c.addDay(ctx, set, day)
		}
		if err != nil {
			return nil, fmt.Errorf("check bills of %s: %w", day.Start.Format(time.DateOnly), err)
		}
	}
	return c.finish(), nil
}

// assetsOf returns the assets of a day. Without data it has none.
func assetsOf(ctx context.Context, ledger reconcile.Ledger, day allocation.Window) (*allocation.Set, error) {
	only := &allocation.Projection{Properties: []allocation.Property{allocation.Cluster}, Columns: []allocation.Column{allocation.RunningSeconds}} // few of the rows, and all assets
	for set, err := range ledger.Sets(ctx, allocation.Query{Window: day, Resolution: allocation.AutoResolution, Stored: true, Only: only}) {
		switch {
		case allocation.HasNothing(err):
		case err != nil:
			return nil, err
		default:
			return set, nil
		}
	}
	return allocation.NewSet(day, allocation.NewDict()), nil
}

// checker makes a Report.
type checker struct {
	book      *billing.Book
	options   Options
	report    Report
	reach     map[reached]time.Time
	bills     map[string]*Bill
	kinds     [reconcile.NumKinds]Kind
	unbilled  map[reconcile.Asset]*Unbilled
	unmatched map[Unmatched]*Unmatched // by what is not summed
	nodes     map[NodeType]*NodeType   // by what is not summed
}

// reached is a sub-account that a bill charges.
type reached struct{ bill, account, sub string }

func newChecker(book *billing.Book, o Options) *checker {
	c := &checker{
		book: book, options: o, report: Report{Warnings: slices.Clone(book.Warnings()), clusters: map[string]bool{}}, reach: map[reached]time.Time{}, bills: map[string]*Bill{},
		unbilled: map[reconcile.Asset]*Unbilled{}, unmatched: map[Unmatched]*Unmatched{}, nodes: map[NodeType]*NodeType{},
	}
	for _, bill := range book.Bills() {
		c.bills[bill.Name] = &Bill{Name: bill.Name, Cost: bill.Cost.String(), Accounts: []Account{}}
	}
	statements := book.Statements()
	for i := range statements {
		s, b := &statements[i], c.bills[statements[i].Bill]
		b.Statements++
		b.Lines += s.Lines
		if s.Delivered.After(b.Delivered) {
			b.Delivered = s.Delivered
		}
	}
	c.report.Deliveries = book.Brought()
	for _, r := range book.Reach() {
		c.reach[reached{r.Bill, r.Account, r.SubAccount}] = r.Until
		b := c.bills[r.Bill]
		b.Accounts = append(b.Accounts, Account{r.Account, r.SubAccount, r.Charged, r.Until})
	}
	return c
}

// days are those of the window that some bill reaches, from the first one that is charged.
func (c *checker) days() (days []allocation.Window) {
	var first, last time.Time
	for i, s := range c.book.Statements() {
		if i == 0 || s.Charged.Start.Before(first) {
			first = s.Charged.Start
		}
	}
	for _, until := range c.reach {
		if until.After(last) {
			last = until
		}
	}
	from, until := c.options.Window.Start, c.options.Window.End
	if from.Before(first) {
		from = first
	}
	if last.Before(until) {
		until = last
	}
	for from.Before(until) {
		day := allocation.Day.Round(allocation.Window{Start: from, End: from.Add(1)}, c.options.Zone)
		if !day.Start.Before(c.options.Window.Start) && !day.End.After(until) {
			days = append(days, day)
		}
		from = day.End
	}
	if len(days) > 0 {
		c.report.Start, c.report.End = days[0].Start, days[len(days)-1].End
	}
	return days
}

// addDay adds what bills charge for the assets of a day.
func (c *checker) addDay(ctx context.Context, set *allocation.Set, day allocation.Window) error {
	index := reconcile.NewIndex(set, c.book.Bills(), c.options.Labels)
	final := func(l *billing.Line) bool {
		return l.Start.Before(c.reach[reached{l.Bill, l.Account.ID, l.Account.SubID}])
	}
	charges, err := reconcile.NewDay(ctx, index, c.book, day, final)
	if err != nil {
		return err
	}
	types := map[allocation.AssetKey]NodeType{}
	for i := range set.Nodes {
		n := &set.Nodes[i]
		types[allocation.AssetKey{Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID}] = NodeType{Cluster: n.Cluster, InstanceType: n.InstanceType, Spot: n.Spot}
	}
	charges.Each(func(a reconcile.Asset, list, charged float64, billed bool) {
		c.report.clusters[a.Cluster] = c.report.clusters[a.Cluster] || billed
		switch {
		case !billed:
			c.addUnbilled(a, list)
		case a.Kind == reconcile.LocalDisk && charged == 0:
			c.report.TakenOffCost += list
		case a.Kind == reconcile.Node:
			n := into(c.nodes, types[a.AssetKey])
			n.List += list
			n.Billed += charged
		}
	})
	matches := newDayIndex(index)
	return c.book.Read(ctx, day, func(l *billing.Line) error {
		if final(l) {
			m := matches.match(l.Item)
			c.addLine(l, &m.Match)
		}
		return nil
	})
}

// into returns the element of a key in a map of sums, a new one if there is none.
func into[K comparable](m map[K]*K, key K) *K {
	if m[key] == nil {
		sum := key
		m[key] = &sum
	}
	return m[key]
}

// addLine counts a line for its bill and kind.
func (c *checker) addLine(l *billing.Line, m *reconcile.Match) {
	k, b := &c.kinds[m.Kind], c.bills[l.Bill]
	k.Lines++
	k.Cost += l.Cost
	b.Total += l.Cost
	if m.Kind < reconcile.External {
		b.Matched += l.Cost
	}
	if l.Charge.Category != billing.Purchase {
		b.effective += l.Costs[billing.Effective]
		if l.Commitment.Status == "" {
			b.expected += l.Costs[billing.Billed]
		} else {
			b.expected += l.Costs[billing.Effective]
		}
	}
	if why, ok := looksLikeCluster(l, m); ok {
		c.report.UnmatchedCost += l.Cost
		key := Unmatched{Bill: l.Bill, Service: l.Service.Name, Resource: cmp.Or(l.Resource.ID, l.Resource.Name), Why: why.text, Remedy: why.remedy}
		if c.unmatched[key] == nil && len(c.unmatched) >= mostListed {
			return
		}
		u := into(c.unmatched, key)
		u.Lines++
		u.Cost += l.Cost
	}
}

// mostListed bounds the rows of a list.
const mostListed = 1000

func (c *checker) addUnbilled(a reconcile.Asset, list float64) {
	c.report.UnbilledCost += list
	u := c.unbilled[a]
	if u == nil {
		if len(c.unbilled) >= mostListed {
			return
		}
		u = &Unbilled{Kind: a.Kind.String(), Cluster: a.Cluster, Name: a.Name, Remedy: remedyOf(a)}
		c.unbilled[a] = u
	}
	u.Days++
	u.Cost += list
}

// finish sorts what was summed.
func (c *checker) finish() *Report {
	r := &c.report
	total := 0.0
	for _, bill := range c.book.Bills() {
		b := c.bills[bill.Name]
		total += b.Total
		r.Bills = append(r.Bills, *b)
		if bill.Cost == billing.Effective && b.expected > 0 && b.effective < leastEffective*b.expected {
			r.Warnings = append(r.Warnings, fmt.Sprintf("bill %s: EffectiveCost is %.0f %% of BilledCost with the cost of commitments that were used or not: the provider does not tell it for all lines. Set cost: billed, unless a credit explains it",
				b.Name, 100*b.effective/b.expected))
		}
	}
	for kind, k := range c.kinds {
		if k.Kind = reconcile.Kind(kind).String(); total != 0 {
			share := k.Cost / total
			k.Share = &share
		}
		r.Kinds = append(r.Kinds, k)
	}
	r.Unbilled = sorted(c.unbilled, func(a, b Unbilled) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	r.Unmatched = sorted(c.unmatched, func(a, b Unmatched) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Bill, b.Bill), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Why, b.Why))
	})
	r.Nodes = sorted(c.nodes, func(a, b NodeType) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.InstanceType, b.InstanceType), compareBools(a.Spot, b.Spot))
	})
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Billed != 0 {
			ratio := n.List / n.Billed
			n.Ratio = &ratio
		}
	}
	return r
}

// leastEffective is which part of what it should be EffectiveCost is at least.
const leastEffective = 0.9

func sorted[K comparable, V any](m map[K]*V, order func(a, b V) int) []V {
	list := make([]V, 0, len(m))
	for _, v := range m {
		list = append(list, *v)
	}
	slices.SortFunc(list, order)
	return list
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
