package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Hours yields the closed hours of the zone's clock that lie within w, oldest first and one set each: those that are kept as
// they are, of which only says what is needed, the others computed at Options.Resolution and kept. Some are read ahead while
// one is looked at; few are in memory at a time.
//
// An hour that cannot be had is an error beside an empty set of its window, allocation.ErrNoData where the source has nothing
// of it (but not where there is a set in a history that is only read which is not whole), and those that follow are given all the same; but once the source has failed (allocation.ErrUpstream) it is asked for
// no more of them, nor by other readings for a while. What a source gives that has not loaded all of its history yet is
// Incomplete. An error without a set ends it: that of ctx, or of a history that
// cannot be listed (allocation.ErrUpstream). The sets must not be changed.
func (l *Ledger) Hours(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return l.eachHour(ctx, w, only, false)
}

// Counted is Hours with each hour as counters have counted it: as it was when it was counted first, and empty where the
// source had nothing then. Sums over them since a month began are those of Accrued, to the last bit.
func (l *Ledger) Counted(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return l.eachHour(ctx, w, only, true)
}

// errUnsettled is why an hour cannot be had that may have data once the source has all of its history.
var errUnsettled = fmt.Errorf("%w: the source has not loaded all of its history yet: ask again later", allocation.ErrUpstream)

// batchHours is how many kept hours are read at once, over one dictionary.
const batchHours = 12

// hourBatch is some hours as they are yielded; both are nil where there is but a fatal error.
type hourBatch struct {
	sets    []*allocation.Set
	errs    []error
	loading bool // the source had not loaded all of its history when they were asked for
	fatal   error
	release func() // gives back the memory of the sets
}

func (l *Ledger) eachHour(ctx context.Context, w allocation.Window, only *allocation.Projection, counted bool) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		ctx, _, done := l.opts.Memory.Within(ctx, remedy)
		defer done()
		work, cancel := context.WithCancel(ctx)
		ahead := make(chan hourBatch, 1)
		defer func() {
			cancel()
			for batch := range ahead { // until whoever reads ahead has ended
				batch.release()
			}
		}()
		r := &hourReader{ledger: l, only: only, counted: counted, explain: explainer{ledger: l, window: w}}
		go func() {
			defer close(ahead)
			if err := r.run(work, w, ahead); err != nil {
				ahead <- hourBatch{fatal: err, release: func() {}}
			}
		}()
		for batch := range ahead {
			batch.note()
			for i, set := range batch.sets {
				if !yield(set, batch.errs[i]) {
					batch.release()
					return
				}
			}
			batch.release()
			if batch.fatal != nil {
				yield(nil, batch.fatal)
				return
			}
		}
	}
}

// note says of hours that a source was asked for which was still loading what may be missing of them.
func (b *hourBatch) note() {
	if !b.loading {
		return
	}
	for i, set := range b.sets {
		switch {
		case errors.Is(b.errs[i], allocation.ErrNoData):
			b.errs[i] = errUnsettled
		case b.errs[i] == nil:
			own := *set // others may have it, too
			own.Incomplete = true
			b.sets[i] = &own
		}
	}
}

// hourReader reads and computes hours.
type hourReader struct {
	ledger  *Ledger
	only    *allocation.Projection
	counted bool
	failed  error // what the source failed in, after which it is not asked any more
	explain explainer
	// shelves are what may stand for an hour, the first that has it: empty where the ledger keeps nothing.
	shelves []*shelf
}

// run sends the hours within w.
func (r *hourReader) run(ctx context.Context, w allocation.Window, out chan<- hourBatch) error {
	if err := r.list(ctx, w); err != nil {
		return err
	}
	for hours := r.ledger.ClosedHours(w); len(hours) > 0; {
		n, batch := r.next(hours)
		batch.loading = !r.ledger.opts.Settled()
		if err := r.fetch(ctx, hours[:n], batch); err != nil {
			return err
		}
		select {
		case out <- *batch:
		case <-ctx.Done():
			batch.release()
			return r.ledger.ended(ctx)
		}
		hours = hours[n:]
	}
	return nil
}

