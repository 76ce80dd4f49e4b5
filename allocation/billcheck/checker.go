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

// Parts returns a function that finds what a line of a book within a window charges, and which parts of its cost each of these takes.
// It reads the assets of a day when it first sees a line of that day; its error ends the reading of lines. What it returns must not
// be changed. It is not safe for concurrent use.
func (c *Checker) Parts(ctx context.Context, book *billing.Book) func(*billing.Line) ([]reconcile.Part, error) {
	days := map[int64]*dayIndex{}
	return func(l *billing.Line) ([]reconcile.Part, error) {
		w := allocation.Day.Round(allocation.Window{Start: l.Start, End: l.Start.Add(1)}, c.zone)
		d := days[w.Start.Unix()]
		if d == nil {
			set, err := assetsOf(ctx, c.ledger, w)
			if err != nil {
				return nil, err
			}
			d = newDayIndex(reconcile.NewIndex(set, book.Bills(), c.labels))
			days[w.Start.Unix()] = d
		}
		return d.match(l.Item).parts, nil
	}
}

// dayIndex is an index that remembers the items that it saw last.
type dayIndex struct {
	index *reconcile.Index
	known map[*billing.Item]matched
}

// matched is what an item is about.
type matched struct {
	reconcile.Match
	parts []reconcile.Part
}

func newDayIndex(x *reconcile.Index) *dayIndex {
	return &dayIndex{x, map[*billing.Item]matched{}}
}

// mostKnown bounds how many items are remembered: lines of one are close together.
const mostKnown = 4096

func (d *dayIndex) match(item *billing.Item) matched {
	m, ok := d.known[item]
	if !ok {
		m.Match = d.index.Match(item)
		if m.parts = d.index.Parts(&m.Match); len(d.known) >= mostKnown {
			clear(d.known)
		}
		d.known[item] = m
	}
	return m
}
