package build

import "iter"

// Limits say when a Builder stops and how much memory it may take. A nil field is no limit.
type Limits struct {
	// Stopped returns why to stop, such as ctx.Err, or nil to go on. It is called before each pod, container, node and set, until
	// it returns an error.
	Stopped func() error
	// Draw takes memory from a budget before it is allocated. It is called for memory beyond what Builder.Memory estimates.
	Draw func(bytes int64) error
}

// SetLimits makes Resolve, Finalize and Sets end early with the error of a limit. The Builder is of no use then.
func (b *Builder) SetLimits(l Limits) { b.limits = l }

// stop reports whether the builder must stop; b.stopped says why.
func (b *Builder) stop() bool {
	if b.stopped == nil && b.limits.Stopped != nil {
		b.stopped = b.limits.Stopped()
	}
	return b.stopped != nil
}

// draw takes memory. The builder stops if there is none.
func (b *Builder) draw(bytes int64) {
	if b.stopped == nil && b.limits.Draw != nil {
		b.stopped = b.limits.Draw(bytes)
	}
}

// run runs steps until the builder must stop, and returns why.
func (b *Builder) run(steps ...func()) error {
	for _, step := range steps {
		if b.stop() {
			break
		}
		step()
	}
	return b.stopped
}

// each yields what seq yields until the builder must stop.
func each[K, V any](b *Builder, seq iter.Seq2[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range seq {
			if b.stop() || !yield(k, v) {
				return
			}
		}
	}
}