// Closed is the part of w that closed hours of the zone's clock fill; where there are none, it is empty and begins at w's
// start.
func (l *Ledger) Closed(w allocation.Window) allocation.Window {
	hours := l.ClosedHours(w)
	if len(hours) == 0 {
		return allocation.Window{Start: w.Start, End: w.Start}
	}
	return allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End}
}

// ClosedHours are the hours of the zone's clock within w that are closed. Where clocks are set by half an hour, what is
// left of one is none.
func (l *Ledger) ClosedHours(w allocation.Window) (hours []allocation.Window) {
	if closed := l.floor(l.opts.Now().Add(-l.opts.Grace)); w.End.After(closed) {
		w.End = closed
	}
	for h := l.hourAt(w.Start); !h.End.After(w.End); h = l.hourAt(h.End) {
		if h.Duration() == time.Hour && !h.Start.Before(w.Start) {
			hours = append(hours, h)
		}
	}
	return hours
}

// list finds what is kept within w.
func (r *hourReader) list(ctx context.Context, w allocation.Window) error {
	if !r.ledger.keeps() || !w.Start.Before(w.End) {
		return nil
	}
	order := []Kind{Hours}
	if r.counted {
		order = []Kind{Counted, Hours}
	}
	r.shelves = nil
	for _, kind := range order {
		s, err := r.ledger.usable(ctx, kind, w, &allocation.Query{Stored: true})
		if err != nil {
			if ctx.Err() == nil { // else whoever asked waits no longer: the history may be well
				r.ledger.sawHistory(err)
			}
			return fmt.Errorf("%w: list the hours of the history: %w", allocation.ErrUpstream, err)
		}
		r.shelves = append(r.shelves, s)
	}
	return nil
}

// stands is the set that stands for an hour: kept, or empty, where it lies in a stretch of which nothing was counted; nil
// for none.
func (r *hourReader) stands(h allocation.Window) (kept *Kept, empty bool) {
	for i, s := range r.shelves {
		if k := s.at(h.Start, h); k != nil && k.Window.Duration() == time.Hour {
			return k, false
		}
		if r.counted && i == 0 && s.covers(h) {
			return nil, true
		}
	}
	return nil, false
}

// covers reports whether h lies in a longer set.
func (s *shelf) covers(h allocation.Window) bool {
	i, found := slices.BinarySearchFunc(s.sets, h.Start, func(k Kept, t time.Time) int { return k.Window.Start.Compare(t) })
	if !found {
		i--
	}
	for ; i >= 0 && i < len(s.sets) && !s.sets[i].Window.Start.After(h.Start); i++ {
		if k := &s.sets[i]; !k.Window.End.Before(h.End) && k.Window.Duration() > time.Hour {
			return true
		}
	}
	return false
}

// next is how many of hours are had at once, and the batch for them, with what needs no reading in it.
func (r *hourReader) next(hours []allocation.Window) (n int, batch *hourBatch) {
	kind := func(h allocation.Window) int {
		kept, empty := r.stands(h)
		switch {
		case kept != nil:
			return 0
		case empty:
			return 1
		}
		return 2
	}
	first := kind(hours[0])
	most := [...]int{batchHours, batchHours, maxFill}[first]
	for n = 1; n < min(len(hours), most) && kind(hours[n]) == first && (first < 2 || r.ledger.joins(hours[:n], hours[n])); {
		n++
	}
	return n, &hourBatch{sets: make([]*allocation.Set, n), errs: make([]error, n), release: func() {}}
}

