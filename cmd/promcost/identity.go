package main

import (
	"context"
	"fmt"
	"sync"
)

// identity is an id that is asked for when it is first needed. Who needs it while it is being asked for waits for that answer,
// also where it is a failure: what takes several tries, and seconds, is not done again for each of them. It is safe for
// concurrent use.
type identity struct {
	ask func(ctx context.Context) (string, error)

	mu     sync.Mutex
	id     string   // empty as long as it is not known
	asking *inquiry // nil while nobody asks
}

// inquiry is one time that the id is asked for.
type inquiry struct {
	cancel  context.CancelFunc
	waiters int           // guarded by the identity's mu; the last one to leave cancels
	done    chan struct{} // closed when id and err are set
	id      string
	err     error
}

// known is the id, empty as long as it is not known.
func (x *identity) known() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.id
}

// get is the id. Where asking for it fails, what is to be taken for it comes with the error, and it is asked for again when it
// is needed again.
func (x *identity) get(ctx context.Context) (string, error) {
	x.mu.Lock()
	if x.id != "" {
		defer x.mu.Unlock()
		return x.id, nil
	}
	q := x.asking
	if q == nil {
		q = &inquiry{done: make(chan struct{})}
		var run context.Context
		run, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
		x.asking = q
		go x.inquire(run, q)
	}
	q.waiters++
	x.mu.Unlock()
	select {
	case <-q.done:
		return q.id, q.err
	case <-ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if q.waiters--; q.waiters == 0 {
		q.cancel()
		if x.asking == q {
			x.asking = nil
		}
	}
	return "", fmt.Errorf("wait for the cluster's id: %w", ctx.Err())
}

// inquire asks.
func (x *identity) inquire(ctx context.Context, q *inquiry) {
	defer q.cancel()
	q.id, q.err = x.ask(ctx)
	x.mu.Lock()
	if x.asking == q {
		x.asking = nil
	}
	if q.err == nil {
		x.id = q.id
	}
	x.mu.Unlock()
	close(q.done)
}
