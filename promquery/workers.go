package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation/timeline"
)

// Workers take the series of a Select on several goroutines. Each worker runs on one goroutine at a time. Of selectors that follow each
// other and differ only in their times, a source may ask Of about a series for the first one alone.
type Workers struct {
	// N is the number of workers, at least 1, and of goroutines that the source may read with.
	N int
	// Skip reports whether nobody wants a series; nil wants all. It is called from one goroutine: see Of. Such series are not yielded.
	Skip func(i int, key []Symbol) bool
	// Of is the worker, 0 to N−1, of a series. N is for a series that concerns several workers: it is yielded when all others have been. It
	// is called from one goroutine, the same that calls Skip, while workers take other series. Nil gives all series to worker 0; Skip is
	// not called then while that takes one.
	Of func(i int, key []Symbol) int
	// Yield receives a series or a stretch of one: see Source. The series of a worker come in the same order each time.
	Yield func(worker, i int, key []Symbol, p *timeline.Points) error
}

// OneWorker gives every series to yield.
func OneWorker(yield Yield) Workers {
	return Workers{N: 1, Yield: func(_, i int, key []Symbol, p *timeline.Points) error { return yield(i, key, p) }}
}

// Worker is the worker of a series.
func (l *Workers) Worker(i int, key []Symbol) int {
	if l.Of == nil {
		return 0
	}
	return l.Of(i, key)
}

// skips reports whether a series may be left out.
func (l *Workers) skips(i int, key []Symbol) bool { return l.Skip != nil && l.Skip(i, key) }

// Into is the yield function of one worker.
func (l *Workers) Into(worker int) Yield {
	return func(i int, key []Symbol, p *timeline.Points) error { return l.Yield(worker, i, key, p) }
}

// Parallel is implemented by a Source that can read several series at a time.
type Parallel interface {
	// SelectParallel is Select with workers instead of yield.
	SelectParallel(ctx context.Context, sels []Selector, workers Workers) (Stats, error)
}

// SelectParallel asks src with as many workers as it supports.
func SelectParallel(ctx context.Context, src Source, sels []Selector, workers Workers) (Stats, error) {
	if p, ok := src.(Parallel); ok {
		return p.SelectParallel(ctx, sels, workers)
	}
	return src.Select(ctx, sels, func(i int, key []Symbol, p *timeline.Points) error {
		if workers.skips(i, key) {
			return nil
		}
		return workers.Yield(workers.Worker(i, key), i, key, p)
	})
}

// renumbered are workers for a Select of some of the selectors; of maps their indexes to those among all.
func (l *Workers) renumbered(of []int) Workers {
	skip, worker := l.Skip, l.Of
	if skip != nil {
		skip = func(i int, key []Symbol) bool { return l.Skip(of[i], key) }
	}
	if worker != nil {
		worker = func(i int, key []Symbol) int { return l.Of(of[i], key) }
	}
	return Workers{
		N: l.N, Skip: skip, Of: worker,
		Yield: func(worker, i int, key []Symbol, p *timeline.Points) error { return l.Yield(worker, of[i], key, p) },
	}
}
