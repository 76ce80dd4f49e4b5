package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// leastLeft is how much of the running time of nodes the source must still have of an hour that is put in the place of a kept
// one: below it, samples are gone that the kept hour was computed from.
const leastLeft = 0.95

// Recompute computes the stored hours within w again, a few at a time and oldest first, replaces them, and rolls up their
// days again. Counters do not change. An hour is not replaced if the source now has less data of it. progress, if not nil, is
// called after each run. If ctx ends or an error occurs, hours replaced until then stay replaced.
func (r *Recorder) Recompute(ctx context.Context, w allocation.Window, progress func(Progress)) error {
	kept, err := r.archive.List(ctx, ledger.Hours, w)
	if err != nil {
		return fmt.Errorf("recompute history: %w", err)
	}
	var hours []allocation.Window
	for _, h := range r.clock.ClosedHours(w) {
		if kept.Has(h) {
			hours = append(hours, h)
		}
	}
	done := Progress{Hours: len(hours), Kept: len(hours)}
	for _, run := range r.clock.Runs(hours) {
		if err := r.recomputeRun(ctx, run, kept, &done); err != nil {
			return fmt.Errorf("recompute history: %w", err)
		}
		if progress != nil {
			progress(done)
		}
	}
	return r.rollUpAgain(ctx, hours)
}

// recomputeRun computes adjacent hours again and replaces them.
func (r *Recorder) recomputeRun(ctx context.Context, hours []allocation.Window, kept *ledger.Listing, done *Progress) error {
	ctx, release := r.ledger.WithAccount(ctx)
	defer release()
	computed := r.ledger.ComputeHours(ctx, hours)
	for i, h := range hours {
		if errors.Is(computed[i].Err, allocation.ErrNoData) {
			done.Left++
			continue
		}
		if computed[i].Err != nil {
			return computed[i].Err
		}
		was := kept.Longest(h.Start, h)
		less, err := r.hasLess(ctx, computed[i].Set, was)
		if err != nil {
			return err
		}
		if less {
			done.Left++
			continue
		}
		if err := r.archive.ReplaceHour(ctx, computed[i].Set); err != nil {
			return err
		}
		done.Replaced++
	}
	return nil
}

// hasLess reports whether an hour that was computed again lacks data that the stored one was computed from.
func (r *Recorder) hasLess(ctx context.Context, now *allocation.Set, was *ledger.Kept) (bool, error) {
	if now.Incomplete && was.Complete {
		return true, nil
	}
	sets, release, err := r.archive.Read(ctx, []ledger.Kept{*was}, &allocation.Projection{})
	defer release()
	if _, damaged := errors.AsType[*ledger.DamagedError](err); damaged {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return nodeSeconds(now) < leastLeft*nodeSeconds(sets[0]), nil
}

// nodeSeconds is for how long nodes ran.
func nodeSeconds(s *allocation.Set) (sum float64) {
	for i := range s.Nodes {
		sum += s.Nodes[i].RunningSeconds
	}
	return sum
}

// mendCounted replaces an unreadable counted hour within w by the stored hour, which is the best that is known of it;
// counters that have counted it keep what they have. It reports whether there may be another one.
func (r *Recorder) mendCounted(ctx context.Context, w allocation.Window) (more bool, err error) {
	damaged := r.archive.Damaged(ledger.Counted)
	if len(damaged) == 0 {
		return false, nil
	}
	hours, err := r.archive.List(ctx, ledger.Hours, w)
	if err != nil {
		return false, fmt.Errorf("mend counted hours: %w", err)
	}
	for _, h := range damaged {
		k := hours.Exact(h)
		if k == nil || h.Start.Before(w.Start) || h.End.After(w.End) {
			continue
		}
		sets, release, err := r.archive.Read(ctx, []ledger.Kept{*k}, nil)
		defer release()
		if err = r.archive.RecordDamage(err); err == nil {
			err = r.archive.Write(ctx, sets[0], ledger.Keep{Kind: ledger.Counted, Complete: true})
		}
		if err != nil {
			return false, fmt.Errorf("mend counted hour of %s: %w", h.Start.UTC().Format(time.RFC3339), err)
		}
		return true, nil
	}
	return false, nil
}
