package reconcile

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/promcost/promcost/allocation"
)

// View is what bills say at one moment, for sets that are at hand. It is for one goroutine.
type View struct{ answer *answer }

// View returns what the bills say now, as far as it is wanted. It fails if they cannot be read.
func (r *Reconciler) View(ctx context.Context, wanted allocation.Billed) (*View, error) {
	a := r.answer(allocation.Query{Resolution: allocation.AutoResolution, Stored: true}, wanted)
	if err := a.open(ctx); err != nil {
		return nil, fmt.Errorf("read bills: %w", err)
	}
	if err := a.learn(ctx); err != nil {
		return nil, err
	}
	return &View{a}, nil
}

// Version is another one whenever the bills say something else.
func (v *View) Version() string { return v.answer.book.Version() }

// Until is until when the costs of clusters are final; zero if no bill has charges.
func (v *View) Until() time.Time { return v.answer.reach.billed }

// Needs returns what Reconcile needs of stored sets of which only is wanted.
func (*View) Needs(only *allocation.Projection) *allocation.Projection {
	if only == nil {
		return nil
	}
	return only.Union(needs(only))
}

// Reconcile returns a stored set of an hour or a day with the adjustments of bills. Beyond the bills' reach there are none but estimates, if they are wanted.
func (v *View) Reconcile(ctx context.Context, set *allocation.Set) (*allocation.Set, error) {
	set, err := v.answer.reconcile(ctx, set)
	if err != nil {
		return nil, err
	}
	return v.answer.finish(set), nil
}

// Hours yields the hours of a window as ledger.Ledger.Hours does.
type Hours func(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error]

// BilledHours yields the hours within w that bills reach, with their adjustments, and after the last of them an empty set of the next
// hour. All have Set.BilledUntil.
func (r *Reconciler) BilledHours(ctx context.Context, hours Hours, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		v, err := r.View(ctx, allocation.Billed{Adjustments: true})
		if err != nil {
			yield(nil, fmt.Errorf("%w: %w", allocation.ErrUpstream, err))
			return
		}
		until := v.Until()
		for set, err := range hours(ctx, allocation.Window{Start: w.Start, End: earliest(w.End, until)}, v.Needs(only)) {
			if set == nil {
				yield(nil, err)
				return
			}
			window := set.Window
			if err == nil {
				set, err = v.Reconcile(ctx, set)
			}
			if err != nil {
				set = allocation.NewSet(window, allocation.NewDict())
			}
			if !yield(set, err) {
				return
			}
		}
		next := allocation.Window{Start: until, End: until.Add(time.Hour)}
		if !next.Start.Before(w.Start) && !next.End.After(w.End) {
			yield(v.answer.finish(allocation.NewSet(next, allocation.NewDict())), nil)
		}
	}
}
