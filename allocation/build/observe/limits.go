package observe

import (
	"context"
	"iter"
)

// Budget bounds the memory of a computation.
type Budget interface {
	// Hold takes or gives back memory, so that the computation holds so many bytes. To give back never fails.
	Hold(bytes int64) error
}

// Limits say when a computation stops.
type Limits struct {
	ctx     context.Context //nolint:containedctx // that of one computation
	budget  Budget          // nil is no bound
	held    int64           // bytes
	Stopped error           // why the computation is to stop

	series int64 // that were added
	next   int64 // the count of series at the next look at the memory they take
}

// Stop reports whether the computation must stop; Stopped says why.
func (l *Limits) Stop() bool {
	if l.Stopped == nil {
		l.Stopped = l.ctx.Err()
	}
	return l.Stopped != nil
}

// Fail stops the computation if err is not nil.
func (l *Limits) Fail(err error) {
	if l.Stopped == nil {
		l.Stopped = err
	}
}

// Hold changes the memory that the computation has to so many bytes. The computation stops if there is not as much.
func (l *Limits) Hold(bytes int64) {
	if l.Stopped != nil || l.budget == nil {
		return
	}
	if l.Stopped = l.budget.Hold(bytes); l.Stopped == nil {
		l.held = bytes
	}
}

// Draw takes memory before it is allocated.
func (l *Limits) Draw(bytes int64) { l.Hold(l.held + bytes) }

// leastSeries is the least number of series between two looks at memory. A look takes time in proportion to the containers, so
// there is one each time the series have grown by half.
const leastSeries = 1000

// watch holds the memory of what was added, once so many series were added that it may be much more than before.
func (ob *Observer) watch() error {
	if ob.series++; ob.series < ob.next {
		return nil
	}
	ob.next = ob.series + max(leastSeries, ob.series/2)
	bytes := ob.Memory()
	if ob.Phase != Gathering {
		bytes = max(bytes, ob.held) // rows and loads are not in it any more
	}
	ob.Hold(bytes)
	return ob.Stopped
}

// Run runs parts until the computation must stop, and returns why.
func (l *Limits) Run(parts ...func()) error {
	for _, part := range parts {
		if l.Stop() {
			break
		}
		part()
	}
	return l.Stopped
}

// Each yields what seq yields until the computation must stop.
func Each[K, V any](l *Limits, seq iter.Seq2[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range seq {
			if l.Stop() || !yield(k, v) {
				return
			}
		}
	}
}
