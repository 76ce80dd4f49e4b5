package filter

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/promcost/promcost/allocation"
)

// MaxSteps bounds what the filters of a request do: a step decides about one value, or about a few rows.
const MaxSteps = 50_000_000

// Steps are what the filters of one request do altogether, however many sets they are bound to: at most MaxSteps or fewer, and nothing
// more once the request has ended. It is safe for concurrent use.
type Steps struct {
	ctx   context.Context //nolint:containedctx // it is the request's, as the steps are
	most  int64
	done  atomic.Int64
	ended atomic.Bool // ctx is
}

// NewSteps returns at most so many steps for a request that ends with ctx; 0 stands for MaxSteps.
func NewSteps(ctx context.Context, most int64) *Steps {
	return &Steps{ctx: ctx, most: cmp.Or(most, MaxSteps)}
}

// unlimited returns steps without a limit.
func unlimited() *Steps { return &Steps{ctx: context.Background(), most: math.MaxInt64} }

// Err says why there are no more steps: too many were made, which wraps allocation.ErrTooMuch, or the request has ended, which
// is its context's error. It is nil where neither was noticed.
func (s *Steps) Err() error {
	if s.done.Load() > s.most {
		return fmt.Errorf("%w: the filters take more than %d steps: give fewer or simpler comparisons, such as one with a list of values or a prefix (<~:), or a shorter window", allocation.ErrTooMuch, s.most)
	}
	if s.ended.Load() {
		return s.ctx.Err()
	}
	return nil
}

// take counts n steps and reports whether they are allowed. After a refusal, no more are.
func (s *Steps) take(n int) bool {
	const pause = 1 << 16 // steps between looks at the context
	after := s.done.Add(int64(n))
	if (after-int64(n))/pause != after/pause && s.ctx.Err() != nil {
		s.ended.Store(true)
	}
	return after <= s.most && !s.ended.Load()
}

// over reports whether all steps are used up.
func (s *Steps) over() bool { return s.done.Load() > s.most || s.ended.Load() }

// start reports whether there are steps left, and the request has not ended.
func (s *Steps) start() bool {
	if s.ctx.Err() != nil {
		s.ended.Store(true)
	}
	return s.take(0)
}

// Within returns the filter for a request. Its Bind fails with the error of steps once they are used up.
func (f *Filter) Within(steps *Steps) allocation.Filter { return within{f, steps} }

// within is a filter of one request.
type within struct {
	filter *Filter
	steps  *Steps
}

// Bind implements allocation.Filter.
func (w within) Bind(s *allocation.Set) (func(row int) bool, error) { return w.filter.bind(w.steps, s) }
