package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// maintain does one thing that the history lacks, the newest first: it counts, computes missing hours, computes incomplete ones
// again, rolls a day up, tidies. It reports whether there may be more to do.
func (r *Recorder) maintain(ctx context.Context) (more bool, err error) {
	ctx, done := r.ledger.WithAccount(ctx)
	defer done()
	if err := r.learnBegin(ctx); err != nil {
		return false, err
	}
	changed, err := r.counters.update(ctx, r.latestEnd())
	if changed {
		r.opts.Changed()
	}
	if err != nil {
		return false, err
	}
	r.archive.RecordRead(nil)
	r.ledger.Trim()
	if !r.stores || r.Spending() != nil && !r.budgetsKnown() {
		if err := r.budgets.update(ctx); err != nil {
			return false, err
		}
	}
	if !r.stores {
		if err := r.updateOutlook(ctx); err != nil {
			return false, err
		}
		r.warnNotCounted(true)
		return false, r.upkeep.tidy(ctx)
	}
	w := r.horizon()
	for _, do := range [...]func(context.Context, allocation.Window) (bool, error){r.catchUp, r.updateWholeBudgets, r.completeHours, r.rollUp, r.mendCounted} {
		if more, err := do(ctx, w); err != nil || more {
			return more, err
		}
	}
	if err := r.budgets.update(ctx); err != nil { // with what was computed meanwhile
		return false, err
	}
	if err := r.updateOutlook(ctx); err != nil {
		return false, err
	}
	r.warnNotCounted(!r.latestEnd().IsZero())
	return false, r.upkeep.tidy(ctx)
}

// updateOutlook finds what subjects should cost, unless that is known for the last closed hour.
func (r *Recorder) updateOutlook(ctx context.Context) error {
	changed, err := r.outlooks.update(ctx)
	if changed {
		r.opts.Changed()
	}
	return err
}

// catchUp computes the newest run of hours that are missing.
func (r *Recorder) catchUp(ctx context.Context, w allocation.Window) (more bool, err error) {
	due, err := r.dueHours(ctx, w)
	if err != nil {
		return false, fmt.Errorf("catch up: %w", err)
	}
	if len(due) == 0 {
		return false, nil
	}
	runs := r.clock.Runs(due)
	run := runs[len(runs)-1]
	results, err := r.ledger.FillHours(ctx, run)
	if err == nil {
		err = r.archive.Health().WriteErr
	}
	for i := 0; i < len(results) && err == nil; i++ {
		switch x := results[i]; {
		case x.Err == nil && i == len(results)-1:
			err = r.archive.Check(ctx, ledger.Hours, run[i])
		case !errors.Is(x.Err, allocation.ErrNoData):
			err = x.Err
		}
	}
	if err != nil {
		return false, fmt.Errorf("catch up: %w", err)
	}
	return true, nil
}

// dueHours are the hours within w that are missing and to be computed now: of those that the source had nothing of, it is asked again
// now and then, but not while it says that its data begin later. It notes how many they are, without those before the first data.
func (r *Recorder) dueHours(ctx context.Context, w allocation.Window) (due []allocation.Window, err error) {
	missing, _, err := r.missingHours(ctx, w)
	if err != nil {
		return nil, err
	}
	first, err := r.oldestKept(ctx, w)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, h := range missing {
		if until, empty := r.ledger.Empty(h); empty && (r.clock.Now().Before(until) || r.heldBack(h)) {
			continue
		}
		due = append(due, h)
		if !r.early(h, first) {
			n++
		}
	}
	r.upkeep.setMissing(n)
	return due, nil
}

// updateWholeBudgets finds how the budgets stand, unless that is known for the last closed hour: once no hour is missing any more, so
// that what is not there yet is not taken for nothing.
func (r *Recorder) updateWholeBudgets(ctx context.Context, _ allocation.Window) (more bool, err error) {
	if r.budgetsKnown() {
		return false, nil
	}
	return false, r.budgets.update(ctx)
}

// retryDelays are for how long an incomplete hour waits before it is computed again, each time.
var retryDelays = [...]time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// retry is when an incomplete hour is computed again.
type retry struct {
	tries int
	due   time.Time
}

// completeHours computes an incomplete hour again when it is due.
func (r *Recorder) completeHours(ctx context.Context, w allocation.Window) (more bool, err error) {
	hours, err := r.archive.List(ctx, ledger.Hours, w)
	if err != nil {
		return false, fmt.Errorf("compute incomplete hours again: %w", err)
	}
	now := r.clock.Now()
	for i := range hours.Sets {
		h := hours.Sets[i].Window
		if hours.Sets[i].Complete || !r.isDue(h, now) {
			continue
		}
		if err := r.completeHour(ctx, h); err != nil {
			return false, fmt.Errorf("compute incomplete hour of %s again: %w", h.Start.Format(time.RFC3339), err)
		}
		return true, nil
	}
	return false, nil
}

// isDue reports whether an incomplete hour is to be computed again now, and notes when it is next.
func (r *Recorder) isDue(h allocation.Window, now time.Time) bool {
	x, ok := r.incomplete[h.Start.Unix()]
	if !ok {
		r.incomplete[h.Start.Unix()] = retry{due: r.nextTry(h, now, 0)}
		return false
	}
	if x.tries == len(retryDelays) || now.Before(x.due) {
		return false
	}
	x.tries++
	if x.tries < len(retryDelays) {
		x.due = r.nextTry(h, now, x.tries)
	}
	r.incomplete[h.Start.Unix()] = x
	return true
}

// nextTry is when an incomplete hour is computed again after so many tries: at the latest once all that is looked at after its end is
// there, if that is still to come.
func (r *Recorder) nextTry(h allocation.Window, now time.Time, tries int) time.Time {
	due := now.Add(retryDelays[tries])
	if all := h.End.Add(allocation.Evidence + r.clock.Grace); all.After(now) && all.Before(due) {
		return all
	}
	return due
}

// completeHour computes a stored hour again. If the result is complete, it replaces the hour, and the day is rolled up again. A result
// that lacks what the hours before and after have is complete only if it does so each time.
// What counters have counted of it stays.
func (r *Recorder) completeHour(ctx context.Context, h allocation.Window) error {
	set, err := r.ledger.ComputeHour(ctx, h)
	if errors.Is(err, allocation.ErrNoData) {
		return nil
	}
	if err != nil {
		return err
	}
	if set.Incomplete {
		return nil
	}
	if lost, err := r.archive.Vanished(ctx, set); err != nil || lost != "" && r.incomplete[h.Start.Unix()].tries < len(retryDelays) {
		return err
	}
	if err := r.archive.ReplaceHour(ctx, set); err != nil {
		return err
	}
	return r.rollUpAgain(ctx, []allocation.Window{h})
}
