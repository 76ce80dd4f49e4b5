package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// settle keeps an hour as counters have counted it, before another one is put in its place. One that cannot be read any more
// is left: what was counted of it is lost.
func (l *Ledger) settle(ctx context.Context, hour allocation.Window) error {
	kept, err := l.history.List(ctx, Hours, hour)
	if err != nil {
		return fmt.Errorf("find the hour as it was counted: %w", err)
	}
	k := (&shelf{kept}).at(hour.Start, hour)
	if k == nil || !k.Window.End.Equal(hour.End) {
		return nil
	}
	old, release, err := l.read(ctx, []Kept{*k}, nil)
	defer release()
	if _, damaged := errors.AsType[*DamagedError](err); damaged || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the hour as it was counted: %w", err)
	}
	return l.write(ctx, old[0], Keep{Kind: Counted, Complete: true})
}

// mendCounted replaces a counted hour within w that cannot be read by the hour as it is kept now, which is the best that is
// known of it: those who have counted it go on from what they have. It reports whether there may be another one.
func (l *Ledger) mendCounted(ctx context.Context, w allocation.Window) (more bool, err error) {
	damaged := l.damagedCounted(w)
	if len(damaged) == 0 {
		return false, nil
	}
	hours, err := l.usable(ctx, Hours, w, &allocation.Query{Stored: true})
	if err != nil {
		return false, fmt.Errorf("mend counted hours: %w", err)
	}
	for _, h := range damaged {
		k := hours.at(h.Start, h)
		if k == nil || !k.Window.End.Equal(h.End) {
			continue
		}
		sets, release, err := l.read(ctx, []Kept{*k}, nil)
		defer release()
		if err = l.seen(err); err == nil {
			err = l.write(ctx, sets[0], Keep{Kind: Counted, Complete: true})
		}
		if err != nil {
			return false, fmt.Errorf("mend counted hour of %s: %w", h.Start.UTC().Format(time.RFC3339), err)
		}
		return true, nil
	}
	return false, nil
}

// damagedCounted are the counted hours within w that cannot be read, oldest first.
func (l *Ledger) damagedCounted(w allocation.Window) (hours []allocation.Window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.damaged {
		if key.kind == Counted && key.start >= w.Start.Unix() && key.end <= w.End.Unix() {
			hours = append(hours, allocation.Window{Start: time.Unix(key.start, 0).In(l.opts.Zone), End: time.Unix(key.end, 0).In(l.opts.Zone)})
		}
	}
	slices.SortFunc(hours, func(a, b allocation.Window) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	return hours
}
