package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// latestPast is how old the latest hour may be that is read: where others compute, or before one is computed.
const latestPast = 48 * time.Hour

// latest is the last closed hour.
type latest struct {
	mu       sync.Mutex
	set      *allocation.Set // of the last hour that was computed, before of the last that is kept; nil for none
	computed time.Time
	tried    bool  // to compute one
	err      error // of the last try, nil where it succeeded
}

// Latest is the last closed hour that Run has computed and when it did, and the error of the last try. As long as none
// succeeded it is the newest that was kept before, nil for none; after a failure it is the one of before. It must not be
// changed.
func (r *Recorder) Latest() (*allocation.Set, time.Time, error) {
	r.latest.mu.Lock()
	defer r.latest.mu.Unlock()
	return r.latest.set, r.latest.computed, r.latest.err
}

// latestEnd is the end of the latest hour, zero for none.
func (r *Recorder) latestEnd() (end time.Time) {
	if set, _, _ := r.Latest(); set != nil {
		end = set.Window.End
	}
	return end
}

// setLatest makes set the latest hour.
func (r *Recorder) setLatest(set *allocation.Set) {
	r.latest.set, r.latest.computed = set, r.clock.Now()
	r.ledger.SetLatest(set)
}

// Ready is nil once questions can be answered: an hour is computed, or cannot be but one was kept before, and then it stays nil; or
// the source has nothing of the hour, as before its first data. Else it says why not. A reader of a history that ended long ago is
// ready: nothing is computed there, and all that is kept can be asked for.
func (r *Recorder) Ready() error {
	r.latest.mu.Lock()
	defer r.latest.mu.Unlock()
	x := &r.latest
	switch {
	case x.set != nil && x.tried, r.readOnly && errors.Is(x.err, allocation.ErrNoData), allocation.HasNothing(x.err):
		return nil
	case x.err != nil:
		return fmt.Errorf("first computation failed, it is tried again: %w", x.err)
	}
	return errors.New("first computation is not done yet: wait for it")
}

// updateLatest makes w the latest hour, read or computed.
func (r *Recorder) updateLatest(ctx context.Context, w allocation.Window) error {
	ctx, done := r.ledger.WithAccount(ctx)
	defer done()
	set, err := r.lastHour(ctx, w)
	r.latest.mu.Lock()
	defer r.latest.mu.Unlock()
	r.latest.tried, r.latest.err = true, err
	if err == nil && (r.latest.set == nil || !set.Window.End.Before(r.latest.set.Window.End)) {
		r.setLatest(set)
	}
	return err
}

// readLatest makes the newest hour that is kept the latest, until one is computed: the source may be down.
func (r *Recorder) readLatest(ctx context.Context) {
	if !r.ledger.Keeps() || r.readOnly {
		return
	}
	w := r.clock.LastHour()
	kept, err := r.archive.List(ctx, ledger.Hours, allocation.Window{Start: w.Start.Add(-latestPast), End: w.End})
	if err != nil || len(kept.Sets) == 0 {
		return // callers that need the history report its failure
	}
	sets, release, err := r.archive.Read(ctx, kept.Sets[len(kept.Sets)-1:], nil)
	defer release()
	if r.archive.RecordDamage(err) != nil {
		return
	}
	r.latest.mu.Lock()
	r.setLatest(sets[0])
	r.latest.mu.Unlock()
	r.opts.Changed()
}

// lastHour returns the set of the last closed hour w or, where nothing is computed, of the last stored hour.
func (r *Recorder) lastHour(ctx context.Context, w allocation.Window) (*allocation.Set, error) {
	if !r.ledger.Keeps() {
		return r.ledger.ComputeHour(ctx, w)
	}
	look := w
	if r.readOnly {
		look.Start = w.Start.Add(-latestPast)
	}
	kept, err := r.archive.List(ctx, ledger.Hours, look)
	if err != nil && !r.readOnly {
		r.archive.RecordRead(err)
		return r.ledger.ComputeHour(ctx, w) // metrics do without the history
	}
	if err != nil {
		return nil, err
	}
	if n := len(kept.Sets); n > 0 && (r.readOnly || kept.Sets[n-1].Window == w || kept.Longest(w.Start, w) != nil) {
		sets, release, err := r.archive.Read(ctx, kept.Sets[n-1:], nil)
		defer release()
		if err == nil {
			return sets[0], nil
		}
		if err = r.archive.RecordDamage(err); r.readOnly {
			return nil, err
		}
	}
	if r.readOnly {
		return nil, fmt.Errorf("%w: the history has no hour of the last %s", allocation.ErrNoData, latestPast)
	}
	if w.Duration() != time.Hour || !r.stores {
		return r.ledger.ComputeHour(ctx, w)
	}
	return r.ledger.FillHour(ctx, w)
}

// logFailed logs that hour w is missing and will be tried again after retry.
func (r *Recorder) logFailed(w allocation.Window, retry time.Duration, err error) {
	logger, msg := level.Error(r.logger), "computation of the hour failed"
	set, _, _ := r.Latest()
	switch {
	case r.readOnly && errors.Is(err, allocation.ErrNoData):
		logger, msg = level.Info(r.logger), "the metrics show no costs, for the history has no recent hour; it can be queried"
	case set == nil && allocation.HasNothing(err):
		logger, msg = level.Info(r.logger), "the source has no data of the last closed hour yet: the metrics show costs once it has"
	}
	logger.Log("msg", msg, "start", w.Start.Format(time.RFC3339), "retry_in", retry, "err", err)
}
