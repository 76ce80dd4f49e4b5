package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/passes"
)

// assembly makes the sets of a plan.
type assembly struct {
	ledger  *Ledger
	query   allocation.Query
	plan    *plan
	filled  map[int64]HourResult // hours computed together with others that are yet to be used, by start
	found   bool                 // there was something of some window
	noData  error
	failed  error // of the source, which is not asked any more after it
	merged  int64 // bytes drawn for the window being made
	explain explainer
	begin   *time.Time // of the data of the source, nil before it is wanted
}

func (l *Ledger) newAssembly(q allocation.Query, p *plan) *assembly {
	return &assembly{ledger: l, query: q, plan: p, filled: map[int64]HourResult{}, explain: explainer{ledger: l, window: q.Window}}
}

// make makes the i-th set, and later ones that are computed together with it. Sets that are stored as a whole come from next.
func (a *assembly) make(ctx context.Context, i int, whole []bool, next func() (*allocation.Set, error)) ([]*allocation.Set, error) {
	if whole[i] {
		set, err := next()
		a.found = a.found || err == nil
		return []*allocation.Set{set}, err
	}
	if n := a.uncovered(i); n > 0 {
		return a.computeRun(ctx, a.plan.windows[i:i+n])
	}
	set, err := a.window(ctx, i)
	return []*allocation.Set{set}, err
}

// estimate is about how many bytes the windows take that are one kept set each.
func (a *assembly) estimate() (bytes int64) {
	for _, pieces := range a.plan.pieces {
		if len(pieces) == 1 && pieces[0].Kept != nil {
			bytes += pieces[0].Kept.bytes(a.query.Only)
		}
	}
	return bytes
}

// uncovered is how many windows from the i-th on have nothing kept, and so are computed in one query: a few of a stream. It is 0 for
// stored queries, whose hours are computed and kept one by one.
func (a *assembly) uncovered(i int) (n int) {
	if a.query.Stored {
		return 0
	}
	for _, pieces := range a.plan.pieces[i:] {
		if len(pieces) != 1 || pieces[0].Kept != nil || a.query.Stream && n == streamAtOnce {
			break
		}
		n++
	}
	return n
}

// computeRun computes the sets of adjacent windows in one query.
func (a *assembly) computeRun(ctx context.Context, windows []allocation.Window) ([]*allocation.Set, error) {
	sets, err := a.ledger.compute(ctx, a.query.Over(windows))
	switch {
	case errors.Is(err, allocation.ErrNoData):
		a.missing(err)
		sets = make([]*allocation.Set, len(windows))
		for i, w := range windows {
			sets[i] = warned(allocation.NewSet(w, allocation.NewDict()), a.ledger.describeHole(&hole{w, err}))
		}
		return sets, nil
	case err != nil:
		return nil, err
	case len(sets) != len(windows):
		return nil, fmt.Errorf("internal error: %d sets of %d windows: report it", len(sets), len(windows))
	}
	a.found = true
	a.merged = allocation.SetsBytes(sets) // which compute has drawn
	return sets, nil
}

// missing records the error of a piece without data. If nothing is found at all, it is the error of the answer: first one that leaves
// open whether there are data.
func (a *assembly) missing(err error) {
	if a.noData == nil || allocation.HasNothing(a.noData) && !allocation.HasNothing(err) {
		a.noData = err
	}
}

// mergeAtOnce is how many sets are merged at a time: so much of them is in memory.
const mergeAtOnce = 8

// hold draws the memory of the current window, in place of the last draw; nil returns that memory.
func (a *assembly) hold(ctx context.Context, sum *allocation.Set) error {
	bytes := int64(0)
	if sum != nil {
		bytes = allocation.SetsBytes([]*allocation.Set{sum})
	}
	account := memory.FromContext(ctx)
	account.Return(a.merged)
	a.merged = 0
	if err := account.Draw(bytes); err != nil {
		return fmt.Errorf("sum %d allocations: %w", sum.Len(), err)
	}
	a.merged = bytes
	return nil
}

