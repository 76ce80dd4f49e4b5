package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// Sets of a stream are read so many at a time, and fewer where they would take more than this part of Options.Memory.
const (
	streamAtOnce = 8
	streamShare  = 16
)

// stream yields the sets of a stored query that are kept as they are read.
func (l *Ledger) stream(ctx context.Context, q allocation.Query, yield func(*allocation.Set) bool) error {
	q.Resolution, q.ExactBelow = l.opts.Resolution, false
	windows, err := q.Windows()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &stream{yield: yield}
	for try := 0; ; try++ {
		p, err := l.plan(ctx, &q, windows[s.made:])
		if err == nil {
			err = s.run(ctx, l.newAssembly(q, p))
		}
		var damaged *DamagedError
		switch {
		case err == nil:
			l.sawHistory(nil)
			return nil
		case ctx.Err() != nil || try >= maxDamaged:
			return fmt.Errorf("answer %s: %w", describe(q), err)
		case errors.As(err, &damaged):
			l.noteDamage(damaged)
		case errors.Is(err, fs.ErrNotExist): // somebody replaced or removed it meanwhile
		case errors.Is(err, errHistory) || p == nil:
			return s.without(ctx, l, q, windows, err)
		default:
			return err
		}
	}
}

// stream is an answer whose sets are yielded as they are made.
type stream struct {
	yield   func(*allocation.Set) bool
	made    int               // sets
	waiting []*allocation.Set // that nothing was found of: they are no answer by themselves
	found   bool
	stopped bool // nobody wants more
}

// give yields a set, or keeps it until there is something to be found.
func (s *stream) give(set *allocation.Set) {
	s.made++
	s.waiting = append(s.waiting, set)
	if !s.found {
		return
	}
	for _, set := range s.waiting {
		s.stopped = s.stopped || !s.yield(set)
	}
	s.waiting = s.waiting[:0]
}

// run makes the sets of a plan and gives them, oldest first.
func (s *stream) run(ctx context.Context, a *assembly) error {
	release, err := a.ledger.acquireRead(ctx, a.query.Window.Duration())
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	whole, next := a.readAhead(ctx)
	mixed, warning := a.plan.olderRules()
	for i := range a.plan.windows {
		if s.stopped {
			return nil
		}
		var set *allocation.Set
		if whole[i] {
			set, err = next()
			a.found = true
		} else {
			set, err = a.window(ctx, i)
		}
		if err != nil {
			return err
		}
		if i == mixed && warning != "" {
			set = warned(set, warning)
		}
		s.found = s.found || a.found
		s.give(set)
		if err := a.hold(ctx, nil); err != nil {
			return err
		}
	}
	if !s.found && a.noData != nil {
		return a.noData
	}
	return nil
}

// readAhead reads the windows that are one kept set each, some ahead, and says which these are. Those that are read at
// once are over one dictionary. An answer that may be kept in memory is.
func (a *assembly) readAhead(ctx context.Context) (whole []bool, next func() (*allocation.Set, error)) {
	whole = make([]bool, len(a.plan.windows))
	var kept []Kept
	for i, pieces := range a.plan.pieces {
		if whole[i] = len(pieces) == 1 && pieces[0].kept != nil; whole[i] {
			kept = append(kept, *pieces[0].kept)
		}
	}
	type chunk struct {
		sets []*allocation.Set
		err  error
	}
	ahead := make(chan chunk)
	go func() {
		defer close(ahead)
		a.readChunks(ctx, kept, func(sets []*allocation.Set, err error) bool {
			select {
			case ahead <- chunk{sets, err}:
				return err == nil
			case <-ctx.Done():
				return false
			}
		})
	}()
	var at chunk
	return whole, func() (*allocation.Set, error) {
		if len(at.sets) == 0 {
			var ok bool
			if at, ok = <-ahead; !ok || at.err != nil {
				return nil, errors.Join(at.err, ctx.Err())
			}
		}
		set := at.sets[0]
		at.sets = at.sets[1:]
		return set, nil
	}
}

// readChunks reads kept sets, some at a time, unless they were kept in memory, and keeps them there if they take little.
func (a *assembly) readChunks(ctx context.Context, kept []Kept, yield func([]*allocation.Set, error) bool) {
	l := a.ledger
	bytes := a.estimate()
	if bytes > l.cacheBytes() {
		for len(kept) > 0 {
			n := a.chunk(kept)
			sets, release, err := l.read(ctx, kept[:n], a.query.Only)
			more := yield(sets, err)
			if release(); !more {
				return
			}
			kept = kept[n:]
		}
		return
	}
	key, now := cacheKey(&a.query), l.opts.Now()
	if sets := l.cached(key, kept, now); sets != nil {
		yield(sets, memory.Of(ctx).Draw(bytes))
		return
	}
	all := make([]*allocation.Set, 0, len(kept))
	for from := 0; from < len(kept); {
		n := min(streamAtOnce, len(kept)-from)
		sets, _, err := l.read(ctx, kept[from:from+n], a.query.Only) // little, held as long as the question is
		if !yield(sets, err) {
			return
		}
		all, from = append(all, sets...), from+n
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache.put(cached{query: key, kept: kept, sets: all, bytes: bytes, asked: now}, l.cacheBytes())
}

// chunk is how many of the sets are read at once, at least one.
func (a *assembly) chunk(kept []Kept) (n int) {
	most := a.ledger.opts.Memory.Limit()
	bytes := kept[0].bytes(a.query.Only)
	for n = 1; n < min(streamAtOnce, len(kept)); n++ {
		if bytes += kept[n].bytes(a.query.Only); most > 0 && bytes > most/streamShare {
			break
		}
	}
	return n
}
