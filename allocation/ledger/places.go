package ledger

import (
	"context"
	"time"
)

// smallWindow is the longest window of a small question.
const smallWindow = time.Hour

// places are for work that runs at once. One more is kept for small questions, which are answered so while large ones take all
// the others.
type places struct{ all, kept chan struct{} }

func newPlaces(n int) places { return places{make(chan struct{}, n), make(chan struct{}, 1)} }

// running is how many are taken.
func (p places) running() int { return len(p.all) + len(p.kept) }

// try takes a place where one is free.
func (p places) try(small bool) (leave func(), ok bool) {
	select {
	case p.all <- struct{}{}:
		return func() { <-p.all }, true
	default:
	}
	if small {
		select {
		case p.kept <- struct{}{}:
			return func() { <-p.kept }, true
		default:
		}
	}
	return nil, false
}

// take waits for a place.
func (p places) take(ctx context.Context, small bool) (leave func(), err error) {
	if leave, ok := p.try(small); ok {
		return leave, nil
	}
	kept := p.kept
	if !small {
		kept = nil // a channel that never has room
	}
	select {
	case p.all <- struct{}{}:
		return func() { <-p.all }, nil
	case kept <- struct{}{}:
		return func() { <-p.kept }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type loopKey struct{}

// withLoop marks the work of the loop, which is never a small question: nobody waits for it.
func withLoop(ctx context.Context) context.Context { return context.WithValue(ctx, loopKey{}, true) }

// isSmall says whether a question about so much time may take the place that is kept.
func isSmall(ctx context.Context, d time.Duration) bool {
	return d <= smallWindow && ctx.Value(loopKey{}) == nil
}