// fetch fills a batch. What is damaged or has gone meanwhile is looked for again, and computed if it is not there.
func (r *hourReader) fetch(ctx context.Context, hours []allocation.Window, batch *hourBatch) error {
	for try := 0; ; try++ {
		err := r.fetchOnce(ctx, hours, batch)
		var damaged *DamagedError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return r.ledger.ended(ctx)
		case errors.Is(err, allocation.ErrTooMuch), errors.Is(err, allocation.ErrBusy): // there is no memory for it
			return err
		case try >= maxDamaged:
		case errors.As(err, &damaged):
			r.ledger.noteDamage(damaged)
			if err = r.list(ctx, allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End}); err == nil {
				continue
			}
		case errors.Is(err, fs.ErrNotExist):
			if err = r.list(ctx, allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End}); err == nil {
				continue
			}
		}
		for i, h := range hours {
			if batch.sets[i] == nil {
				batch.fail(i, h, err)
			}
		}
		return nil
	}
}

// fail makes an hour of a batch one that cannot be had.
func (b *hourBatch) fail(i int, h allocation.Window, err error) {
	b.sets[i], b.errs[i] = allocation.NewSet(h, allocation.NewDict()), err
}

// fetchOnce fills a batch as the shelves have it by now.
func (r *hourReader) fetchOnce(ctx context.Context, hours []allocation.Window, batch *hourBatch) error {
	var kept []Kept
	var at, missing []int
	for i, h := range hours {
		switch k, empty := r.stands(h); {
		case k != nil:
			kept, at = append(kept, *k), append(at, i)
		case empty:
			batch.sets[i], batch.errs[i] = allocation.NewSet(h, allocation.NewDict()), nil
		default:
			missing = append(missing, i)
		}
	}
	sets, release, err := r.read(ctx, kept)
	if err != nil {
		return err
	}
	before := batch.release
	batch.release = func() {
		before()
		release()
	}
	for i, s := range sets {
		batch.sets[at[i]], batch.errs[at[i]] = s, nil
	}
	if len(missing) == 0 {
		return nil
	}
	return r.compute(ctx, hours, missing, batch)
}

// read reads kept hours, when those who read already leave room.
func (r *hourReader) read(ctx context.Context, kept []Kept) (sets []*allocation.Set, release func(), err error) {
	if len(kept) == 0 {
		return nil, func() {}, nil
	}
	leave, err := r.ledger.acquireRead(ctx, time.Duration(len(kept))*time.Hour)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	return r.ledger.read(ctx, kept, r.only)
}

// compute computes the hours of a batch that are missing.
func (r *hourReader) compute(ctx context.Context, hours []allocation.Window, missing []int, batch *hourBatch) error {
	run := make([]allocation.Window, len(missing))
	for i, m := range missing {
		run[i] = hours[m]
	}
	if !r.ledger.keeps() {
		for i, f := range r.ledger.computeHours(ctx, run, r.failed) {
			r.note(f.err)
			if batch.sets[missing[i]], batch.errs[missing[i]] = f.set, nil; f.err != nil {
				batch.fail(missing[i], run[i], f.err)
			}
		}
		return ctx.Err()
	}
	flights, err := r.ledger.fillAsked(ctx, run, r.failed)
	if err != nil {
		return err
	}
	sets := r.ledger.asKept(ctx, run, flights, r.only)
	for i, f := range flights {
		r.note(f.err)
		err := f.err
		if errors.Is(err, allocation.ErrNoData) {
			if why := r.explain.why(ctx, run[i]); why != "" { // it is there: that is not to be taken for nothing
				err = fmt.Errorf("the history is only read here, and %s", why)
			}
		}
		if batch.sets[missing[i]], batch.errs[missing[i]] = sets[i], nil; err != nil {
			batch.fail(missing[i], run[i], err)
		}
	}
	return ctx.Err()
}

// note makes that the source is not asked for further hours once it has failed.
func (r *hourReader) note(err error) {
	if r.failed == nil && errors.Is(err, allocation.ErrUpstream) {
		r.failed = err
	}
}

