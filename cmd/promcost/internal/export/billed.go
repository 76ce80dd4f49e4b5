package export

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// Billed reads sets of a history at the costs of the bills that it has.
type Billed struct {
	ledger *ledger
	bills  *reconcile.Reconciler
}

// NewBilled returns a reader of sets whose days begin in a zone, with the bills of the settings.
func NewBilled(ctx context.Context, store *history.Store, zone *time.Location, of *config.Settings, logger log.Logger) (*Billed, error) {
	intake := billing.NewIntake(store.Bills(), logger, billing.IntakeOptions{})
	var sources []billing.Source
	for i := range of.Bills {
		sources = append(sources, billing.Source{Bill: of.Bills[i].Bill})
	}
	intake.Set(sources, zone)
	if err := intake.Look(ctx); err != nil {
		return nil, fmt.Errorf("read the bills of the history: %w", err)
	}
	l := &ledger{store: store, zone: zone}
	return &Billed{l, reconcile.New(l, intake, reconcile.Options{Zone: zone, Labels: of.Labels})}, nil
}

// Read reads a set. One that is not of one day of the zone has list prices, and a warning.
func (b *Billed) Read(ctx context.Context, of *history.Stored) (*allocation.Set, error) {
	day := allocation.Day.Round(allocation.Window{Start: of.Window.Start, End: of.Window.Start.Add(1)}, b.ledger.zone)
	if of.Window.End.After(day.End) {
		set, err := b.ledger.read(ctx, []*history.Stored{of}, of.Window, nil)
		if err == nil {
			set.Warnings = append(slices.Clip(set.Warnings), "some sets are of several days of "+b.ledger.zone.String()+", so they are at list prices: export them by themselves with --window and --timezone")
		}
		return set, err
	}
	b.ledger.exported = of
	for set, err := range b.bills.Sets(ctx, allocation.Query{Window: of.Window, Bills: allocation.Billed{Adjustments: true}}) {
		return set, err
	}
	return nil, errors.New("BUG: no set of " + of.Window.Start.String())
}

// ledger is the sets of a history as reconciling asks for them: the one that is exported, and the day that it belongs to.
type ledger struct {
	store    *history.Store
	zone     *time.Location
	exported *history.Stored
}

// Sets yields the sets of q, whose windows are that of the exported set or days.
func (l *ledger) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range windows {
			set, err := l.set(ctx, w, q.Only)
			if !yield(set, err) || err != nil {
				return
			}
		}
	}
}

func (l *ledger) set(ctx context.Context, w allocation.Window, only *allocation.Projection) (*allocation.Set, error) {
	if w.Start.Equal(l.exported.Window.Start) && w.End.Equal(l.exported.Window.End) {
		return l.read(ctx, []*history.Stored{l.exported}, w, only)
	}
	var sets []history.Stored
	for _, p := range [...]history.Period{history.Daily, history.Hourly} {
		listing, err := l.store.List(ctx, p, w)
		if err != nil {
			return nil, err
		}
		sets = append(sets, listing.Sets...)
	}
	sets = slices.DeleteFunc(sets, func(s history.Stored) bool {
		return len(s.Missing) > 0 || s.Window.Start.Before(w.Start) || s.Window.End.After(w.End)
	})
	if len(sets) == 0 {
		return nil, fmt.Errorf("%w in the history of %s", allocation.ErrNoData, w.Start.UTC().Format(time.RFC3339))
	}
	return l.read(ctx, Choose(sets, l.zone).Sets, w, only)
}

// read reads sets and merges them.
func (l *ledger) read(ctx context.Context, list []*history.Stored, w allocation.Window, only *allocation.Projection) (*allocation.Set, error) {
	sets := make([]history.Stored, len(list))
	for i, s := range list {
		sets[i] = *s
	}
	read, err := l.store.Read(ctx, sets, only)
	if err != nil || len(read) == 1 {
		return slices.Concat(read, []*allocation.Set{nil})[0], err
	}
	return passes.Merge(w, read)
}
