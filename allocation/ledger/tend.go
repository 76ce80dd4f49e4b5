package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
)

// tidyEvery is how often the history is tidied and measured.
const tidyEvery = time.Hour

// againDelays are for how long an incomplete hour waits before it is computed again, each time.
var againDelays = [...]time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// again is when an incomplete hour is computed again.
type again struct {
	tries int
	due   time.Time
}

// horizon is how far back closed hours are computed by the loop: --history.backfill, and at least to the beginning of the
// month, which counters need; but not beyond what is kept.
func (l *Ledger) horizon() allocation.Window {
	now := l.opts.Now()
	end := l.floor(now.Add(-l.opts.Grace))
	from := l.monthOf(end)
	if t := now.Add(-l.opts.Backfill); t.Before(from) {
		from = allocation.Day.Round(allocation.Window{Start: t, End: t.Add(1)}, l.opts.Zone).Start
	}
	if t := now.Add(-l.opts.Retention); l.opts.Retention > 0 && t.After(from) {
		from = l.hourAt(t).Start
	}
	return allocation.Window{Start: from, End: end}
}

// tend does one thing that the history lacks, the newest first: it counts, computes missing hours, computes incomplete ones
// again, rolls a day up, tidies. It reports whether there may be more to do.
func (l *Ledger) tend(ctx context.Context) (more bool, err error) {
	if err := l.learnFirst(ctx); err != nil {
		return false, err
	}
	if err := l.count(ctx); err != nil {
		return false, err
	}
	if l.opts.ReadOnly || l.Spending() != nil && !l.budgeted() {
		if err := l.budget(ctx); err != nil {
			return false, err
		}
	}
	if l.opts.ReadOnly {
		l.tellUncounted()
		return false, l.tidy(ctx)
	}
	l.sawHistory(nil)
	l.mu.Lock()
	l.cache.drop(l.opts.Now().Add(-cacheAge))
	l.mu.Unlock()
	w := l.horizon()
	for _, do := range [...]func(context.Context, allocation.Window) (bool, error){l.catchUp, l.budgetWhole, l.recompute, l.rollDay, l.mendCounted} {
		if more, err := do(ctx, w); err != nil || more {
			return more, err
		}
	}
	if err := l.budget(ctx); err != nil { // of what was computed meanwhile
		return false, err
	}
	l.tellUncounted()
	return false, l.tidy(ctx)
}

// catchUp computes the newest run of hours that are missing.
func (l *Ledger) catchUp(ctx context.Context, w allocation.Window) (more bool, err error) {
	missing, _, err := l.missing(ctx, w)
	if err != nil {
		return false, fmt.Errorf("catch up: %w", err)
	}
	first, err := l.oldestKept(ctx, w)
	if err != nil {
		return false, fmt.Errorf("catch up: %w", err)
	}
	due := missing[:0]
	l.mu.Lock()
	l.store.missing = 0
	for _, h := range missing {
		b, asked := l.barren[h.Start.Unix()]
		if asked && l.opts.Now().Before(b.until) {
			continue
		}
		due = append(due, h)
		if !l.early(h, first) {
			l.store.missing++
		}
	}
	l.mu.Unlock()
	if len(due) == 0 {
		return false, nil
	}
	runs := l.splitRuns(due)
	run := runs[len(runs)-1]
	flights, err := l.fill(ctx, ctx, run)
	if err == nil {
		err = l.writeError()
	}
	for i := 0; i < len(flights) && err == nil; i++ {
		switch f := flights[i]; {
		case f.err == nil && i == len(flights)-1:
			err = l.listed(ctx, Hours, run[i])
		case !errors.Is(f.err, allocation.ErrNoData):
			err = f.err
		}
	}
	if err != nil {
		return false, fmt.Errorf("catch up: %w", err)
	}
	return true, nil
}

// writeError is what the last writing failed in.
func (l *Ledger) writeError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store.writeErr
}

// recompute computes an incomplete hour again whose time has come.
func (l *Ledger) recompute(ctx context.Context, w allocation.Window) (more bool, err error) {
	hours, err := l.usable(ctx, Hours, w, &allocation.Query{Stored: true})
	if err != nil {
		return false, fmt.Errorf("compute incomplete hours again: %w", err)
	}
	now := l.opts.Now()
	for i := range hours.sets {
		k := &hours.sets[i]
		if k.Complete || !l.dueAgain(k.Window, now) {
			continue
		}
		if err := l.replaceHour(ctx, k); err != nil {
			return false, fmt.Errorf("compute incomplete hour of %s again: %w", k.Window.Start.Format(time.RFC3339), err)
		}
		return true, nil
	}
	return false, nil
}

// dueAgain reports whether an incomplete hour is to be computed again now, and notes when it is next.
func (l *Ledger) dueAgain(w allocation.Window, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, ok := l.again[w.Start.Unix()]
	if !ok {
		l.again[w.Start.Unix()] = again{due: l.nextTry(w, now, 0)}
		return false
	}
	if x.tries == len(againDelays) || now.Before(x.due) {
		return false
	}
	x.tries++
	if x.tries < len(againDelays) {
		x.due = l.nextTry(w, now, x.tries)
	}
	l.again[w.Start.Unix()] = x
	return true
}