// asKept are the sets of hours that were computed just now, as the history has them: rows in its order, so that sums over
// them are the same to the last bit whenever they are made. What it does not have is as it was computed.
func (l *Ledger) asKept(ctx context.Context, hours []allocation.Window, flights []*hourFlight, only *allocation.Projection) []*allocation.Set {
	sets := make([]*allocation.Set, len(flights))
	for i, f := range flights {
		sets[i] = f.set
	}
	shelf, err := l.usable(ctx, Hours, allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End}, &allocation.Query{Stored: true})
	if err != nil {
		return sets // what fails in the history is told of by those who cannot do without
	}
	var kept []Kept
	var at []int
	for i, h := range hours {
		if k := shelf.at(h.Start, h); sets[i] != nil && k != nil && k.Window.End.Equal(h.End) {
			kept, at = append(kept, *k), append(at, i)
		}
	}
	read, _, err := l.read(ctx, kept, only)
	if err != nil {
		return sets
	}
	for i, s := range read {
		own := *s
		own.Reading = sets[at[i]].Reading // which is not kept
		sets[at[i]] = &own
	}
	return sets
}

// computedHour is an hour that was computed, but is not kept.
type computedHour struct {
	set *allocation.Set
	err error
}

// computeHours computes adjacent hours where nothing is kept. The answers are remembered for a while, as those of the
// history are: rules and dashboards ask for the last hours again and again. Others are not computed where the source fails: with
// the error failed, if that is one, or as it did just now.
func (l *Ledger) computeHours(ctx context.Context, hours []allocation.Window, failed error) []computedHour {
	out := make([]computedHour, len(hours))
	for i, h := range hours {
		out[i].set = l.remembered(h)
	}
	if failed == nil {
		failed = l.down()
	}
	for i := 0; i < len(hours); {
		n := 0
		for i+n < len(hours) && out[i+n].set == nil && (n == 0 || hours[i+n].Start.Equal(hours[i+n-1].End)) {
			n++
		}
		switch {
		case n > 0 && failed != nil:
			for k := range n {
				out[i+k].err = failed
			}
		case n > 0:
			l.computeRun(ctx, hours[i:i+n], out[i:i+n])
		}
		i += max(n, 1)
	}
	return out
}

// computeRun computes adjacent hours; if that takes too much, one half after the other.
func (l *Ledger) computeRun(ctx context.Context, hours []allocation.Window, out []computedHour) {
	n := len(hours)
	sets, err := l.compute(ctx, allocation.Query{
		Window: allocation.Window{Start: hours[0].Start, End: hours[n-1].End}, Step: time.Hour, Resolution: l.opts.Resolution, Alone: true,
	})
	if errors.Is(err, allocation.ErrTooMuch) && n > 1 {
		l.computeRun(ctx, hours[:n/2], out[:n/2])
		l.computeRun(ctx, hours[n/2:], out[n/2:])
		return
	}
	if err == nil && len(sets) != n {
		err = fmt.Errorf("internal error: %d sets of %d hours: report it", len(sets), n)
	}
	for i := range out {
		switch {
		case err != nil:
			out[i].err = err
		case sets[i].Empty() && !sets[i].Apart:
			out[i].err = nothingOf(sets[i])
		default:
			out[i].set = sets[i]
			l.remember(sets[i])
		}
	}
}

// hourKey is what a remembered hour is found by. mu is held.
func (l *Ledger) hourKey(h allocation.Window) string {
	return fmt.Sprint("hour ", h.Start.Unix(), " ", l.generation)
}

// remembered is an hour that was computed before, nil for none.
func (l *Ledger) remembered(h allocation.Window) *allocation.Set {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.hour.set; s != nil && s.Window.Start.Equal(h.Start) && s.Window.End.Equal(h.End) {
		return s
	}
	if sets := l.cache.get(l.hourKey(h), nil, l.opts.Now()); len(sets) == 1 {
		return sets[0]
	}
	return nil
}

// remember keeps an hour in memory for a while.
func (l *Ledger) remember(s *allocation.Set) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache.put(cached{query: l.hourKey(s.Window), sets: []*allocation.Set{s}, bytes: int64(s.Len()+len(s.Nodes)) * allocation.RowBytes, asked: l.opts.Now()}, l.cacheBytes())
}
