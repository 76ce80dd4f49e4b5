package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/places"
)

// Delays of Run before it tries something again that failed, and the longest that it sleeps: clocks may be set.
const (
	firstRetry = 30 * time.Second
	lastRetry  = 10 * time.Minute
	maxSleep   = 10 * time.Minute
)

// hour is what the loop keeps.
type hour struct {
	set      *allocation.Set // of the last hour that was computed, before of the last that is kept; nil for none
	computed time.Time
	tried    bool  // to compute one
	err      error // of the last try, nil where it succeeded
}

// chore is something that Run does now and then, and tries again where it fails.
type chore struct {
	at    time.Time
	retry time.Duration
}

// failed puts the next try off, ever longer, and says by how much.
func (c *chore) failed(now time.Time) time.Duration {
	delay := min(max(2*c.retry, firstRetry), lastRetry)
	c.at, c.retry = now.Add(delay), delay
	return delay
}

// Refresh says that the Computer answers otherwise from now on, such as by other prices: what is asked from now on does not
// share a computation that began before, and Run computes its hour again, in the background.
func (l *Ledger) Refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	l.outage, l.begin = outage{}, time.Time{} // it may be another source
	select {
	case l.refreshed <- struct{}{}:
	default: // Run has not begun to answer the last one
	}
}

// Run computes the last closed hour, now, whenever another hour is closed and the grace period over, and after each Refresh,
// until ctx ends.
// With a history it begins with the newest hour of the last 48 that is kept. It keeps the hour, and between hours computes those that are missing, newest first, back to the horizon
// (Options.Backfill), rolls days up, counts, and tidies. A failure keeps the hour before and is tried again after 30
// seconds, then ever less often, at least every 10 minutes. It returns nil.
func (l *Ledger) Run(ctx context.Context) error {
	ctx = places.Background(ctx)
	var done time.Time // the end of the hour computed last
	var latest, tending chore
	l.lastKept(ctx)
	for {
		now := l.opts.Now()
		w := l.closedHour()
		if w.End.After(done) && !now.Before(latest.at) {
			err := l.latestHour(ctx, w)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				l.logFailed(w, latest.failed(now), err)
			} else {
				done, latest, tending.at = w.End, chore{}, time.Time{}
				l.opts.Changed()
			}
		}
		l.tendFor(ctx, &tending, func() bool { return l.closedHour().End.After(done) && !l.opts.Now().Before(latest.at) })
		next := l.floor(done.Add(time.Hour)).Add(l.opts.Grace)
		if l.closedHour().End.After(done) {
			next = latest.at
		}
		if l.history != nil && tending.at.Before(next) {
			next = tending.at
		}
		now = l.opts.Now()
		pause := max(min(next.Sub(now), maxSleep), time.Second) // at least a second, for clocks that run apart
		again, ok := l.rest(ctx, pause)
		if !ok {
			return nil
		}
		// The clock of blocks stands still between their samples: what was waited for is due all the same.
		if late := pause - l.opts.Now().Sub(now); late > 0 && !again {
			latest.at, tending.at = latest.at.Add(-late), tending.at.Add(-late)
		}
		if again {
			done, latest = time.Time{}, chore{}
			l.outdated(l.closedHour())
		}
	}
}

// rest sleeps for d, or until a Refresh, and reports whether it was that and whether ctx lives on.
func (l *Ledger) rest(ctx context.Context, d time.Duration) (refreshed, ok bool) {
	sleeping, wake := context.WithCancel(ctx)
	defer wake()
	woken := make(chan bool, 1)
	go func() {
		select {
		case <-l.refreshed:
			woken <- true
			wake()
		case <-sleeping.Done():
			woken <- false
		}
	}()
	l.opts.Sleep(sleeping, d)
	wake()
	return <-woken, ctx.Err() == nil
}

// outdated makes an hour that is kept one to be computed again.
func (l *Ledger) outdated(w allocation.Window) {
	if l.keeps() && !l.opts.ReadOnly {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.damaged[setKey{Hours, w.Start.Unix(), w.End.Unix()}] = true
	}
}

// tendFor tends the history until nothing is left to do, or something more important is.
func (l *Ledger) tendFor(ctx context.Context, c *chore, urgent func() bool) {
	if l.history == nil || l.opts.Now().Before(c.at) {
		return
	}
	if !l.opts.Settled() {
		c.at = time.Time{} // the loop looks again soon, by a clock that stands still too
		return
	}
	for ctx.Err() == nil {
		more, err := l.tendOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if now := l.opts.Now(); err != nil {
			l.logTend(err, c.failed(now))
			return
		} else if !more {
			*c = chore{at: now.Add(maxSleep)}
			return
		}
		if urgent() {
			return
		}
	}
}

// tendOnce is tend with an account for what it reads and computes.
func (l *Ledger) tendOnce(ctx context.Context) (more bool, err error) {
	ctx, _, done := l.opts.Memory.Within(ctx, remedy)
	defer done()
	return l.tend(ctx)
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

// latestHour makes w the latest hour, read or computed.
func (l *Ledger) latestHour(ctx context.Context, w allocation.Window) error {
	ctx, _, done := l.opts.Memory.Within(ctx, remedy)
	defer done()
	set, err := l.hourSet(ctx, w)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hour.tried, l.hour.err = true, err
	if err == nil && (l.hour.set == nil || !set.Window.End.Before(l.hour.set.Window.End)) {
		l.hour.set, l.hour.computed = set, l.opts.Now()
	}
	return err
}

// lastKept makes the newest hour that is kept the latest, until one is computed: the source may be down.
func (l *Ledger) lastKept(ctx context.Context) {
	if !l.keeps() || l.opts.ReadOnly {
		return
	}
	w := l.closedHour()
	kept, err := l.usable(ctx, Hours, allocation.Window{Start: w.Start.Add(-latestPast), End: w.End}, &allocation.Query{Stored: true})
	if err != nil || len(kept.sets) == 0 {
		return // what fails in the history is told of by those who cannot do without
	}
	sets, release, err := l.read(ctx, kept.sets[len(kept.sets)-1:], nil)
	defer release()
	if l.seen(err) != nil {
		return
	}
	l.mu.Lock()
	l.hour.set, l.hour.computed = sets[0], l.opts.Now()
	l.mu.Unlock()
	l.opts.Changed()
}

// hourSet is the set of a closed hour; where nothing is computed, that of the last hour that is kept.
func (l *Ledger) hourSet(ctx context.Context, w allocation.Window) (*allocation.Set, error) {
	if !l.keeps() {
		return l.computeHour(ctx, w)
	}
	look := w
	if l.opts.ReadOnly {
		look.Start = w.Start.Add(-latestPast)
	}
	kept, err := l.usable(ctx, Hours, look, &allocation.Query{Stored: true})
	if err != nil && !l.opts.ReadOnly {
		l.sawHistory(err)
		return l.computeHour(ctx, w) // metrics do without the history
	}
	if err != nil {
		return nil, err
	}
	if n := len(kept.sets); n > 0 && (l.opts.ReadOnly || kept.sets[n-1].Window == w || kept.at(w.Start, w) != nil) {
		sets, release, err := l.read(ctx, kept.sets[n-1:], nil)
		defer release()
		if err == nil {
			return sets[0], nil
		}
		if err = l.seen(err); l.opts.ReadOnly {
			return nil, err
		}
	}
	if l.opts.ReadOnly {
		return nil, fmt.Errorf("%w: the history has no hour of the last %s", allocation.ErrNoData, latestPast)
	}
	if w.Duration() != time.Hour {
		return l.computeHour(ctx, w)
	}
	l.mu.Lock()
	delete(l.barren, w.Start.Unix()) // samples may have come since
	l.mu.Unlock()
	flights, err := l.fill(ctx, ctx, []allocation.Window{w})
	if err != nil {
		return nil, err
	}
	return l.asKept(ctx, []allocation.Window{w}, flights, nil)[0], flights[0].err
}

// logFailed logs that there is no hour w, which is tried again after retry.
func (l *Ledger) logFailed(w allocation.Window, retry time.Duration, err error) {
	logger, msg := level.Error(l.logger), "computation of the hour failed"
	set, _, _ := l.Latest()
	switch {
	case l.opts.ReadOnly && errors.Is(err, allocation.ErrNoData):
		logger, msg = level.Info(l.logger), "the metrics show no costs, for the history has no recent hour; it can be queried"
	case set == nil && allocation.HasNothing(err):
		logger, msg = level.Info(l.logger), "the source has no data of the last closed hour yet: the metrics show costs once it has"
	}
	logger.Log("msg", msg, "start", w.Start.Format(time.RFC3339), "retry_in", retry, "err", err)
}

// latestPast is how old the latest hour may be that is read: where others compute, or before one is computed.
const latestPast = 48 * time.Hour

// computeHour computes w.
func (l *Ledger) computeHour(ctx context.Context, w allocation.Window) (*allocation.Set, error) {
	sets, err := l.compute(ctx, allocation.Query{Window: w, Resolution: l.opts.Resolution, Alone: true})
	if err == nil && len(sets) != 1 {
		err = fmt.Errorf("compute hour: got %d sets, want 1", len(sets))
	}
	if err != nil {
		return nil, err
	}
	return sets[0], nil
}

// Latest is the last closed hour that Run has computed and when it did, and the error of the last try. As long as none
// succeeded it is the newest that was kept before, nil for none; after a failure it is the one of before. It must not be
// changed.
func (l *Ledger) Latest() (*allocation.Set, time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hour.set, l.hour.computed, l.hour.err
}

// Ready is nil once questions can be answered: an hour is computed, or cannot be but one was kept before, and then it stays nil; or
// the source has nothing of the hour, as before its first data. Else it says why not. A reader of a history that ended long ago is ready: nothing is computed there, and all that is kept can be asked for.
func (l *Ledger) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.hour.set != nil && l.hour.tried, l.opts.ReadOnly && errors.Is(l.hour.err, allocation.ErrNoData), allocation.HasNothing(l.hour.err):
		return nil
	case l.hour.err != nil:
		return fmt.Errorf("first computation failed, it is tried again: %w", l.hour.err)
	}
	return errors.New("first computation is not done yet: wait for it")
}

// Behind says what the ledger is behind with, nil if nothing: answers then are older or take longer than they should.
func (l *Ledger) Behind() error {
	s := l.Store()
	var errs []error
	if _, _, err := l.Latest(); s.Lag > 0 && err != nil {
		errs = append(errs, fmt.Errorf("the last closed hour is missing for %s: %w", s.Lag, err))
	} else if s.Lag > 0 {
		errs = append(errs, fmt.Errorf("the last closed hour is missing for %s", s.Lag))
	}
	if s.Missing > 0 {
		errs = append(errs, fmt.Errorf("%d closed hours are not in the history yet", s.Missing))
	}
	if s.Err != nil {
		errs = append(errs, fmt.Errorf("the history fails: %w", s.Err))
	}
	return errors.Join(errs...)
}