// nextTry is when an incomplete hour is computed again after so many tries: at the latest once all that is looked at after its end is
// there, if that is still to come.
func (l *Ledger) nextTry(w allocation.Window, now time.Time, tries int) time.Time {
	due := now.Add(againDelays[tries])
	if all := w.End.Add(allocation.Evidence + l.opts.Grace); all.After(now) && all.Before(due) {
		return all
	}
	return due
}

// replaceHour computes a kept hour again, puts what is complete in its place, and rolls its day up again. What counters have counted of
// it stays.
func (l *Ledger) replaceHour(ctx context.Context, k *Kept) error {
	sets, err := l.compute(ctx, allocation.Query{Window: k.Window, Resolution: l.opts.Resolution, Alone: true})
	if errors.Is(err, allocation.ErrNoData) {
		return nil
	}
	if err != nil {
		return err
	}
	if sets[0].Incomplete {
		return nil
	}
	if err := l.settle(ctx, k.Window); err != nil {
		return err
	}
	if err := l.write(ctx, sets[0], Keep{Kind: Hours, Complete: true, Replace: true}); err != nil {
		return err
	}
	return l.rollAgain(ctx, []allocation.Window{k.Window})
}

// tidy removes what is no longer needed, unless that is left to others, and measures the history, once an hour.
func (l *Ledger) tidy(ctx context.Context) error {
	now := l.opts.Now()
	l.mu.Lock()
	last := l.store.tidied
	l.mu.Unlock()
	if age := now.Sub(last); age >= 0 && age < tidyEvery {
		return nil
	}
	if t, ok := l.history.(Tidier); ok && !l.opts.ReadOnly {
		var before time.Time
		if l.opts.Retention > 0 {
			before = now.Add(-l.opts.Retention)
		}
		if err := t.Tidy(ctx, before); err != nil {
			return fmt.Errorf("tidy the history: %w", err)
		}
	}
	if err := l.measure(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.store.tidied = now
	return nil
}

// measure finds how much is kept.
func (l *Ledger) measure(ctx context.Context) error {
	var sets [2]int
	bytes, oldest, newest := int64(0), time.Time{}, time.Time{}
	for kind := range sets {
		list, err := l.history.List(ctx, Kind(kind), allocation.Window{})
		if err != nil {
			return fmt.Errorf("measure the history: %w", err)
		}
		sets[kind] = len(list)
		for i := range list {
			bytes += list[i].Bytes
			if start := list[i].Window.Start; oldest.IsZero() || start.Before(oldest) {
				oldest = start
			}
			if end := list[i].Window.End; Kind(kind) == Hours && end.After(newest) {
				newest = end
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.store.hours, l.store.days, l.store.bytes, l.store.oldest, l.store.newest, l.store.measured = sets[Hours], sets[Days], bytes, oldest, newest, true
	return nil
}

// storeState is what is known of the history.
type storeState struct {
	err, writeErr error // of the last reading and writing
	lastWrite     time.Time
	tidied        time.Time // when it was tidied and measured
	measured      bool
	hours, days   int
	bytes         int64
	oldest        time.Time // when the first set began that was there then
	newest        time.Time // when the last hour ended that was there then
	missing       int       // hours that the loop has yet to compute
}

// StoreStats tell of the history.
type StoreStats struct {
	Hours, Days int   // sets
	Bytes       int64 // of their files
	LastWrite   time.Time
	// Missing are the closed hours that the loop has yet to compute, without those before the first data.
	Missing int
	// Uncounted are the closed hours of the month, without those before the first data, that are not in Accrued: the source had nothing of
	// them, or they are not kept. Where there is no Accrued yet they are all.
	Uncounted int
	// Lag is for how long the last closed hour should have been there, 0 where it is, and where nothing is known of any hour.
	Lag time.Duration
	// Err is why the history cannot be read or written, nil if it can.
	Err error
}

// Store tells of the history.
func (l *Ledger) Store() StoreStats {
	due := l.closedHour().End
	l.mu.Lock()
	defer l.mu.Unlock()
	s := StoreStats{
		Hours: l.store.hours, Days: l.store.days, Bytes: l.store.bytes, LastWrite: l.store.lastWrite, Missing: l.store.missing, Uncounted: l.uncounted.hours,
		Err: errors.Join(l.store.err, l.store.writeErr),
	}
	newest := l.store.newest
	if l.hour.set != nil && l.hour.set.Window.End.After(newest) {
		newest = l.hour.set.Window.End
	}
	if !newest.IsZero() {
		s.Lag = max(0, due.Sub(newest))
	}
	return s
}

// logTend tells of what tending failed in.
func (l *Ledger) logTend(err error, retry time.Duration) {
	level.Error(l.logger).Log("msg", "Tending the history failed", "retry_in", retry, "err", err)
}
