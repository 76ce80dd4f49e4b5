package ledger

import (
	"context"
	"errors"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// Sets of a stream are read streamAtOnce at a time, or fewer if they would take more than 1/streamShare of Options.Memory.
const (
	streamAtOnce = 8
	streamShare  = 16
)

// prefetch begins to read the windows that are one kept set each, which whole marks. next returns them one after the other. Sets that
// are read at once have one dictionary: all sets of a collected answer. stop ends the reading.
func (a *assembly) prefetch(ctx context.Context) (whole []bool, next func() (*allocation.Set, error), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	whole = make([]bool, len(a.plan.windows))
	var kept []Kept
	for i, pieces := range a.plan.pieces {
		if whole[i] = len(pieces) == 1 && pieces[0].Kept != nil; whole[i] {
			kept = append(kept, *pieces[0].Kept)
		}
	}
	type readSets struct {
		sets []*allocation.Set
		err  error
	}
	results := make(chan readSets)
	go func() {
		defer close(results)
		a.readInTurn(ctx, kept, func(sets []*allocation.Set, err error) bool {
			select {
			case results <- readSets{sets, err}:
				return err == nil
			case <-ctx.Done():
				return false
			}
		})
	}()
	var at readSets
	next = func() (*allocation.Set, error) {
		if len(at.sets) == 0 {
			var ok bool
			if at, ok = <-results; !ok || at.err != nil {
				return nil, errors.Join(at.err, ctx.Err())
			}
		}
		set := at.sets[0]
		at.sets = at.sets[1:]
		return set, nil
	}
	return whole, next, func() {
		cancel()
		for range results { // until the reading has ended
		}
	}
}

// readInTurn reads kept sets, unless they are cached, and caches them if they take little memory. It reads the sets of a stream a few at
// a time.
func (a *assembly) readInTurn(ctx context.Context, kept []Kept, yield func([]*allocation.Set, error) bool) {
	if len(kept) == 0 {
		return
	}
	l, stream, bytes := a.ledger, a.query.Stream, a.estimate()
	if stream && bytes > l.cache.most {
		for len(kept) > 0 {
			n := a.fitting(kept)
			sets, release, err := l.archive.Read(ctx, kept[:n], a.query.Only)
			more := yield(sets, err)
			if release(); !more {
				return
			}
			kept = kept[n:]
		}
		return
	}
	q := a.query
	if !q.Stored { // the windows of repeated queries end later, but they share closed days
		q.Window, q.Step = allocation.Window{Start: kept[0].Window.Start, End: kept[len(kept)-1].Window.End}, 0
	}
	key := cacheKey(&q)
	if sets := l.cache.get(key, kept); sets != nil {
		yield(sets, memory.FromContext(ctx).Draw(bytes))
		return
	}
	atOnce := len(kept)
	if stream {
		atOnce = streamAtOnce
	}
	all := make([]*allocation.Set, 0, len(kept))
	for from := 0; from < len(kept); {
		n := min(atOnce, len(kept)-from)
		sets, _, err := l.archive.Read(ctx, kept[from:from+n], q.Only) // their memory is held as long as the question is
		if !yield(sets, err) {
			return
		}
		all, from = append(all, sets...), from+n
	}
	l.cache.put(cached{query: key, kept: kept, sets: all, bytes: bytes})
}

// fitting returns how many of the sets are read at once: at least one, and no more than fit into streamShare of the memory.
func (a *assembly) fitting(kept []Kept) (n int) {
	most := a.ledger.opts.Memory.Limit()
	bytes := kept[0].bytes(a.query.Only)
	for n = 1; n < min(streamAtOnce, len(kept)); n++ {
		if bytes += kept[n].bytes(a.query.Only); most > 0 && bytes > most/streamShare {
			break
		}
	}
	return n
}
