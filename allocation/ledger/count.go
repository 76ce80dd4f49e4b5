package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Accrued are the costs of the month up to the last closed hour that could be counted: what counters show. It is nil until
// all closed hours of the month are kept, but for those that the source has nothing of. It never falls within a month:
// hours are counted in order, each as it was when it was counted first, which the history keeps where they change.
func (l *Ledger) Accrued() *allocation.Accrued {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accrued
}

// AccruedAt are the costs of the month up to t, as counters showed them then. The month is that in
// which the last hour began that was closed by then, grace period included: so the last hour of a month is shown, too, in the
// first one of the next. Where an hour is not kept, it ends before it.
func (l *Ledger) AccruedAt(ctx context.Context, t time.Time) (*allocation.Accrued, error) {
	if l.history == nil {
		return nil, fmt.Errorf("%w: there is no history to count costs in", allocation.ErrNoData)
	}
	end := l.floor(t.Add(-l.opts.Grace))
	a, err := l.accrueSound(ctx, allocation.NewAccrued(l.monthOf(end), l.opts.Metering()), end, false)
	if err != nil {
		return nil, fmt.Errorf("count the costs of the month: %w", err)
	}
	return a, nil
}

// monthOf is when the month began of the hour that ends at end.
func (l *Ledger) monthOf(end time.Time) time.Time {
	return allocation.Month.Round(allocation.Window{Start: end.Add(-time.Second), End: end}, l.opts.Zone).Start
}

// count counts the hours that have closed since it last did.
func (l *Ledger) count(ctx context.Context) error {
	end := l.floor(l.opts.Now().Add(-l.opts.Grace))
	month := l.monthOf(end)
	l.mu.Lock()
	a := l.counting
	l.mu.Unlock()
	metering := l.opts.Metering()
	if a != nil && a.Metering() != metering {
		a = nil
	}
	if a != nil && month.Before(a.Window.Start) {
		return nil // the clock was set back
	}
	if a == nil || !a.Window.Start.Equal(month) {
		a = allocation.NewAccrued(month, metering)
	}
	a, err := l.accrueSound(ctx, a, end, !l.opts.ReadOnly)
	if err != nil {
		return fmt.Errorf("count the costs of the month: %w", err)
	}
	if l.counted(a, end) {
		l.opts.Changed()
	}
	return l.noteUncounted(ctx, a, end)
}

// counted notes how far has been counted, and shows it once it is whole: then it reports whether that is new.
func (l *Ledger) counted(a *allocation.Accrued, end time.Time) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counting = a
	if l.accrued != nil && l.accrued.Metering() == a.Metering() || a.Window.End.Equal(end) || l.hour.set != nil && !a.Window.End.Before(l.hour.set.Window.End) {
		changed = l.accrued != a
		l.accrued = a
	}
	return changed
}

// accrueSound is accrue with what is found to be damaged left out, as hours that have yet to be computed: those that it cannot
// read must not keep them from being computed again.
func (l *Ledger) accrueSound(ctx context.Context, a *allocation.Accrued, end time.Time, settle bool) (*allocation.Accrued, error) {
	for try := 0; ; try++ {
		sum, err := l.accrue(ctx, a, end, settle)
		if _, damaged := errors.AsType[*DamagedError](err); !damaged || try >= maxDamaged {
			return sum, err
		}
	}
}

// accrue adds hours to a up to end, or to the first that is neither kept nor known to be without data. With settle,
// what is found to be without data is kept as such, so that it stays out of the counters if data come later.
func (l *Ledger) accrue(ctx context.Context, a *allocation.Accrued, end time.Time, settle bool) (*allocation.Accrued, error) {
	if !end.After(a.Window.End) {
		return a, nil
	}
	all := &allocation.Query{Stored: true}
	hours, err := l.usable(ctx, Hours, allocation.Window{Start: a.Window.End, End: end}, all)
	if err != nil {
		return nil, err
	}
	counted, err := l.usable(ctx, Counted, allocation.Window{Start: a.Window.Start, End: end}, all)
	if err != nil {
		return nil, err
	}
	for from := a.Window.End; from.Before(end); from = a.Window.End {
		rest := allocation.Window{Start: from, End: end}
		kept := l.countable(rest, hours, counted)
		switch h := l.hourAt(from); {
		case len(kept) > 0:
			sets, release, err := l.read(ctx, kept, a.Metering().Projection())
			if err != nil {
				return nil, l.seen(err)
			}
			a = a.Add(sets...)
			release()
		case h.Duration() != time.Hour || !h.Start.Equal(from): // clocks were set by less than an hour: it is in no set
			a = a.Until(h.End)
		default:
			hole := l.hole(rest, hours, counted)
			if hole.Duration() <= 0 || !settle {
				return a, nil
			}
			if err := l.write(ctx, allocation.NewSet(hole, allocation.NewDict()), Keep{Kind: Counted, Complete: true}); err != nil {
				return nil, err
			}
			a = a.Until(hole.End)
		}
	}
	return a, nil
}

// seen notes damage.
func (l *Ledger) seen(err error) error {
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		l.noteDamage(damaged)
	}
	return err
}

// countable are the sets that are to be counted next, at most a day of them: as they were counted, else as they are.
func (l *Ledger) countable(w allocation.Window, hours, counted *shelf) (kept []Kept) {
	for at := w.Start; at.Before(w.End) && len(kept) < maxFill; {
		k := counted.at(at, w)
		if k == nil {
			if k = hours.at(at, w); k == nil || k.Window.Duration() != time.Hour {
				break
			}
		}
		kept = append(kept, *k)
		at = k.Window.End
	}
	return kept
}

// hole is the time from w's start on that the source has nothing of, if something follows that is kept.
func (l *Ledger) hole(w allocation.Window, hours, counted *shelf) allocation.Window {
	end := hours.after(w.Start, w)
	if t := counted.after(w.Start, w); t.Before(end) {
		end = t
	}
	if end.Equal(w.End) {
		return allocation.Window{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for h := l.hourAt(w.Start); h.Start.Before(end); h = l.hourAt(h.End) {
		if _, ok := l.barren[h.Start.Unix()]; !ok && h.Duration() == time.Hour {
			return allocation.Window{}
		}
	}
	return allocation.Window{Start: w.Start, End: end}
}
