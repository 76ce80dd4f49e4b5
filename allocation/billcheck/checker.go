package billcheck

import (
	"context"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/reconcile"
)

// Checker compares bills with the assets of a ledger. It is safe for concurrent use.
type Checker struct {
	billing.Books
	ledger reconcile.Ledger
	zone   *time.Location
	labels allocation.LabelMapping
}

// New returns a checker of bills. Days begin in zone, labels says what the aliases of labels stand for.
func New(ledger reconcile.Ledger, books billing.Books, zone *time.Location, labels allocation.LabelMapping) *Checker {
	return &Checker{books, ledger, zone, labels}
}

// Check reports what the bills say of a window.
func (c *Checker) Check(ctx context.Context, w allocation.Window) (*Report, error) {
	book, err := c.Book(ctx)
	if err != nil {
		return nil, err
	}
	return Check(ctx, c.ledger, book, Options{w, c.zone, c.labels})
}

// assetTypes are the types of assets by the kinds of lines.
var assetTypes = [reconcile.External]allocation.AssetType{
	reconcile.Node: allocation.NodeAsset, reconcile.Volume: allocation.DiskAsset, reconcile.LocalDisk: allocation.DiskAsset,
	reconcile.Balancer: allocation.LoadBalancerAsset, reconcile.Network: allocation.NetworkAsset, reconcile.Management: allocation.ManagementAsset,
}

// Assets returns a function that finds the type of asset that a line of a book within a window is of. It reads the assets of a day
// when it first sees a line of that day; its error ends the reading of lines. It is not safe for concurrent use.
func (c *Checker) Assets(ctx context.Context, book *billing.Book) func(*billing.Line) (allocation.AssetType, bool, error) {
	days := map[int64]*dayIndex{}
	return func(l *billing.Line) (allocation.AssetType, bool, error) {
		w := allocation.Day.Round(allocation.Window{Start: l.Start, End: l.Start.Add(1)}, c.zone)
		d := days[w.Start.Unix()]
		if d == nil {
			set, err := assetsOf(ctx, c.ledger, w)
			if err != nil {
				return 0, false, err
			}
			d = newDayIndex(reconcile.NewIndex(set, book.Bills(), c.labels))
			days[w.Start.Unix()] = d
		}
		m := d.match(l.Item)
		if m.Kind >= reconcile.External {
			return 0, false, nil
		}
		return assetTypes[m.Kind], true, nil
	}
}

// dayIndex is an index that remembers the items that it saw last.
type dayIndex struct {
	index *reconcile.Index
	known map[*billing.Item]reconcile.Match
}

func newDayIndex(x *reconcile.Index) *dayIndex {
	return &dayIndex{x, map[*billing.Item]reconcile.Match{}}
}

// mostKnown bounds how many items are remembered: lines of one are close together.
const mostKnown = 4096

func (d *dayIndex) match(item *billing.Item) reconcile.Match {
	m, ok := d.known[item]
	if !ok {
		if m = d.index.Match(item); len(d.known) >= mostKnown {
			clear(d.known)
		}
		d.known[item] = m
	}
	return m
}
