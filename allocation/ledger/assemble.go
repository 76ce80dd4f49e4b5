package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/places"
)

// maxDamaged bounds how many damaged sets one query may come upon.
const maxDamaged = 100

// answer gives the sets of q, oldest first: of what is kept, and of what is computed.
func (l *Ledger) answer(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	if !l.keeps() {
		q.Stored, q.Only = false, nil
		return l.compute(ctx, q)
	}
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	if q.Stored {
		q.Resolution, q.ExactBelow = l.opts.Resolution, false
	}
	for try := 0; ; try++ {
		p, err := l.plan(ctx, &q, windows)
		if err != nil {
			return l.without(ctx, q, err)
		}
		if p == nil {
			return l.compute(ctx, q)
		}
		a := l.newAssembly(q, p)
		sets, err := a.run(ctx)
		var damaged *DamagedError
		switch {
		case err == nil:
			l.sawHistory(nil)
			return sets, nil
		case ctx.Err() != nil || try >= maxDamaged:
			return nil, fmt.Errorf("answer %s: %w", describe(q), err)
		case errors.As(err, &damaged):
			l.noteDamage(damaged)
		case errors.Is(err, fs.ErrNotExist): // somebody replaced or removed it meanwhile
		case errors.Is(err, errHistory):
			return l.without(ctx, q, err)
		default:
			return nil, err
		}
	}
}

// keeps reports whether the ledger keeps history by now.
func (l *Ledger) keeps() bool { return l.history != nil && l.opts.Settled() }

// Distrust takes a set for missing that was found to be damaged, until it is computed and written again.
func (l *Ledger) Distrust(d *DamagedError) { l.noteDamage(d) }

// noteDamage makes that the set is taken for missing until it is written again.
func (l *Ledger) noteDamage(d *DamagedError) {
	msg := "History is damaged and will be computed again"
	if l.opts.ReadOnly {
		msg = "History is damaged and taken for missing, for it is only read here"
	}
	level.Error(l.logger).Log("msg", msg, "kind", d.Kind, "start", d.Window.Start.UTC().Format(time.RFC3339), "err", d.Err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.damaged[setKey{d.Kind, d.Window.Start.Unix(), d.Window.End.Unix()}] = true
}

// warned is a set with a further warning.
func warned(s *allocation.Set, text string) *allocation.Set {
	own := *s
	own.Warnings = append(slices.Clone(s.Warnings), text)
	slices.Sort(own.Warnings)
	own.Warnings = slices.Compact(own.Warnings)
	return &own
}

// assembly makes the sets of a plan.
type assembly struct {
	ledger  *Ledger
	query   allocation.Query
	plan    *plan
	filled  map[int64]*hourFlight // by start, those that were not used yet
	found   bool                  // there was something of some window
	noData  error
	bytes   int64 // that whole kept sets are estimated to take
	merged  int64 // bytes drawn for the window being made
	explain explainer
	begin   *time.Time // of the data of the source, nil before it is wanted
}

func (l *Ledger) newAssembly(q allocation.Query, p *plan) *assembly {
	return &assembly{ledger: l, query: q, plan: p, filled: map[int64]*hourFlight{}, explain: explainer{ledger: l, window: q.Window}}
}

// run makes the sets, oldest first.
func (a *assembly) run(ctx context.Context) ([]*allocation.Set, error) {
	a.bytes = a.estimate()
	release, err := a.ledger.acquireRead(ctx, a.query.Window.Duration())
	if err != nil {
		return nil, err
	}
	defer release()
	out := make([]*allocation.Set, len(a.plan.windows))
	if err := a.whole(ctx, out); err != nil {
		return nil, err
	}
	for i := 0; i < len(out); {
		if out[i] != nil {
			i++
			continue
		}
		n, err := a.computeRun(ctx, i, out)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			if out[i], err = a.window(ctx, i); err != nil {
				return nil, err
			}
			n = 1
		}
		i += n
	}
	if !a.found && a.noData != nil {
		return nil, a.noData
	}
	if i, warning := a.plan.olderRules(); warning != "" {
		out[i] = warned(out[i], warning)
	}
	return out, nil
}

// estimate is about what the windows that are one kept set each take.
func (a *assembly) estimate() (bytes int64) {
	for _, pieces := range a.plan.pieces {
		if len(pieces) == 1 && pieces[0].kept != nil {
			bytes += pieces[0].kept.bytes(a.query.Only)
		}
	}
	return bytes
}

// whole reads all windows that are one kept set each, over one dictionary.
func (a *assembly) whole(ctx context.Context, out []*allocation.Set) error {
	var kept []Kept
	var at []int
	for i, pieces := range a.plan.pieces {
		if len(pieces) == 1 && pieces[0].kept != nil {
			kept, at = append(kept, *pieces[0].kept), append(at, i)
		}
	}
	sets, err := a.ledger.readCached(ctx, &a.query, kept, a.bytes)
	if err != nil {
		return err
	}
	for i, s := range sets {
		out[at[i]], a.found = s, true
	}
	return nil
}

// computeRun computes, in sets that are not kept, the windows from the i-th on of which nothing is kept, in one query, and
// says how many they were.
func (a *assembly) computeRun(ctx context.Context, i int, out []*allocation.Set) (n int, err error) {
	if a.query.Stored {
		return 0, nil
	}
	for i+n < len(out) && out[i+n] == nil && len(a.plan.pieces[i+n]) == 1 {
		n++
	}
	if n == 0 {
		return 0, nil
	}
	sets, err := a.ledger.compute(ctx, a.query.Over(a.plan.windows[i:i+n]))
	switch {
	case errors.Is(err, allocation.ErrNoData):
		a.missing(err)
		for k := range n {
			w := a.plan.windows[i+k]
			out[i+k] = warned(allocation.NewSet(w, allocation.NewDict()), a.ledger.describeHole(&hole{w, err}))
		}
		return n, nil
	case err != nil:
		return 0, err
	case len(sets) != n:
		return 0, fmt.Errorf("internal error: %d sets of %d windows: report it", len(sets), n)
	}
	copy(out[i:], sets)
	a.found = true
	return n, nil
}

// missing notes that something has no data. That it may have some is the error where nothing is found.
func (a *assembly) missing(err error) {
	if a.noData == nil || allocation.HasNothing(a.noData) && !allocation.HasNothing(err) {
		a.noData = err
	}
}

// mergeAtOnce is how many sets are merged at a time: so much of them is in memory.
const mergeAtOnce = 8

// hold draws what the window being made takes, in place of what it drew before; nil gives that back.
func (a *assembly) hold(ctx context.Context, sum *allocation.Set) error {
	bytes := int64(0)
	if sum != nil {
		bytes = allocation.SetsBytes([]*allocation.Set{sum})
	}
	account := memory.Of(ctx)
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

// hole is a part of a window that cannot be had.
type hole struct {
	window allocation.Window
	err    error
}

// like reports whether two holes are told of as one.
func (h *hole) like(o *hole) bool {
	x, _ := errors.AsType[*spoiledError](h.err)
	y, _ := errors.AsType[*spoiledError](o.err)
	return errors.Is(h.err, allocation.ErrNoData) == errors.Is(o.err, allocation.ErrNoData) && (x == nil) == (y == nil) && (x == nil || x.why == y.why)
}

// describeHole says what is missing. Why the source has nothing is said the same however it was asked: days are kept with it.
func (l *Ledger) describeHole(h *hole) string {
	err := h.err
	spoiled, _ := errors.AsType[*spoiledError](err)
	switch {
	case spoiled != nil, !errors.Is(err, allocation.ErrNoData), errors.Is(err, allocation.ErrUpstream):
	case l.opts.ReadOnly:
		err = errNotKept
	default:
		err = errNothing
	}
	return allocation.HoleWarning(h.window, err.Error())
}

// errNothing is the error of an hour that the source has nothing of.
var errNothing = fmt.Errorf("%w: the source has nothing of that time", allocation.ErrNoData)

// nothingOf is the error of an hour that is empty: that of a source whose answers were not whole is not known to be.
func nothingOf(set *allocation.Set) error {
	if !set.Incomplete {
		return errNothing
	}
	return fmt.Errorf("%w: %w: %s", allocation.ErrNoData, allocation.ErrUpstream, strings.Join(set.Warnings, "; "))
}

// errNotKept is the error of an hour that is not there where nothing is computed.
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
	return allocation.Merge(w, sets)
}

