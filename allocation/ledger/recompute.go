package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/promcost/promcost/allocation"
)

// leastLeft is how much of the running time of nodes the source must still have of an hour that is put in the place of a kept
// one: below it, samples are gone that the kept hour was computed from.
const leastLeft = 0.95

// Recompute computes the closed hours within w that are kept again, some at a time, oldest first, and puts them in the place of
// those that are kept; then it rolls their days up again. Counters stay as they were. An hour stays as it is where the source has
// less of it now. progress, if not nil, is told after each run. What was replaced when ctx ends or an error occurs stays so.
func (l *Ledger) Recompute(ctx context.Context, w allocation.Window, progress func(Progress)) error {
	kept, err := l.usable(ctx, Hours, w, &allocation.Query{Stored: true})
	if err != nil {
		return fmt.Errorf("recompute history: %w", err)
	}
	var hours []allocation.Window
	for _, h := range l.ClosedHours(w) {
		if kept.has(h) {
			hours = append(hours, h)
		}
	}
	done := Progress{Hours: len(hours), Kept: len(hours)}
	for _, run := range l.splitRuns(hours) {
		if err := l.recomputeRun(ctx, run, kept, &done); err != nil {
			return fmt.Errorf("recompute history: %w", err)
		}
		if progress != nil {
			progress(done)
		}
	}
	return l.rollAgain(ctx, hours)
}

// recomputeRun computes adjacent hours again and replaces them.
func (l *Ledger) recomputeRun(ctx context.Context, hours []allocation.Window, kept *shelf, done *Progress) error {
	ctx, _, release := l.opts.Memory.Within(ctx, remedy)
	defer release()
	computed := make([]computedHour, len(hours))
	l.computeRun(ctx, hours, computed)
	for i, h := range hours {
		if errors.Is(computed[i].err, allocation.ErrNoData) {
			done.Left++
			continue
		}
		if computed[i].err != nil {
			return computed[i].err
		}
		was := kept.at(h.Start, h)
		less, err := l.hasLess(ctx, computed[i].set, was)
		if err != nil {
			return err
		}
		if less {
			done.Left++
			continue
		}
		if err := l.settle(ctx, h); err != nil {
			return err
		}
		if err := l.write(ctx, computed[i].set, Keep{Kind: Hours, Complete: !computed[i].set.Incomplete, Replace: true}); err != nil {
			return err
		}
		done.Replaced++
	}
	return nil
}

// hasLess reports whether an hour that was computed again lacks what the kept one was computed from.
func (l *Ledger) hasLess(ctx context.Context, now *allocation.Set, was *Kept) (bool, error) {
	if now.Incomplete && was.Complete {
		return true, nil
	}
	sets, release, err := l.read(ctx, []Kept{*was}, &allocation.Projection{})
	defer release()
	if _, damaged := errors.AsType[*DamagedError](err); damaged {
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

// rollAgain rolls up the kept days of hours that may have changed again. A day that was rolled up from more hours than there are now
// stays.
func (l *Ledger) rollAgain(ctx context.Context, hours []allocation.Window) error {
	for len(hours) > 0 {
		day := allocation.Day.Round(allocation.Window{Start: hours[0].Start, End: hours[0].Start.Add(1)}, l.opts.Zone)
		for len(hours) > 0 && hours[0].Start.Before(day.End) {
			hours = hours[1:]
		}
		if err := l.rollDayAgain(ctx, day); err != nil {
			return err
		}
	}
	return nil
}

// rollDayAgain makes that a kept day is rolled up again.
func (l *Ledger) rollDayAgain(ctx context.Context, day allocation.Window) error {
	all := &allocation.Query{Stored: true}
	days, err := l.usable(ctx, Days, day, all)
	if err != nil {
		return fmt.Errorf("roll up days: %w", err)
	}
	was := days.at(day.Start, day)
	if was == nil || !was.Window.End.Equal(day.End) {
		return nil
	}
	hours, err := l.usable(ctx, Hours, day, all)
	if err != nil {
		return fmt.Errorf("roll up days: %w", err)
	}
	pieces := l.cut(day, &shelf{}, hours, true)
	if was.Complete {
		for _, x := range pieces {
			if x.kept == nil {
				return nil
			}
		}
	}
	if err := l.roll(ctx, day, pieces, true); err != nil {
		return fmt.Errorf("roll up day %s: %w", day.Start.Format("2006-01-02"), err)
	}
	return nil
}
