// Package places bounds how much work runs at once, and keeps a place for small questions.
package places

import (
	"context"
	"math"
	"time"
)

// SmallWindow is the longest time that a small question is about.
const SmallWindow = time.Hour

// Places bound the work that runs at once. One more place is reserved for small queries, so that they are answered while
// large ones take all the others.
type Places struct{ all, kept chan struct{} }

// New returns n places and the reserved one.
func New(n int) Places { return Places{make(chan struct{}, n), make(chan struct{}, 1)} }

// Taken is how many places are taken.
func (p Places) Taken() int { return len(p.all) + len(p.kept) }

// Try takes a place where one is free.
func (p Places) Try(ctx context.Context) (leave func(), ok bool) {
	select {
	case p.all <- struct{}{}:
		return func() { <-p.all }, true
	default:
	}
	if IsSmall(ctx) {
		select {
		case p.kept <- struct{}{}:
			return func() { <-p.kept }, true
		default:
		}
	}
	return nil, false
}

// Take waits for a place as long as ctx lasts.
func (p Places) Take(ctx context.Context) (leave func(), err error) {
	if leave, ok := p.Try(ctx); ok {
		return leave, nil
	}
	kept := p.kept
	if !IsSmall(ctx) {
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

type aboutKey struct{}

// About marks work as about so much time. Of several marks the longest counts: work for a large query is not small.
func About(ctx context.Context, d time.Duration) context.Context {
	if marked, ok := ctx.Value(aboutKey{}).(time.Duration); ok && marked >= d {
		return ctx
	}
	return context.WithValue(ctx, aboutKey{}, d)
}

// Background marks work that nobody waits for. It is never small.
func Background(ctx context.Context) context.Context { return About(ctx, math.MaxInt64) }

// IsSmall reports whether ctx is marked as belonging to a small query.
func IsSmall(ctx context.Context) bool {
	d, ok := ctx.Value(aboutKey{}).(time.Duration)
	return ok && d <= SmallWindow
}