// pieces reads or computes pieces. Those that fail are holes, as long as another succeeds. release gives back
// the memory of those that were read.
func (a *assembly) pieces(ctx context.Context, pieces []piece) (sets []*allocation.Set, holes []hole, release func(), err error) {
	var kept []Kept
	for _, x := range pieces {
		if x.kept != nil {
			kept = append(kept, *x.kept)
		}
	}
	read, release, err := a.ledger.read(ctx, kept, a.query.Only.WithInstance())
	if err != nil {
		return nil, nil, nil, err
	}
	a.found = a.found || len(read) > 0
	for _, x := range pieces {
		if x.kept != nil {
			sets, read = append(sets, read[0]), read[1:]
			continue
		}
		s, err := a.computed(ctx, x)
		switch {
		case err == nil:
			sets, a.found = append(sets, s), true
		case errors.Is(err, allocation.ErrNoData), errors.Is(err, allocation.ErrUpstream) && ctx.Err() == nil:
			if why := a.explain.why(ctx, x.window); why != "" {
				err = &spoiledError{why}
			}
			a.missing(err)
			holes = append(holes, hole{x.window, err})
		default:
			release()
			return nil, nil, nil, err
		}
	}
	return sets, holes, release, nil
}

// computed computes a piece: a closed hour together with those that follow.
func (a *assembly) computed(ctx context.Context, x piece) (*allocation.Set, error) {
	if a.early(ctx, x.window) {
		return nil, errNothing
	}
	if !x.hour {
		sets, err := a.ledger.compute(ctx, a.query.Over([]allocation.Window{x.window}))
		if err != nil {
			return nil, err
		}
		return sets[0], nil
	}
	key := x.window.Start.Unix()
	if a.filled[key] == nil {
		hours := a.hoursFrom(x.window.Start)
		flights, err := a.ledger.fillAsked(ctx, hours, nil)
		if err != nil {
			return nil, err
		}
		for i, f := range flights {
			if err := memory.Of(ctx).Draw(f.bytes()); err != nil {
				return nil, err
			}
			a.filled[hours[i].Start.Unix()] = f
		}
	}
	f := a.filled[key]
	delete(a.filled, key)
	memory.Of(ctx).Return(f.bytes())
	return f.set, f.err
}

// hoursFrom are the hours to be computed from t on, as many as are computed at once.
func (a *assembly) hoursFrom(t time.Time) (hours []allocation.Window) {
	for _, pieces := range a.plan.pieces {
		for _, x := range pieces {
			switch {
			case x.window.Start.Before(t):
			case !x.hour || len(hours) > 0 && !a.ledger.joins(hours, x.window):
				return hours
			default:
				hours = append(hours, x.window)
			}
		}
	}
	return hours
}

// read reads kept sets, whose memory it draws before. release gives that back once they are of no more use; it is never nil.
func (l *Ledger) read(ctx context.Context, kept []Kept, only *allocation.Projection) (sets []*allocation.Set, release func(), err error) {
	if len(kept) == 0 {
		return nil, func() {}, nil
	}
	release, err = l.opts.Memory.Take(ctx, remedy, bytesOf(kept, only))
	if err != nil {
		rows := 0
		for i := range kept {
			rows += kept[i].Rows
		}
		return nil, release, fmt.Errorf("read %d allocations of %d hours or days: %w", rows, len(kept), err)
	}
	sets, err = l.history.Read(ctx, kept, only)
	if err == nil {
		return sets, release, nil
	}
	release()
	var damaged *DamagedError
	if errors.As(err, &damaged) || errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		return nil, func() {}, err
	}
	return nil, func() {}, fmt.Errorf("%w: %w", errHistory, err)
}

// acquireRead takes one of the places of those who read the history, of so much time.
func (l *Ledger) acquireRead(ctx context.Context, d time.Duration) (leave func(), err error) {
	if leave, err = l.readers.Take(places.About(ctx, d)); err != nil {
		return nil, fmt.Errorf("wait to read the history: %w", err)
	}
	return leave, nil
}
