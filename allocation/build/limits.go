package build

import (
	"context"
	"iter"
)

// Budget bounds the memory of a Builder.
type Budget interface {
	// Hold takes or gives back memory, so that the builder holds so many bytes. To give back never fails.
	Hold(bytes int64) error
}

// limits say when a Builder stops.
type limits struct {
	ctx     context.Context //nolint:containedctx // that of one computation
	budget  Budget          // nil is no bound
	held    int64           // bytes
	stopped error           // why the builder is to stop

	series int64 // that were added
	next   int64 // the count of series at the next look at the memory they take
}

// stop reports whether the builder must stop; stopped says why.
func (l *limits) stop() bool {
	if l.stopped == nil {
		l.stopped = l.ctx.Err()
	}
	return l.stopped != nil
}

// fail stops the builder if err is not nil.
func (l *limits) fail(err error) {
	if l.stopped == nil {
		l.stopped = err
	}
}

// hold changes the memory that the builder has to so many bytes. The builder stops if there is not as much.
func (l *limits) hold(bytes int64) {
	if l.stopped != nil || l.budget == nil {
		return
	}
	if l.stopped = l.budget.Hold(bytes); l.stopped == nil {
		l.held = bytes
	}
}

// draw takes memory before it is allocated.
func (l *limits) draw(bytes int64) { l.hold(l.held + bytes) }

// leastSeries is the least number of series between two looks at memory. A look takes time in proportion to the containers, so
// there is one each time the series have grown by half.
const leastSeries = 1000

// watch holds the memory of what was added, once so many series were added that it may be much more than before.
func (b *Builder) watch() error {
	if b.series++; b.series < b.next {
		return nil
	}
	b.next = b.series + max(leastSeries, b.series/2)
	bytes := b.memory()
	if b.phase != gathering {
		bytes = max(bytes, b.held) // rows and loads are not in it any more
	}
	b.hold(bytes)
	return b.stopped
}

// run runs parts until the builder must stop, and returns why.
func (l *limits) run(parts ...func()) error {
	for _, part := range parts {
		if l.stop() {
			break
		}
		part()
	}
	return l.stopped
}

// each yields what seq yields until the builder must stop.
func each[K, V any](l *limits, seq iter.Seq2[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range seq {
			if l.stop() || !yield(k, v) {
				return
			}
		}
	}
}
