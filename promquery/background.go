package promquery

import "context"

type backgroundKey struct{}

// Background marks what is computed without anybody waiting for it: a source that answers few requests at a time keeps one
// of them for those who do wait.
func Background(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// IsBackground reports whether ctx is of Background.
func IsBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }
