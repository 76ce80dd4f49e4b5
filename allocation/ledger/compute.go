package ledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/places"
)

// flightKey identifies a computation.
type flightKey struct {
	start, end       int64 // Unix nanoseconds
	borders          string
	step, resolution time.Duration
	exactBelow       bool
	alone            bool
	after            time.Duration
	mergedBy         string
	fewOfAssets      bool
	levels           bool
	generation       uint64
}

// bordersKey identifies borders of sets.
func bordersKey(borders []time.Time) string {
	var key []byte
	for _, t := range borders {
		key = binary.BigEndian.AppendUint64(key, uint64(t.UnixNano()))
	}
	return string(key)
}

// keysKey identifies keys of rows.
func keysKey(keys []allocation.Key) string {
	var key []byte
	for _, k := range keys {
		key = strconv.AppendQuote(key, k.String())
	}
	return string(key)
}

// computed is the result of a computation. account holds its memory until it is released.
type computed struct {
	sets    []*allocation.Set
	bytes   int64 // that sets take
	account *memory.Account
}

// release gives back the memory.
func (c computed) release() { c.account.Close() }

// compute computes q. Equal queries share one computation while it runs.
func (l *Ledger) compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("compute %s: %w", describe(q), err)
	}
	q.After = l.after(&q)
	key := flightKey{q.Window.Start.UnixNano(), q.Window.End.UnixNano(), bordersKey(q.Borders), q.Step, q.Resolution, q.ExactBelow, q.Alone, q.After, keysKey(q.MergedBy), q.Only != nil && q.Only.FewOfAssets, q.Only != nil && q.Only.Levels, l.generation.Load()}
	answer, leave, err := l.flights.Do(ctx, key, func(ctx context.Context) (computed, error) { return l.computeWithin(ctx, q) })
	defer leave()
	if err != nil {
		return nil, fmt.Errorf("compute %s: %w", describe(q), err)
	}
	if err := memory.FromContext(ctx).Draw(answer.bytes); err != nil {
		return nil, fmt.Errorf("answer %s: %w", describe(q), err)
	}
	return answer.sets, nil
}

// after is how long ago the sets of a query ended, as far as later signals can matter: in whole minutes, so that queries at the same
// time share a computation.
func (l *Ledger) after(q *allocation.Query) time.Duration {
	return min(max(l.opts.Now().Sub(q.Window.End).Truncate(time.Minute), 0), allocation.Evidence)
}

// computeWithin computes q within the deadline, with an account of its own.
func (l *Ledger) computeWithin(ctx context.Context, q allocation.Query) (computed, error) {
	account := l.opts.Memory.Open(remedy)
	ctx, cancel := context.WithTimeout(memory.With(ctx, account), l.opts.Timeout)
	defer cancel()
	sets, err := l.queued(ctx, q)
	if err == nil || ctx.Err() == nil { // a computation that was given up says nothing about the source
		l.outage.record(err)
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// A failure because of the deadline is not a failure of the source.
		err = fmt.Errorf("%w: it took longer than %s (%v)", context.DeadlineExceeded, l.opts.Timeout, err) //nolint:errorlint // the cause is not to be told apart
	}
	return computed{sets, allocation.SetsBytes(sets), account}, err
}

// queued computes q once there is a slot for it.
func (l *Ledger) queued(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	ctx = places.About(ctx, q.Window.Duration())
	leave, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	start := time.Now()
	sets, err := l.guarded(ctx, q)
	took := time.Since(start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Computations++
	l.stats.Duration += took
	if err != nil {
		l.stats.Errors++
		return nil, err
	}
	l.stats.LastDuration, l.stats.LastSuccess = took, l.opts.Now()
	return sets, nil
}

// acquire takes a place, waiting in the queue if all are taken. Small questions find twice as long a queue: a queue full of large
// ones does not turn them away.
func (l *Ledger) acquire(ctx context.Context) (leave func(), err error) {
	if leave, ok := l.slots.Try(ctx); ok {
		return leave, nil
	}
	most := l.opts.MaxQueue
	if places.IsSmall(ctx) {
		most *= 2
	}
	l.mu.Lock()
	full := l.waiting >= most
	if !full {
		l.waiting++
	}
	l.mu.Unlock()
	if full {
		return nil, fmt.Errorf("%w: %d run and %d wait already: try again later", allocation.ErrBusy, l.opts.MaxConcurrency, most)
	}
	defer func() {
		l.mu.Lock()
		l.waiting--
		l.mu.Unlock()
	}()
	return l.slots.Take(ctx)
}

// guarded computes q. It turns a panic into an error, because nothing else on this goroutine's stack would recover it and the
// process would end.
func (l *Ledger) guarded(ctx context.Context, q allocation.Query) (sets []*allocation.Set, err error) {
	defer func() {
		if r := recover(); r != nil {
			level.Error(l.logger).Log("msg", "computation panicked", "query", describe(q), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			sets, err = nil, fmt.Errorf("internal error: %v: report it with the log of this time", r)
		}
	}()
	return l.computer.Compute(ctx, q)
}

// describe names a query in errors and logs.
func describe(q allocation.Query) string {
	return q.Window.Start.Format(time.RFC3339) + " to " + q.Window.End.Format(time.RFC3339)
}
