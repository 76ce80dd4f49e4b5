package promquery

import "context"

type backgroundKey struct{}

// Background marks a computation that nobody waits for. A source that answers few requests at a time reserves one of them for
// computations that somebody waits for.
func Background(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// IsBackground reports whether Background marked ctx.
func IsBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }
