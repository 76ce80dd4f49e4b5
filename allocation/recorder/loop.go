package recorder

import (
	"context"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/places"
)

// Delays of Run before it tries something again that failed, and the longest that it sleeps: clocks may be set.
const (
	firstRetry = 30 * time.Second
	lastRetry  = 10 * time.Minute
	maxSleep   = 10 * time.Minute
)

// task is something that Run does now and then, and tries again where it fails.
type task struct {
	at    time.Time // when it is due
	retry time.Duration
}

// failed puts the next try off, ever longer, and says by how much.
func (t *task) failed(now time.Time) time.Duration {
	delay := min(max(2*t.retry, firstRetry), lastRetry)
	t.at, t.retry = now.Add(delay), delay
	return delay
}

// Run computes the last closed hour, now, whenever another hour is closed and the grace period over, and after each Refresh,
// until ctx ends. With a history it begins with the newest hour of the last 48 that is kept. It keeps the hour, and between hours
// computes those that are missing, newest first, back to the horizon (Options.Backfill), rolls days up, counts, and tidies. A
// failure keeps the hour before and is tried again after 30 seconds, then ever less often, at least every 10 minutes. It returns nil.
func (r *Recorder) Run(ctx context.Context) error {
	ctx = places.Background(ctx)
	var done time.Time // the end of the hour computed last
	var newest, upkeep task
	r.readLatest(ctx)
	for {
		now := r.clock.Now()
		w := r.clock.LastHour()
		if w.End.After(done) && !now.Before(newest.at) {
			err := r.updateLatest(ctx, w)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				r.logFailed(w, newest.failed(now), err)
			} else {
				done, newest, upkeep.at = w.End, task{}, time.Time{}
				r.showLatest(ctx)
			}
		}
		r.maintainFor(ctx, &upkeep, func() bool { return r.clock.LastHour().End.After(done) && !r.clock.Now().Before(newest.at) })
		next := r.clock.Floor(done.Add(time.Hour)).Add(r.clock.Grace)
		if r.clock.LastHour().End.After(done) {
			next = newest.at
		}
		if r.archive != nil && upkeep.at.Before(next) {
			next = upkeep.at
		}
		now = r.clock.Now()
		pause := max(min(next.Sub(now), maxSleep), time.Second) // at least a second, for clocks that differ
		again, ok := r.rest(ctx, pause)
		if !ok {
			return nil
		}
		// The clock of blocks stands still between their samples: the time that was waited for is over anyway.
		if late := pause - r.clock.Now().Sub(now); late > 0 && !again {
			newest.at, upkeep.at = newest.at.Add(-late), upkeep.at.Add(-late)
		}
		if again {
			done, newest = time.Time{}, task{}
			r.invalidate(r.clock.LastHour())
		}
	}
}

// showLatest says that the latest hour is there, once it is counted and compared: what metrics show changes once. It does not wait for what
// fails of that, which maintain tries again.
func (r *Recorder) showLatest(ctx context.Context) {
	if r.archive != nil && r.loaded() {
		ctx, done := r.ledger.WithAccount(ctx)
		_, _ = r.counters.update(ctx, r.latestEnd())
		_, _ = r.outlooks.update(ctx)
		done()
	}
	r.opts.Changed()
}

// rest sleeps for d, or until a Refresh, and reports whether it was that and whether ctx lives on.
func (r *Recorder) rest(ctx context.Context, d time.Duration) (refreshed, ok bool) {
	sleeping, wake := context.WithCancel(ctx)
	defer wake()
	woken := make(chan bool, 1)
	go func() {
		select {
		case <-r.refreshed:
			woken <- true
			wake()
		case <-sleeping.Done():
			woken <- false
		}
	}()
	r.opts.Sleep(sleeping, d)
	wake()
	return <-woken, ctx.Err() == nil
}

// invalidate makes a kept hour be computed again.
func (r *Recorder) invalidate(w allocation.Window) {
	if r.ledger.Keeps() && r.stores {
		r.archive.Invalidate(ledger.Hours, w)
	}
}

// maintainFor maintains the history until nothing is left to do, or something more important is.
func (r *Recorder) maintainFor(ctx context.Context, t *task, urgent func() bool) {
	if r.archive == nil || r.clock.Now().Before(t.at) {
		return
	}
	if !r.loaded() {
		t.at = time.Time{} // the loop looks again soon, by a clock that stands still too
		return
	}
	for ctx.Err() == nil {
		more, err := r.maintain(ctx)
		if ctx.Err() != nil {
			return
		}
		if now := r.clock.Now(); err != nil {
			level.Error(r.logger).Log("msg", "Maintaining the history failed", "retry_in", t.failed(now), "err", err)
			return
		} else if !more {
			*t = task{at: now.Add(maxSleep)}
			return
		}
		if urgent() {
			return
		}
	}
}

// sleep waits for d and reports whether ctx lives on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
