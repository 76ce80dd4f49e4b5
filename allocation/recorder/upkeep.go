package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// tidyEvery is how often the history is tidied and measured.
const tidyEvery = time.Hour

// upkeep tidies the history, and knows what it lacks.
type upkeep struct {
	*records

	mu      sync.Mutex
	tidied  time.Time // when it was tidied and measured last
	missing int       // hours that the loop has yet to compute
}

// setMissing records how many hours have yet to be computed.
func (u *upkeep) setMissing(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.missing = n
}

// tidy removes obsolete files, unless others do that, and measures the history, once an hour.
func (u *upkeep) tidy(ctx context.Context) error {
	now := u.clock.Now()
	u.mu.Lock()
	last := u.tidied
	u.mu.Unlock()
	if age := now.Sub(last); age >= 0 && age < tidyEvery {
		return nil
	}
	if u.stores {
		var before time.Time
		if u.opts.Retention > 0 {
			before = now.Add(-u.opts.Retention)
		}
		if err := u.archive.Tidy(ctx, before); err != nil {
			return fmt.Errorf("tidy the history: %w", err)
		}
	}
	if err := u.measure(ctx); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tidied = now
	return nil
}

// StoreStats describe the history.
type StoreStats struct {
	Hours, Days int   // sets
	Bytes       int64 // of their files
	LastWrite   time.Time
	// Missing are the closed hours that the loop has yet to compute, without those before the first data.
	Missing int
	// NotCounted are the closed hours of the month, without those before the first data, that are not in Accrued: the source had nothing of
	// them, or they are not kept. Where there is no Accrued yet they are all.
	NotCounted int
	// Lag is for how long the last closed hour has been overdue. It is 0 if the hour is there, and if no hour is known.
	Lag time.Duration
	// Err is why the history cannot be read or written, nil if it can.
	Err error
}

// Store returns the state of the history.
func (r *Recorder) Store() StoreStats {
	size := r.measured()
	s := StoreStats{Hours: size.hours, Days: size.days, Bytes: size.bytes, NotCounted: r.hoursNotCounted()}
	if r.archive != nil {
		health := r.archive.Health()
		s.LastWrite, s.Err = health.LastWrite, errors.Join(health.ReadErr, health.WriteErr)
	}
	r.upkeep.mu.Lock()
	s.Missing = r.upkeep.missing
	r.upkeep.mu.Unlock()
	newest := size.newest
	if end := r.latestEnd(); end.After(newest) {
		newest = end
	}
	if !newest.IsZero() {
		s.Lag = max(0, r.clock.LastHour().End.Sub(newest))
	}
	return s
}

// Behind says what the history is behind with, nil if nothing: answers then are older or take longer than they should.
func (r *Recorder) Behind() error {
	s := r.Store()
	var errs []error
	if _, _, err := r.Latest(); s.Lag > 0 && err != nil {
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