// window makes a set of several pieces, some at a time. Its memory is held.
func (a *assembly) window(ctx context.Context, i int) (*allocation.Set, error) {
	w, pieces := a.plan.windows[i], a.plan.pieces[i]
	a.merged = 0 // windows before are held as they are
	var sum *allocation.Set
	var holes []hole
	for len(pieces) > 0 {
		n := min(mergeAtOnce, len(pieces))
		sets, lacks, release, err := a.pieces(ctx, pieces[:n])
		if err != nil {
			return nil, err
		}
		pieces, holes = pieces[n:], append(holes, lacks...)
		if sum, err = addSets(w, sum, sets); err != nil {
			return nil, err
		}
		release()
		if err := a.hold(ctx, sum); err != nil {
			return nil, err
		}
	}
	if sum == nil {
		sum = allocation.NewSet(w, allocation.NewDict())
	}
	for len(holes) > 0 {
		first, n := holes[0], 1
		for n < len(holes) && holes[n].window.Start.Equal(first.window.End) && holes[n].like(&first) {
			first.window.End = holes[n].window.End
			n++
		}
		holes = holes[n:]
		sum = warned(sum, a.ledger.describeHole(&first))
		sum.Incomplete = true // warned has made it a copy
	}
	return sum, nil
}

// hole is a part of a window without a result.
type hole struct {
	window allocation.Window
	err    error
}

// like reports whether two holes have one warning if they are adjacent.
func (h *hole) like(o *hole) bool {
	x, _ := errors.AsType[*unusableError](h.err)
	y, _ := errors.AsType[*unusableError](o.err)
	return errors.Is(h.err, allocation.ErrNoData) == errors.Is(o.err, allocation.ErrNoData) && (x == nil) == (y == nil) && (x == nil || x.why == y.why)
}

// describeHole is the warning of a hole. It gives one reason for all ways in which the source has nothing, for days are kept with it.
func (l *Ledger) describeHole(h *hole) string {
	err := h.err
	unusable, _ := errors.AsType[*unusableError](err)
	switch {
	case unusable != nil, !errors.Is(err, allocation.ErrNoData), errors.Is(err, allocation.ErrUpstream):
	case l.opts.ReadOnly:
		err = errNotKept
	default:
		err = errNothing
	}
	return notices.HoleWarning(h.window, err.Error())
}

// errNothing is the error of an hour without samples.
var errNothing = fmt.Errorf("%w: the source has no samples for that time", allocation.ErrNoData)

// nothingOf is the error of an empty hour. If the source's answers were not whole, the hour may have data all the same.
func nothingOf(set *allocation.Set) error {
	if !set.Incomplete {
		return errNothing
	}
	return fmt.Errorf("%w: %w: %s", allocation.ErrNoData, allocation.ErrUpstream, strings.Join(set.Warnings, "; "))
}

// errNotKept is the error for a missing hour where nothing is computed.
var errNotKept = fmt.Errorf("%w: the history has nothing of that time, and is only read here", allocation.ErrNoData)

// addSets merges sets into sum, which is nil for nothing yet.
func addSets(w allocation.Window, sum *allocation.Set, sets []*allocation.Set) (*allocation.Set, error) {
	if sum != nil {
		sets = append([]*allocation.Set{sum}, sets...)
	}
	if len(sets) == 0 {
		return nil, nil
	}
	if len(sets) == 1 && sum == nil && sets[0].Window == w {
		return sets[0], nil
	}
	return passes.Merge(w, sets)
}

