package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/promcost/promcost/allocation"
)

// maxDamaged bounds how many damaged sets one query may meet.
const maxDamaged = 100

// answer makes the sets of a query, oldest first, from stored and computed parts. A stream is yielded as it is made; other
// answers are collected.
type answer struct {
	ledger  *Ledger
	query   allocation.Query
	windows []allocation.Window
	yield   func(*allocation.Set) bool // of a stream; nil collects the sets

	sets    []*allocation.Set // that were collected
	made    int               // sets
	waiting []*allocation.Set // of a stream, sets without data: they are no answer by themselves
	found   bool              // there are data in some set
	stopped bool              // the consumer wants no more
}

// answer yields the sets of q, or returns an error. Only a stream may do both.
func (l *Ledger) answer(ctx context.Context, q allocation.Query, yield func(*allocation.Set) bool) error {
	a := &answer{ledger: l, query: q}
	if q.Stream && l.Keeps() {
		a.yield = yield
	}
	if err := a.make(ctx); err != nil {
		return err
	}
	for _, set := range a.sets {
		if !yield(set) {
			break
		}
	}
	return nil
}

// make makes the sets.
func (a *answer) make(ctx context.Context) (err error) {
	if a.query.Stored {
		a.query = a.ledger.opts.resolved(a.query)
	}
	if !a.ledger.Keeps() {
		a.query.Stored = false
		a.sets, err = a.ledger.compute(ctx, a.query)
		return err
	}
	if a.windows, err = a.query.Windows(); err != nil {
		return err
	}
	archive := a.ledger.archive
	for try := 0; ; try++ {
		if a.yield == nil { // a collected answer begins anew
			a.sets, a.made, a.found = nil, 0, false
		}
		p, err := a.ledger.plan(ctx, &a.query, a.windows[a.made:])
		switch {
		case err != nil:
			return a.withoutHistory(ctx, err)
		case p == nil:
			rest := a.query
			if n := a.made - len(a.waiting); n > 0 { // of a stream
				rest = rest.Over(a.windows[n:])
			}
			a.waiting = nil
			a.sets, err = a.ledger.compute(ctx, rest)
			return err
		}
		a.query.MergedBy = nil // stored sets have everything
		err = a.carryOut(ctx, a.ledger.newAssembly(a.query, p))
		var damaged *DamagedError
		switch {
		case err == nil:
			archive.RecordRead(nil)
			return nil
		case ctx.Err() != nil || try >= maxDamaged:
			return fmt.Errorf("answer %s: %w", describe(a.query), err)
		case errors.As(err, &damaged):
			archive.Distrust(damaged)
		case errors.Is(err, fs.ErrNotExist): // somebody replaced or removed it meanwhile
		case errors.Is(err, errHistory):
			return a.withoutHistory(ctx, err)
		default:
			return err
		}
	}
}

// carryOut makes the sets of a plan and gives them, oldest first.
func (a *answer) carryOut(ctx context.Context, m *assembly) error {
	leave, err := a.ledger.archive.Enter(ctx, m.query.Window.Duration())
	if err != nil {
		return err
	}
	defer leave()
	whole, next, stop := m.prefetch(ctx)
	defer stop()
	mixed, warning := m.plan.olderRules()
	for i := 0; i < len(whole) && !a.stopped; {
		sets, err := m.make(ctx, i, whole, next)
		if err != nil {
			return err
		}
		a.found = a.found || m.found
		for _, set := range sets {
			if i == mixed && warning != "" {
				set = warned(set, warning)
			}
			a.give(set)
			i++
		}
		if a.yield != nil { // the caller holds few sets at a time
			if err := m.hold(ctx, nil); err != nil {
				return err
			}
		}
	}
	if !a.found && m.noData != nil {
		return m.noData
	}
	return nil
}

// give collects a set, or yields it once a set of the stream has data.
func (a *answer) give(set *allocation.Set) {
	a.made++
	if a.yield == nil {
		a.sets = append(a.sets, set)
		return
	}
	a.waiting = append(a.waiting, set)
	if !a.found {
		return
	}
	for _, set := range a.waiting {
		a.stopped = a.stopped || !a.yield(set)
	}
	a.waiting = a.waiting[:0]
}
