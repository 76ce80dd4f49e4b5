package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation/timeline"
)

// Workers take the series of a Select on several goroutines. Each worker runs on one goroutine at a time. Of selectors that follow each
// other and differ only in their times, a source may ask Grade and Of about a series for the first one alone.
type Workers struct {
	// N is the number of workers, at least 1, and of goroutines that the source may read with.
	N int
	// Skip reports whether nobody wants a series; nil wants all. It is called from one goroutine: see Of. Such series are not yielded.
	Skip func(i int, key []Symbol) bool
	// SkipUIDs are pods of which nobody wants some series, of selectors that name UIDs; nil wants all. A source may yield such series all
	// the same, but to leave them out saves it to look at them.
	SkipUIDs *UIDs
	// OnlySkipped turns SkipUIDs round: nobody wants any but the series of pods that are not wanted at all.
	OnlySkipped bool
	// Wants reports whether a stretch of a series may be wanted; nil wants all. It may be called from a goroutine of its own. A source may
	// yield other stretches all the same, but to look at the samples first saves it to make keys.
	Wants func(i int, p *timeline.Points) bool
	// Grade says how much of a series is wanted, by the texts of its key, which it does not keep; nil wants all. It may be called several
	// times for a series, and from a goroutine of its own. If id is not 0, only the times of its samples matter, and Points.Series is to
	// say it: elements of the key may be wrong then, except for labels of Selector.Common. If nothing is wanted, it is not yielded.
	Grade func(i int, key []string) (id uint64, nothing bool)
	// Left is called once for each selector of which such series were left out.
	Left func(i int)
	// Of is the worker, 0 to N−1, of a series. N is for a series that concerns several workers: it is yielded when all others have been. It
	// is called from one goroutine, the same that calls Skip, while workers take other series. Nil gives all series to worker 0; Skip is
	// not called then while that takes one.
	Of func(i int, key []Symbol) int
	// Yield receives a series or a stretch of one: see Source. The series of a worker come in the same order each time.
	Yield func(worker, i int, key []Symbol, p *timeline.Points) error
}

// UIDs say by its UID what is wanted of a pod.
type UIDs struct {
	// Wanted says what is wanted of the pod with a UID. It says the same each time, so that a source may remember it. It does not keep uid.
	Wanted func(uid string) Wanted
}

// Wanted is what is wanted of a pod. A larger one wants less.
type Wanted uint8

// All series of a pod are wanted, or only those that may show when it ran, which are not of Selector.Timeless, or none.
const (
	WantsAll Wanted = iota
	WantsRuns
	WantsNothing
)

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

// left records that series of a selector were left out by SkipUIDs.
func (l *Workers) left(i int) {
	if l.Left != nil {
		l.Left(i)
	}
}

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
		before := p.Series()
		defer p.SetSeries(before) // the points are the source's, which may go on with them
		if workers.skips(i, key) || workers.grade(i, key, p) {
			return nil
		}
		return workers.Yield(workers.Worker(i, key), i, key, p)
	})
}

// grade grades a series and lets p say its id. It reports whether nothing of it is wanted.
func (l *Workers) grade(i int, key []Symbol, p *timeline.Points) (nothing bool) {
	if l.Grade == nil {
		return false
	}
	texts := make([]string, len(key))
	for k := range key {
		texts[k] = key[k].Value()
	}
	id, nothing := l.Grade(i, texts)
	if id != 0 {
		p.SetSeries(id)
	}
	return nothing
}

// renumbered are workers for a Select of some of the selectors; of maps their indexes to those among all.
func (l *Workers) renumbered(of []int) Workers {
	grade, skip, worker, wants := l.Grade, l.Skip, l.Of, l.Wants
	if grade != nil {
		grade = func(i int, key []string) (uint64, bool) { return l.Grade(of[i], key) }
	}
	if skip != nil {
		skip = func(i int, key []Symbol) bool { return l.Skip(of[i], key) }
	}
	if worker != nil {
		worker = func(i int, key []Symbol) int { return l.Of(of[i], key) }
	}
	if wants != nil {
		wants = func(i int, p *timeline.Points) bool { return l.Wants(of[i], p) }
	}
	return Workers{
		N: l.N, Grade: grade, Skip: skip, Of: worker,
		SkipUIDs: l.SkipUIDs, OnlySkipped: l.OnlySkipped, Wants: wants,
		Left:  func(i int) { l.left(of[i]) },
		Yield: func(worker, i int, key []Symbol, p *timeline.Points) error { return l.Yield(worker, of[i], key, p) },
	}
}