// pieces reads or computes pieces. Pieces that fail become holes. release returns the memory of those that were read.
func (a *assembly) pieces(ctx context.Context, pieces []Piece) (sets []*allocation.Set, holes []hole, release func(), err error) {
	var kept []Kept
	for _, x := range pieces {
		if x.Kept != nil {
			kept = append(kept, *x.Kept)
		}
	}
	read, release, err := a.ledger.archive.Read(ctx, kept, a.query.Only.WithInstance())
	if err != nil {
		return nil, nil, nil, err
	}
	a.found = a.found || len(read) > 0
	for _, x := range pieces {
		if x.Kept != nil {
			sets, read = append(sets, read[0]), read[1:]
			continue
		}
		s, err := a.computed(ctx, x)
		switch {
		case err == nil:
			sets, a.found = append(sets, s), true
		case errors.Is(err, allocation.ErrNoData), errors.Is(err, allocation.ErrUpstream) && ctx.Err() == nil:
			if a.failed == nil && isOutage(err) {
				a.failed = err
			}
			if why := a.explain.why(ctx, x.Window); why != "" {
				err = &unusableError{why}
			}
			a.missing(err)
			holes = append(holes, hole{x.Window, err})
		default:
			release()
			return nil, nil, nil, err
		}
	}
	return sets, holes, release, nil
}

// computed computes a piece, a closed hour together with the next ones. After the source has failed once, it is not asked
// again.
func (a *assembly) computed(ctx context.Context, x Piece) (*allocation.Set, error) {
	if a.early(ctx, x.Window) {
		return nil, errNothing
	}
	if !x.Hour && a.failed != nil {
		return nil, a.failed
	}
	if !x.Hour {
		sets, err := a.ledger.compute(ctx, a.query.Over([]allocation.Window{x.Window}))
		if err != nil {
			return nil, err
		}
		return sets[0], nil
	}
	key := x.Window.Start.Unix()
	if _, ok := a.filled[key]; !ok {
		hours := a.hoursFrom(x.Window.Start)
		results, err := a.ledger.fillAsked(ctx, hours, a.failed)
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			if err := memory.FromContext(ctx).Draw(r.bytes()); err != nil {
				return nil, err
			}
			a.filled[hours[i].Start.Unix()] = r
		}
	}
	r := a.filled[key]
	delete(a.filled, key)
	memory.FromContext(ctx).Return(r.bytes())
	return r.Set, r.Err
}

// hoursFrom returns the hours to be computed from t on, as many as one computation takes.
func (a *assembly) hoursFrom(t time.Time) (hours []allocation.Window) {
	for _, pieces := range a.plan.pieces {
		for _, x := range pieces {
			switch {
			case x.Window.Start.Before(t):
			case !x.Hour || len(hours) > 0 && !a.ledger.clock.joins(hours, x.Window):
				return hours
			default:
				hours = append(hours, x.Window)
			}
		}
	}
	return hours
}

// MergeDay merges the pieces of a day. Time without a result is a warning of the set.
func (l *Ledger) MergeDay(ctx context.Context, day allocation.Window, pieces []Piece) (*allocation.Set, error) {
	q := l.opts.resolved(allocation.Query{Window: day, Stored: true})
	return l.newAssembly(q, &plan{[]allocation.Window{day}, [][]Piece{pieces}}).window(ctx, 0)
}

// beginTimeout bounds the question when the data of the source begin: all do without the answer.
const beginTimeout = 30 * time.Second

// manyMissing is how many pieces of a query are to be computed at least for the source to be asked when its data begin: the question
// takes as long as some of them.
const manyMissing = 31 * 24

// early reports whether w is before the data of the source. The source is asked for their begin once, if much is to be computed:
// decades without data need not be computed hour by hour.
func (a *assembly) early(ctx context.Context, w allocation.Window) bool {
	if a.begin == nil {
		a.begin = &time.Time{}
		missing := 0
		for _, pieces := range a.plan.pieces {
			for _, x := range pieces {
				if x.Kept == nil {
					missing++
				}
			}
		}
		if missing >= manyMissing && !a.ledger.opts.ReadOnly {
			if begin, err := a.ledger.Begin(ctx, a.query.Window); err == nil {
				a.begin = &begin
			}
		}
	}
	return !w.End.After(*a.begin)
}

// Begin asks the source when its data begin within w.
func (l *Ledger) Begin(ctx context.Context, w allocation.Window) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return l.opts.Begin(ctx, w)
}
