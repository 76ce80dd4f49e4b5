package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// retryDelays are for how long the source is not asked again for an hour that it had nothing of, each time.
var retryDelays = [...]time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// maxEmpty bounds how many such hours are remembered.
const maxEmpty = 100_000

// HourResult is a closed hour that was computed.
type HourResult struct {
	Set *allocation.Set // nil with an error
	Err error           // wraps allocation.ErrNoData where the source has nothing of the hour
}

// bytes is what the set takes in memory.
func (r *HourResult) bytes() int64 {
	if r.Set == nil {
		return 0
	}
	return allocation.SetsBytes([]*allocation.Set{r.Set})
}

// filler computes closed hours that are not kept, and keeps them, where nothing is stored in the cache. Those who want an hour that is being
// computed wait for it. It is safe for concurrent use.
type filler struct {
	ledger *Ledger

	mu      sync.Mutex
	running map[int64]*hourFlight // hours that are being computed, by start
	empty   map[int64]emptyHour   // hours that the source had nothing of, by start

	closing context.Context // until close
	end     context.CancelFunc
	working sync.WaitGroup // running computations, even if nobody waits for them
}

// hourFlight is the computation of an hour.
type hourFlight struct {
	done   chan struct{} // closed when result is set
	result HourResult
}

// emptyHour is an hour that the source had nothing of.
type emptyHour struct {
	tries int
	until time.Time // before then the source is not asked again
	err   error
}

func newFiller(l *Ledger) *filler {
	f := &filler{ledger: l, running: map[int64]*hourFlight{}, empty: map[int64]emptyHour{}}
	f.closing, f.end = context.WithCancel(context.Background())
	return f
}

// close stops the running computations and waits for them. Nothing begins afterwards.
func (f *filler) close() {
	f.mu.Lock()
	f.end()
	f.mu.Unlock()
	f.working.Wait()
}

// fill computes hours and waits for them until ctx ends. Its computations end with the context work. If failed is not nil, it
// begins none, and hours that nobody else computes have that error.
func (f *filler) fill(ctx, work context.Context, hours []allocation.Window, failed error) ([]HourResult, error) {
	flights, runs := f.join(hours, failed)
	for _, run := range runs {
		go func() {
			defer f.working.Done()
			work, done := context.WithCancel(work)
			defer done()
			defer context.AfterFunc(f.closing, done)()
			f.compute(work, run)
		}()
	}
	results := make([]HourResult, len(flights))
	for i, x := range flights {
		select {
		case <-x.done:
			results[i] = x.result
		case <-ctx.Done():
			return nil, fmt.Errorf("compute hours: %w", ctx.Err())
		}
	}
	return results, nil
}

// hourRun are adjacent hours to be computed, and their flights.
type hourRun struct {
	hours   []allocation.Window
	flights []*hourFlight
}

// join returns the flights of hours. It creates the missing ones, in runs that the caller computes.
func (f *filler) join(hours []allocation.Window, failed error) (flights []*hourFlight, runs []hourRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if failed == nil {
		failed = f.closing.Err()
	}
	for _, h := range hours {
		key := h.Start.Unix()
		x := f.running[key]
		if e, ok := f.empty[key]; x == nil && ok && f.ledger.opts.Now().Before(e.until) {
			x = finished(HourResult{Err: e.err})
		}
		if x == nil && !f.ledger.opts.Stores() {
			if set := f.ledger.cachedHour(h); set != nil {
				x = finished(HourResult{Set: set})
			}
		}
		if x == nil && failed != nil {
			x = finished(HourResult{Err: failed})
		}
		if x == nil {
			x = &hourFlight{done: make(chan struct{})}
			f.running[key] = x
			last := len(runs) - 1
			if last < 0 || !f.ledger.clock.joins(runs[last].hours, h) {
				runs = append(runs, hourRun{})
				last++
			}
			runs[last].hours, runs[last].flights = append(runs[last].hours, h), append(runs[last].flights, x)
		}
		flights = append(flights, x)
	}
	f.working.Add(len(runs))
	return flights, runs
}

// finished is a flight that has ended.
func finished(result HourResult) *hourFlight {
	x := &hourFlight{done: make(chan struct{}), result: result}
	close(x.done)
	return x
}

// compute computes a run and stores its hours. If that takes too much memory, it computes one half after the other.
func (f *filler) compute(ctx context.Context, run hourRun) {
	l, n := f.ledger, len(run.hours)
	account := l.opts.Memory.Open(remedy) // it outlives callers that stop waiting
	ctx = memory.With(ctx, account)
	sets, err := l.computeRun(ctx, run.hours)
	if errors.Is(err, allocation.ErrTooMuch) && n > 1 {
		account.Close()
		f.compute(ctx, hourRun{run.hours[:n/2], run.flights[:n/2]})
		f.compute(ctx, hourRun{run.hours[n/2:], run.flights[n/2:]})
		return
	}
	for i, x := range run.flights {
		if x.result.Err = err; err == nil {
			x.result = resultOf(sets[i])
		}
		if set := x.result.Set; set != nil {
			_ = l.archive.keepHour(ctx, set) // a failure is logged there, and the loop tries again: the hour is an answer all the same
			if !l.opts.Stores() {
				l.cacheHours([]HourResult{x.result})
			}
		}
	}
	if err == nil {
		if err := l.archive.doubtVanished(ctx, run.hours); err != nil {
			level.Warn(l.logger).Log("msg", "Could not compare hours with those before and after", "start", run.hours[0].Start.UTC().Format(time.RFC3339), "err", err)
		}
	}
	account.Close() // before the waiting callers go on and draw memory themselves
	for i, x := range run.flights {
		f.finish(run.hours[i], x)
	}
}

