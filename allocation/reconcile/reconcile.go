package reconcile

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/singleflight"
)

// Ledger computes the sets of a query, oldest first, at list prices.
type Ledger interface {
	Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error]
}

// Options of a Reconciler. Zero fields take the defaults.
type Options struct {
	// Zone is where days begin. The default is UTC.
	Zone *time.Location
	// Labels says what the aliases of labels stand for. The default is allocation.DefaultLabelMapping.
	Labels allocation.LabelMapping
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Days are kept between questions. The default keeps them for the Reconciler alone, without a bound by the process' memory.
	Days *Days
}

// Reconciler is a Ledger whose sets have what Query.Bills asks for. It is safe for concurrent use.
type Reconciler struct {
	ledger Ledger
	books  billing.Books
	opts   Options
	labels string // differs for other Options.Labels

	lesson   atomic.Pointer[lesson] // the last one
	learning singleflight.Group[string, *factors]
}

// New returns a reconciler of the sets of a ledger with the bills of books.
func New(ledger Ledger, books billing.Books, o Options) *Reconciler {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Days == nil {
		o.Days = NewDays(memory.New(0))
	}
	return &Reconciler{ledger: ledger, books: books, opts: o, labels: fmt.Sprint(o.Labels)}
}

// Sets yields the sets of q, oldest first, or an error. They are those of the ledger, with the parts of bills that q asks for.
// Bills that cannot be read are a warning of the sets, which then have list prices.
func (r *Reconciler) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	wanted := q.Bills
	q.Bills = allocation.Billed{}
	if wanted == (allocation.Billed{}) {
		return r.ledger.Sets(ctx, q)
	}
	q.MergedBy = nil // bills may look at labels
	return func(yield func(*allocation.Set, error) bool) {
		a := r.answer(q, wanted)
		if err := a.open(ctx); err != nil {
			a.warnings = []string{fmt.Sprintf("bills cannot be read, so costs are at list prices: %v", err)}
		} else if err := a.learn(ctx); err != nil {
			a.warnings = append(slices.Clip(a.warnings), fmt.Sprintf("what bills do not charge is at list prices: %v", err))
		}
		if ctx.Err() != nil {
			yield(nil, fmt.Errorf("read bills: %w", ctx.Err()))
			return
		}
		a.sets(ctx, yield)
	}
}

// answer makes the sets of one query.
type answer struct {
	*Reconciler
	query    allocation.Query
	wanted   allocation.Billed
	book     *billing.Book // nil if it cannot be read
	reach    reach
	cuts     allocation.Window // within it, windows are cut at days
	factors  *factors          // estimate what no bill charges; nil leaves that at list prices
	warnings []string          // for the first set
	last     *Day              // of which sets have a part
}

func (r *Reconciler) answer(q allocation.Query, wanted allocation.Billed) *answer {
	return &answer{Reconciler: r, query: q, wanted: wanted}
}

// open finds what the bills say now. After an error costs are at list prices.
func (a *answer) open(ctx context.Context) error {
	book, err := a.books.Book(ctx)
	if err != nil {
		return err
	}
	a.book, a.reach, a.warnings = book, newReach(book), book.Warnings()
	a.cuts = allocation.Window{Start: a.day(a.reach.charged.Start).Start, End: a.reach.last}
	if a.wanted.External || a.wanted.Cloud {
		a.cuts.End = latest(a.cuts.End, a.day(a.reach.charged.End.Add(-1)).End)
	}
	return nil
}

// day is the day of an instant.
func (a *answer) day(t time.Time) allocation.Window {
	return allocation.Day.Round(allocation.Window{Start: t, End: t.Add(1)}, a.opts.Zone)
}

