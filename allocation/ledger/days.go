package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// rollDay rolls the oldest closed day within w that can be up from its hours: one that is not kept, or was rolled up while
// some hour was missing that is there now. Hours that the source has nothing of are no reason to wait. It reports whether
// there may be another one.
func (l *Ledger) rollDay(ctx context.Context, w allocation.Window) (more bool, err error) {
	all := &allocation.Query{Stored: true}
	days, err := l.usable(ctx, Days, w, all)
	if err != nil {
		return false, fmt.Errorf("roll up days: %w", err)
	}
	hours, err := l.usable(ctx, Hours, w, all)
	if err != nil {
		return false, fmt.Errorf("roll up days: %w", err)
	}
	closed := l.opts.Now().Add(-l.opts.Grace)
	day := allocation.Day.Round(allocation.Window{Start: w.Start, End: w.Start.Add(1)}, l.opts.Zone)
	for ; !day.End.After(closed) && !day.End.After(w.End); day = allocation.Day.Round(allocation.Window{Start: day.End, End: day.End.Add(1)}, l.opts.Zone) {
		kept := days.at(day.Start, day)
		if kept != nil && (!kept.Window.End.Equal(day.End) || kept.Complete) {
			continue
		}
		pieces := l.cut(day, &shelf{}, hours, true)
		if some, whole := l.rollable(pieces); !some || kept != nil && !whole {
			continue
		}
		err := l.roll(ctx, day, pieces, kept != nil || days.other(day))
		if err == nil {
			err = l.listed(ctx, Days, day)
		}
		var damaged *DamagedError
		switch {
		case errors.As(err, &damaged):
			l.noteDamage(damaged)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return false, fmt.Errorf("roll up day %s: %w", day.Start.Format(time.DateOnly), err)
		}
		return true, nil
	}
	return false, nil
}

// other reports whether there is a set that overlaps w but is not of it, as of another time zone: it may hide that of w.
func (s *shelf) other(w allocation.Window) bool {
	return slices.ContainsFunc(s.sets, func(k Kept) bool {
		return k.Window.Start.Before(w.End) && k.Window.End.After(w.Start) && (!k.Window.Start.Equal(w.Start) || !k.Window.End.Equal(w.End))
	})
}

// listed is an error if the history does not have what was just written: to write it again and again would not help.
func (l *Ledger) listed(ctx context.Context, k Kind, w allocation.Window) error {
	kept, err := l.usable(ctx, k, w, &allocation.Query{Stored: true})
	if err == nil && kept.at(w.Start, w) == nil {
		err = fmt.Errorf("%s of %s was written, but the history does not have it", k, w.Start.UTC().Format(time.RFC3339))
	}
	return err
}

// rollable reports whether a day of these pieces can be rolled up: all that may come is there, and it is something; and
// whether nothing is missing.
func (l *Ledger) rollable(pieces []piece) (some, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole = true
	for _, x := range pieces {
		switch {
		case x.kept != nil:
			some = true
			whole = whole && x.kept.Complete
		case x.hour:
			if _, ok := l.barren[x.window.Start.Unix()]; !ok {
				return false, false
			}
			whole = false
		}
	}
	return some, whole
}

// roll merges the pieces of a day and keeps it.
func (l *Ledger) roll(ctx context.Context, day allocation.Window, pieces []piece, replace bool) error {
	q := allocation.Query{Window: day, Stored: true, Resolution: l.opts.Resolution}
	a := l.newAssembly(q, &plan{[]allocation.Window{day}, [][]piece{pieces}})
	set, err := a.window(ctx, 0)
	if err != nil {
		return err
	}
	complete := !set.Incomplete
	for _, x := range pieces {
		complete = complete && (x.kept == nil || x.kept.Complete)
	}
	return l.write(ctx, set, Keep{Kind: Days, Complete: complete, Replace: replace})
}
