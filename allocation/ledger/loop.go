package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
)

// Delays of Run before it tries an hour again that failed.
const (
	firstRetry = 30 * time.Second
	lastRetry  = 10 * time.Minute
)

// hour is what the loop keeps.
type hour struct {
	set      *allocation.Set // of the last hour that was computed, nil before
	computed time.Time
	err      error // of the last try, nil where it succeeded
}

// Refresh says that the Computer answers otherwise from now on, such as by other prices: what is asked from now on does not
// share a computation that began before, and Run computes its hour again, in the background.
func (l *Ledger) Refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	select {
	case l.refreshed <- struct{}{}:
	default: // Run has not begun to answer the last one
	}
}

// Run computes the last closed hour, now, whenever another hour is closed and the grace period over, and after each Refresh,
// until ctx ends.
// A failure keeps the hour before and is tried again after 30 seconds, then ever less often, at least every 10 minutes.
// It returns nil.
func (l *Ledger) Run(ctx context.Context) error {
	var done time.Time // the end of the hour computed last
	retry := firstRetry
	for {
		if w := l.closedHour(); w.End.After(done) {
			err := l.computeHour(ctx, w)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				level.Error(l.logger).Log("msg", "computation of the hour failed", "start", w.Start.Format(time.RFC3339), "retry_in", retry, "err", err)
				if again, ok := l.sleep(ctx, retry); !ok {
					return nil
				} else if again {
					done, retry = time.Time{}, firstRetry
					continue
				}
				retry = min(2*retry, lastRetry)
				continue
			}
			done, retry = w.End, firstRetry
		}
		next := l.floor(done.Add(time.Hour)).Add(l.opts.Grace)
		again, ok := l.sleep(ctx, next.Sub(l.opts.Now()))
		if !ok {
			return nil
		}
		if again {
			done = time.Time{}
		}
	}
}

// sleep waits for d, at least a second for clocks that run apart, or for a Refresh, and reports whether it was that and
// whether ctx lives on.
func (l *Ledger) sleep(ctx context.Context, d time.Duration) (refreshed, ok bool) {
	timer := time.NewTimer(max(d, time.Second))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, false
	case <-l.refreshed:
		return true, true
	case <-timer.C:
		return false, true
	}
}

// closedHour is the last hour that ended at least a grace period ago.
func (l *Ledger) closedHour() allocation.Window {
	end := l.floor(l.opts.Now().Add(-l.opts.Grace))
	return allocation.Window{Start: l.floor(end.Add(-time.Second)), End: end}
}

// floor is the last full hour of the zone's clock that is not after t.
func (l *Ledger) floor(t time.Time) time.Time {
	t = t.In(l.opts.Zone)
	_, offset := t.Zone()
	local := t.Unix() + int64(offset)
	return time.Unix(local-local%3600-int64(offset), 0).In(l.opts.Zone)
}

// computeHour computes w and keeps it.
func (l *Ledger) computeHour(ctx context.Context, w allocation.Window) error {
	sets, err := l.compute(ctx, allocation.Query{Window: w, Resolution: l.opts.Resolution})
	if err == nil && len(sets) != 1 {
		err = fmt.Errorf("compute hour: got %d sets, want 1", len(sets))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hour.err = err
	if err == nil {
		l.hour.set, l.hour.computed = sets[0], l.opts.Now()
	}
	return err
}

// Latest is the last closed hour that Run has computed and when it did, and the error of the last try. The set is nil as
// long as none succeeded; after a failure it is the one of before. It must not be changed.
func (l *Ledger) Latest() (*allocation.Set, time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hour.set, l.hour.computed, l.hour.err
}

// Ready is nil once an hour is computed, and stays it. Before, it says why there is none.
func (l *Ledger) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.hour.set != nil:
		return nil
	case l.hour.err != nil:
		return fmt.Errorf("first computation failed, it is tried again: %w", l.hour.err)
	}
	return errors.New("first computation is not done yet: wait for it")
}