// sets yields the sets. Windows of several days are computed in pieces of one day, which are reconciled and then merged.
func (a *answer) sets(ctx context.Context, yield func(*allocation.Set, error) bool) {
	windows, err := a.query.Windows()
	if err != nil {
		yield(nil, err)
		return
	}
	pieces, counts := a.cut(windows)
	q := a.query
	if q.Only != nil && a.book != nil {
		q.Only = q.Only.Union(needs(q.Only))
	}
	var m *merging
	if len(pieces) > len(windows) {
		if q = q.Over(pieces); q.Only != nil {
			q.Only = q.Only.WithInstance()
		}
		q.Stream, m = true, &merging{account: memory.FromContext(ctx), stream: a.query.Stream}
	}
	n, seen := 0, 0 // windows, and pieces of the current one
	for set, err := range a.ledger.Sets(ctx, q) {
		if err == nil {
			set, err = a.reconcile(ctx, set)
		}
		if err == nil && m != nil {
			seen++
			if set, err = m.add(windows[n], set, seen == counts[n]); err == nil && set == nil {
				continue
			}
			n, seen = n+1, 0
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(a.finish(set), nil) {
			return
		}
	}
}

// needs returns what is read of sets besides what is asked for: without columns, only assets are asked for.
func needs(requested *allocation.Projection) *allocation.Projection {
	if len(requested.Columns) > 0 {
		return passes.ReconcileNeeds()
	}
	return allocation.Union(&allocation.Projection{FewOfAssets: true}, allocation.OfRows([]allocation.Property{allocation.Cluster}, allocation.RunningSeconds))
}

// same reports whether two windows are the same time, whatever their zones.
func same(a, b allocation.Window) bool { return a.Start.Equal(b.Start) && a.End.Equal(b.End) }

// cut cuts windows at the days that bills charge, and counts the pieces of each window.
func (a *answer) cut(windows []allocation.Window) (pieces []allocation.Window, counts []int) {
	for _, w := range windows {
		n := len(pieces)
		for from := w.Start; from.Before(w.End); {
			to := w.End
			switch {
			case a.book == nil || !from.Before(a.cuts.End):
			case from.Before(a.cuts.Start):
				to = earliest(to, a.cuts.Start)
			default:
				to = earliest(to, a.day(from).End)
			}
			pieces = append(pieces, allocation.Window{Start: from, End: to})
			from = to
		}
		counts = append(counts, len(pieces)-n)
	}
	return pieces, counts
}

// reconcile reconciles a set that lies within one day or beyond the bills.
func (a *answer) reconcile(ctx context.Context, set *allocation.Set) (*allocation.Set, error) {
	var of passes.Adjustments
	var day *Day // nil where bills charge nothing
	var err error
	switch {
	case a.book != nil && set.Window.Start.Before(a.cuts.End) && !set.Window.Start.Before(a.cuts.Start):
		if day, err = a.dayOf(ctx, set); err != nil {
			return nil, err
		}
		if of, err = a.charged(ctx, set, day); err != nil {
			return nil, err
		}
	case a.factors == nil:
		return set, nil
	}
	if a.factors == nil {
		return passes.Reconcile(set, of)
	}
	estimated := a.factors.estimate(set, day, &of)
	if set, err = passes.Reconcile(set, of); err != nil {
		return nil, err
	}
	set.Estimated = allocation.Estimate{Cost: estimated, Total: set.AssetsCost()}
	if estimated != 0 {
		set.Estimated.From = set.Window.Start
	}
	return set, nil
}

// charged is what bills charge on a day for a set that is the day or a part of it.
func (a *answer) charged(ctx context.Context, set *allocation.Set, day *Day) (of passes.Adjustments, err error) {
	if a.wanted.Adjustments {
		of = day.Adjustments(set)
	}
	if a.wanted.External || a.wanted.Cloud {
		o, err := day.outside(ctx, a.book, set.Window, a.wanted)
		if err != nil {
			return passes.Adjustments{}, err
		}
		of.External, of.Cloud = o.external, o.cloud
	}
	return of, nil
}

// dayOf returns the day that a set is, or is a part of.
func (a *answer) dayOf(ctx context.Context, set *allocation.Set) (*Day, error) {
	w := a.day(set.Window.Start)
	if same(set.Window, w) {
		return a.billed(ctx, w, set)
	}
	if a.last != nil && a.last.window.Start.Equal(w.Start) {
		return a.last, nil
	}
	whole, err := a.whole(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("reconcile a part of %s: %w", w.Start.Format(time.DateOnly), err)
	}
	if whole == nil {
		whole = set
	}
	d, err := a.billed(ctx, w, whole)
	if err == nil {
		a.last = d
	}
	return d, err
}

// whole returns the assets of a day, and how long its containers ran. A day that is not over is as long as it is. It is nil if
// there are no data of the rest of the day.
func (a *answer) whole(ctx context.Context, w allocation.Window) (set *allocation.Set, err error) {
	q := a.query
	q.Window, q.Step, q.Borders, q.Stream = w, 0, nil, false
	if now := a.opts.Now().Truncate(time.Millisecond); w.End.After(now) {
		q.Window.End = now
	}
	q.Only = needs(&allocation.Projection{}).WithInstance()
	for set, err = range a.ledger.Sets(ctx, q) {
		if err != nil && errors.Is(err, allocation.ErrNoData) {
			return nil, nil
		}
	}
	return set, err
}

// billed returns what bills charge for the assets of a set on a day.
func (a *answer) billed(ctx context.Context, w allocation.Window, set *allocation.Set) (*Day, error) {
	key := dayKey{w.Start.Unix(), a.book.Version(), a.labels, fingerprint(set)}
	if d := a.opts.Days.get(key); d != nil {
		return d, nil
	}
	d, err := NewDay(ctx, NewIndex(set, a.book.Bills(), a.opts.Labels), a.book, w, a.reach.reached)
	if err == nil {
		a.opts.Days.put(key, d)
	}
	return d, err
}

// finish gives a set the reach of the bills and the warnings of the answer. It copies the set, which may be shared.
func (a *answer) finish(set *allocation.Set) *allocation.Set {
	out := *set
	out.BilledUntil = a.reach.billed
	warnings := a.warnings
	a.warnings = nil
	if end := earliest(out.Window.End, a.opts.Now()); a.book != nil && a.wanted.Adjustments && end.After(out.BilledUntil) {
		warnings = append(slices.Clip(warnings), a.beyond())
	}
	if from := out.Estimated.From; !from.IsZero() && from.Before(a.reach.billed) {
		warnings = append(slices.Clip(warnings), fmt.Sprintf("costs from %s on that no bill charges are estimated from the last billed days", from.In(a.opts.Zone).Format(time.RFC3339)))
	}
	if len(warnings) > 0 {
		out.Warnings = allocation.SortWarnings(slices.Concat(out.Warnings, warnings))
	}
	return &out
}

// beyond is the warning of sets that bills do not reach.
func (a *answer) beyond() string {
	if a.reach.billed.IsZero() {
		return "no bill has charges yet: all costs are at list prices"
	}
	are := "are at list prices"
	if a.factors != nil {
		are = "are estimated from the last billed days"
	}
	return fmt.Sprintf("costs from %s on %s where bills have no final charges yet", a.reach.billed.In(a.opts.Zone).Format(time.RFC3339), are)
}
