package recorder

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// records is what the parts of a Recorder share: the history, and how far back it goes.
type records struct {
	ledger   *ledger.Ledger
	archive  *ledger.Archive // nil where nothing is kept
	clock    ledger.Clock
	logger   log.Logger
	opts     Options
	readOnly bool        // nothing is computed, see ledger.Options
	stores   bool        // computed hours and days are stored
	loaded   func() bool // see ledger.Options

	mu      sync.Mutex
	begin   time.Time // of the data of the source, zero while that is not known: it has nothing of the time before
	learned time.Time // when begin was asked for
	size    size
}

// beginFor is for how long a source is trusted that said when its data begin: older data may come later.
const beginFor = time.Hour

// size is how much is kept, as it was when it was last measured.
type size struct {
	measured    bool
	hours, days int // sets
	bytes       int64
	oldest      time.Time // when the first set began
	newest      time.Time // when the last hour ended
}

// measure finds how much is kept.
func (r *records) measure(ctx context.Context) error {
	now := size{measured: true}
	for _, kind := range [...]ledger.Kind{ledger.Hours, ledger.Days} {
		list, err := r.archive.All(ctx, kind, allocation.Window{})
		if err != nil {
			return fmt.Errorf("measure the history: %w", err)
		}
		if kind == ledger.Hours {
			now.hours = len(list)
		} else {
			now.days = len(list)
		}
		for i := range list {
			now.bytes += list[i].Bytes
			if start := list[i].Window.Start; now.oldest.IsZero() || start.Before(now.oldest) {
				now.oldest = start
			}
			if end := list[i].Window.End; kind == ledger.Hours && end.After(now.newest) {
				now.newest = end
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = now
	return nil
}

// measured is how much was kept when it was last measured.
func (r *records) measured() size {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size
}

// learnBegin finds out when the data of the history and of the source begin, if that is not known, or was found out long ago.
func (r *records) learnBegin(ctx context.Context) error {
	now := r.clock.Now()
	begin, trusted := r.beginning()
	if !r.measured().measured {
		if err := r.measure(ctx); err != nil {
			return err
		}
	}
	if trusted && !begin.IsZero() || r.readOnly {
		return nil
	}
	begin, err := r.ledger.Begin(ctx, r.horizon())
	if err != nil {
		return nil //nolint:nilerr // those who cannot do without report what the source fails in; it is asked again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin, r.learned = begin, now
	return nil
}

// forgetBegin makes the source be asked again when its data begin.
func (r *records) forgetBegin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin = time.Time{}
}

// oldestKept is when the first set begins that is kept, the end of w where there is none within w or before.
func (r *records) oldestKept(ctx context.Context, w allocation.Window) (time.Time, error) {
	if first := r.measured().oldest; !first.IsZero() && first.Before(w.Start) {
		return first, nil
	}
	kept, err := r.archive.List(ctx, ledger.Hours, w)
	if err != nil {
		return time.Time{}, fmt.Errorf("find the first hour: %w", err)
	}
	if len(kept.Sets) > 0 {
		return kept.Sets[0].Window.Start, nil
	}
	return w.End, nil
}

// isEmpty reports whether the source had nothing of a closed hour when it was last asked.
func (r *records) isEmpty(h allocation.Window) bool {
	_, empty := r.ledger.Empty(h)
	return empty
}

// early reports whether an hour is before the first data: before all stored hours, and without data of the source, by its
// declared begin or by an earlier request for the hour.
func (r *records) early(h allocation.Window, firstKept time.Time) bool {
	if !h.Start.Before(firstKept) {
		return false
	}
	begin, _ := r.beginning()
	return !h.End.After(begin) || r.isEmpty(h)
}

// heldBack reports whether the source said lately that its data begin after h. A source without data says nothing of the kind.
func (r *records) heldBack(h allocation.Window) bool {
	begin, trusted := r.beginning()
	return trusted && !h.End.After(begin) && begin.Before(r.horizon().End)
}

// beginning is when the data of the source begin, zero while that is not known, and whether that is still trusted.
func (r *records) beginning() (begin time.Time, trusted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begin, r.clock.Now().Before(r.learned.Add(beginFor))
}

// monthOf is when the month began of the hour that ends at end.
func (r *records) monthOf(end time.Time) time.Time {
	return allocation.Month.Round(allocation.Window{Start: end.Add(-time.Second), End: end}, r.clock.Zone).Start
}

// horizon is how far back closed hours are computed by the loop: Options.Backfill, and at least to the beginning of the month, which
// counters need; but not beyond what is kept.
func (r *records) horizon() allocation.Window {
	now := r.clock.Now()
	end := r.clock.ClosedAt(now)
	from := r.monthOf(end)
	if t := now.Add(-r.opts.Backfill); t.Before(from) {
		from = r.clock.Day(t).Start
	}
	if t := now.Add(-r.opts.Retention); r.opts.Retention > 0 && t.After(from) {
		from = r.clock.HourFrom(t).Start
	}
	return allocation.Window{Start: from, End: end}
}

// missingHours are the closed hours within w that are not kept, oldest first, and how many closed hours there are in all.
func (r *records) missingHours(ctx context.Context, w allocation.Window) (missing []allocation.Window, all int, err error) {
	kept, err := r.archive.List(ctx, ledger.Hours, w)
	if err != nil {
		return nil, 0, err
	}
	closed := r.clock.ClosedHours(w)
	for _, h := range closed {
		if !kept.Has(h) {
			missing = append(missing, h)
		}
	}
	return missing, len(closed), nil
}
