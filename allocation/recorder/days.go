package recorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// rollUp rolls up the oldest closed day within w that can be made of its hours: one that is not kept, or was made while some hour was
// missing that is there now. Hours that the source has nothing of are no reason to wait. It reports whether there may be another one.
func (r *Recorder) rollUp(ctx context.Context, w allocation.Window) (more bool, err error) {
	days, err := r.archive.List(ctx, ledger.Days, w)
	if err != nil {
		return false, fmt.Errorf("roll up days: %w", err)
	}
	hours, err := r.archive.List(ctx, ledger.Hours, w)
	if err != nil {
		return false, fmt.Errorf("roll up days: %w", err)
	}
	closed := r.clock.ClosedUntil()
	for day := r.clock.Day(w.Start); !day.End.After(closed) && !day.End.After(w.End); day = r.clock.Day(day.End) {
		kept := days.Longest(day.Start, day)
		if kept != nil && (!kept.Window.End.Equal(day.End) || kept.Complete) {
			continue
		}
		pieces := r.ledger.DayPieces(day, hours)
		if some, whole := r.canRollUp(pieces); !some || kept != nil && !whole {
			continue
		}
		err := r.rollUpDay(ctx, day, pieces, kept != nil || days.Differs(day))
		if err == nil {
			err = r.archive.Check(ctx, ledger.Days, day)
		}
		var damaged *ledger.DamagedError
		switch {
		case errors.As(err, &damaged):
			r.archive.Distrust(damaged)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return false, fmt.Errorf("roll up day %s: %w", day.Start.Format(time.DateOnly), err)
		}
		return true, nil
	}
	return false, nil
}

// canRollUp reports whether a day of these pieces can be rolled up, which is when all expected hours are there and have data,
// and whether no hour is missing.
func (r *Recorder) canRollUp(pieces []ledger.Piece) (some, whole bool) {
	whole = true
	for _, x := range pieces {
		switch {
		case x.Kept != nil:
			some = true
			whole = whole && x.Kept.Complete
		case x.Hour:
			if !r.isEmpty(x.Window) {
				return false, false
			}
			whole = false
		}
	}
	return some, whole
}

// rollUpDay merges the pieces of a day and keeps it.
func (r *Recorder) rollUpDay(ctx context.Context, day allocation.Window, pieces []ledger.Piece, replace bool) error {
	set, err := r.ledger.MergeDay(ctx, day, pieces)
	if err != nil {
		return err
	}
	complete := !set.Incomplete
	for _, x := range pieces {
		complete = complete && (x.Kept == nil || x.Kept.Complete)
	}
	return r.archive.Write(ctx, set, ledger.Keep{Kind: ledger.Days, Complete: complete, Replace: replace})
}

// rollUpAgain rolls up the kept days of hours that may have changed. A day that was made of more hours than there are now stays.
func (r *Recorder) rollUpAgain(ctx context.Context, hours []allocation.Window) error {
	for len(hours) > 0 {
		day := r.clock.Day(hours[0].Start)
		for len(hours) > 0 && hours[0].Start.Before(day.End) {
			hours = hours[1:]
		}
		if err := r.rollUpKeptDay(ctx, day); err != nil {
			return err
		}
	}
	return nil
}

// rollUpKeptDay rolls up a day again, if it is kept.
func (r *Recorder) rollUpKeptDay(ctx context.Context, day allocation.Window) error {
	days, err := r.archive.List(ctx, ledger.Days, day)
	if err != nil {
		return fmt.Errorf("roll up days: %w", err)
	}
	was := days.Exact(day)
	if was == nil {
		return nil
	}
	hours, err := r.archive.List(ctx, ledger.Hours, day)
	if err != nil {
		return fmt.Errorf("roll up days: %w", err)
	}
	pieces := r.ledger.DayPieces(day, hours)
	if was.Complete {
		for _, x := range pieces {
			if x.Kept == nil {
				return nil
			}
		}
	}
	if err := r.rollUpDay(ctx, day, pieces, true); err != nil {
		return fmt.Errorf("roll up day %s: %w", day.Start.Format("2006-01-02"), err)
	}
	return nil
}
