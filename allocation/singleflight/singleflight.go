// Package singleflight lets callers that need the same answer at the same time share one computation of it. A computation
// that nobody waits for any more is given up, which golang.org/x/sync/singleflight does not do.
package singleflight

import (
	"context"
	"sync"
)

// Group has the computations in progress, by key. The zero value is ready for use. It is safe for concurrent use.
type Group[K comparable, V any] struct {
	// Release is called with the value of a call, also that of a failed one, once the call has ended and every caller has left it.
	// nil calls nothing.
	Release func(V)

	mu      sync.Mutex
	running map[K]*call[V]
	closed  bool
	working sync.WaitGroup
}

// call is one computation and its waiting callers.
type call[V any] struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when value and err are set
	value  V
	err    error

	// guarded by the mutex of Group
	callers int
	ended   bool
}

// Do returns the result of run. While run works on a key, further callers with that key wait for its result. run goes on as long
// as one of its callers waits: its context has the values of the first caller's, but ends when the last caller has left, or with
// Close. After Close the error is context.Canceled.
//
// A caller whose own ctx ends first gets the error of ctx and the zero value. The caller calls leave when it no longer uses the
// value; leave is never nil.
func (g *Group[K, V]) Do(ctx context.Context, key K, run func(context.Context) (V, error)) (value V, leave func(), err error) {
	x := g.join(ctx, key, run)
	if x == nil {
		return value, func() {}, context.Canceled
	}
	leave = sync.OnceFunc(func() { g.leave(key, x) })
	select {
	case <-x.done:
		return x.value, leave, x.err
	case <-ctx.Done():
		leave()
		return value, leave, ctx.Err()
	}
}

// join adds a caller to the call of key, which it starts if there is none. It returns nil after Close.
func (g *Group[K, V]) join(ctx context.Context, key K, run func(context.Context) (V, error)) *call[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	x := g.running[key]
	if x == nil {
		x = &call[V]{done: make(chan struct{})}
		ctx, x.cancel = context.WithCancel(context.WithoutCancel(ctx))
		if g.running == nil {
			g.running = map[K]*call[V]{}
		}
		g.running[key] = x
		g.working.Go(func() { g.run(ctx, key, x, run) })
	}
	x.callers++
	return x
}

// run carries out a call.
func (g *Group[K, V]) run(ctx context.Context, key K, x *call[V], run func(context.Context) (V, error)) {
	defer x.cancel()
	x.value, x.err = run(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(key, x)
	x.ended = true
	g.release(x)
	close(x.done)
}

// leave removes a caller. When the last one leaves, the call is given up.
func (g *Group[K, V]) leave(key K, x *call[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x.callers--; x.callers == 0 {
		x.cancel()
		g.forget(key, x)
		g.release(x)
	}
}

// forget makes the next caller start a call of its own. mu is held.
func (g *Group[K, V]) forget(key K, x *call[V]) {
	if g.running[key] == x {
		delete(g.running, key)
	}
}

// release releases the value of a call that has ended and has no callers. mu is held.
func (g *Group[K, V]) release(x *call[V]) {
	if g.Release != nil && x.ended && x.callers == 0 {
		g.Release(x.value)
	}
}

// Waiting is how many callers wait for the call of key.
func (g *Group[K, V]) Waiting(key K) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x := g.running[key]; x != nil {
		return x.callers
	}
	return 0
}

// Close gives up all calls, and waits until they have ended. It lets no other call begin.
func (g *Group[K, V]) Close() {
	g.mu.Lock()
	g.closed = true
	for _, x := range g.running {
		x.cancel()
	}
	g.mu.Unlock()
	g.working.Wait()
}
