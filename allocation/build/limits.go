package build

import "iter"

// Limits say when a Builder stops and what memory it may take. Zero fields are no limits.
type Limits struct {
	// Stopped says why to stop, nil to go on: ctx.Err of whoever waits. It is asked before each pod, container, node and set, and
	// not again once it said so.
	Stopped func() error
	// Draw takes so many bytes of memory, before they are allocated, beyond what Builder.Memory tells.
	Draw func(bytes int64) error
}

// SetLimits makes Resolve, Finalize and Sets end early with the error of a limit. What they have done by then is of no use.
func (b *Builder) SetLimits(l Limits) { b.limits = l }

// stop reports whether the builder is to stop: b.stopped says why.
func (b *Builder) stop() bool {
	if b.stopped == nil && b.limits.Stopped != nil {
		b.stopped = b.limits.Stopped()
	}
	return b.stopped != nil
}

// draw takes memory. The builder stops where there is none.
func (b *Builder) draw(bytes int64) {
	if b.stopped == nil && b.limits.Draw != nil {
		b.stopped = b.limits.Draw(bytes)
	}
}

// run runs steps until the builder is to stop, and says why.
func (b *Builder) run(steps ...func()) error {
	for _, step := range steps {
		if b.stop() {
			break
		}
		step()
	}
	return b.stopped
}

// each yields what seq does until the builder is to stop.
func each[K, V any](b *Builder, seq iter.Seq2[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range seq {
			if b.stop() || !yield(k, v) {
				return
			}
		}
	}
}

// perSet has a T for each set from the first to the last that something is told of.
type perSet[T any] struct {
	first int
	of    []T
}

// at is the T of a set, made where it is new.
func (p *perSet[T]) at(set int) *T {
	switch n := len(p.of); {
	case n == 0:
		p.first, p.of = set, make([]T, 1)
	case set < p.first:
		p.first, p.of = set, append(make([]T, p.first-set), p.of...)
	case set >= p.first+n:
		p.of = append(p.of, make([]T, set-p.first-n+1)...)
	}
	return &p.of[set-p.first]
}

// get is the T of a set, zero where nothing is told of it.
func (p *perSet[T]) get(set int) (t T) {
	if i := set - p.first; i >= 0 && i < len(p.of) {
		return p.of[i]
	}
	return t
}