// resultOf is the result of an hour that was computed. An empty hour is an error.
func resultOf(set *allocation.Set) HourResult {
	if set.Empty() && !set.OtherShards {
		return HourResult{Err: nothingOf(set)}
	}
	return HourResult{Set: set}
}

// finish ends the flight of an hour.
func (f *filler) finish(h allocation.Window, x *hourFlight) {
	key := h.Start.Unix()
	f.mu.Lock()
	delete(f.running, key)
	if errors.Is(x.result.Err, allocation.ErrNoData) {
		if len(f.empty) >= maxEmpty {
			clear(f.empty)
		}
		e := f.empty[key]
		delay := retryDelays[min(e.tries, len(retryDelays)-1)]
		f.empty[key] = emptyHour{e.tries + 1, f.ledger.opts.Now().Add(delay), x.result.Err}
	} else {
		delete(f.empty, key)
	}
	f.mu.Unlock()
	close(x.done)
}

// forget makes the source be asked again for an hour that it had nothing of.
func (f *filler) forget(h allocation.Window) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.empty, h.Start.Unix())
}

// Empty reports whether the source had nothing of a closed hour when it was last asked, and until when it is not asked again.
func (l *Ledger) Empty(h allocation.Window) (until time.Time, ok bool) {
	l.filler.mu.Lock()
	defer l.filler.mu.Unlock()
	e, ok := l.filler.empty[h.Start.Unix()]
	return e.until, ok
}

// FillHours computes closed hours that are not kept, and keeps them. Hours that are being computed already are waited for. What it
// begins ends with ctx, whose error it returns. An hour that cannot be kept is a result all the same: Archive.Health has the error.
func (l *Ledger) FillHours(ctx context.Context, hours []allocation.Window) ([]HourResult, error) {
	return l.filler.fill(ctx, ctx, hours, nil)
}

// fillAsked is FillHours for a question. What it begins goes on when the question is given up, until Close. Nothing is begun if the
// source has failed: with the error failed, if that is not nil, or just now.
func (l *Ledger) fillAsked(ctx context.Context, hours []allocation.Window, failed error) ([]HourResult, error) {
	if failed == nil {
		failed = l.outage.down()
	}
	return l.filler.fill(ctx, context.WithoutCancel(ctx), hours, failed)
}

// FillHour computes a closed hour and keeps it, even if the source had nothing of it a moment ago. It returns the hour as the
// history has it.
func (l *Ledger) FillHour(ctx context.Context, h allocation.Window) (*allocation.Set, error) {
	l.filler.forget(h) // there may be newer samples
	hours := []allocation.Window{h}
	results, err := l.FillHours(ctx, hours)
	if err != nil {
		return nil, err
	}
	return l.asStored(ctx, hours, results, nil)[0], results[0].Err
}

// ComputeHours computes adjacent closed hours without storing them. If that takes too much memory, it computes one half after
// the other.
func (l *Ledger) ComputeHours(ctx context.Context, hours []allocation.Window) []HourResult {
	n := len(hours)
	sets, err := l.computeRun(ctx, hours)
	if errors.Is(err, allocation.ErrTooMuch) && n > 1 {
		return append(l.ComputeHours(ctx, hours[:n/2]), l.ComputeHours(ctx, hours[n/2:])...)
	}
	results := make([]HourResult, n)
	for i := range results {
		if results[i].Err = err; err == nil {
			results[i] = resultOf(sets[i])
		}
	}
	return results
}

// computeRun computes adjacent hours at once.
func (l *Ledger) computeRun(ctx context.Context, hours []allocation.Window) ([]*allocation.Set, error) {
	n := len(hours)
	sets, err := l.compute(ctx, l.opts.toStore(allocation.Query{Window: allocation.Window{Start: hours[0].Start, End: hours[n-1].End}, Step: time.Hour}))
	if err == nil && len(sets) != n {
		err = fmt.Errorf("internal error: %d sets of %d hours: report it", len(sets), n)
	}
	return sets, err
}

// ComputeHour computes the set of w, at most an hour, and does not keep it.
func (l *Ledger) ComputeHour(ctx context.Context, w allocation.Window) (*allocation.Set, error) {
	sets, err := l.compute(ctx, l.opts.toStore(allocation.Query{Window: w}))
	if err == nil && len(sets) != 1 {
		err = fmt.Errorf("compute hour: got %d sets, want 1", len(sets))
	}
	if err != nil {
		return nil, err
	}
	return sets[0], nil
}
