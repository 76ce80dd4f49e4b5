package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// maxFill is how many hours are computed at once: those of a day of the zone, so that each sample of it is read once, and
// what a computation warns of is of that day.
const maxFill = 25

// joins reports whether an hour is computed at once with those before it.
func (l *Ledger) joins(before []allocation.Window, h allocation.Window) bool {
	n := len(before)
	return n > 0 && n < maxFill && before[n-1].End.Equal(h.Start) && !l.startsDay(h.Start)
}

// startsDay reports whether a day of the zone begins at t.
func (l *Ledger) startsDay(t time.Time) bool {
	return allocation.Day.Round(allocation.Window{Start: t, End: t.Add(1)}, l.opts.Zone).Start.Equal(t)
}

// writeTimeout bounds the writing of one set.
const writeTimeout = 5 * time.Minute

// hourFlight is the computation of a closed hour that was not kept, and those who wait for it.
type hourFlight struct {
	done chan struct{} // closed when set and err are set
	set  *allocation.Set
	err  error // wraps allocation.ErrNoData where the source has nothing of the hour
}

// bytes is what the set takes in memory.
func (f *hourFlight) bytes() int64 {
	if f.set == nil {
		return 0
	}
	return allocation.SetsBytes([]*allocation.Set{f.set})
}

// barren is an hour that the source had nothing of.
type barren struct {
	tries int
	until time.Time // before, it is not asked again
	err   error
}

// barrenDelays are for how long the source is not asked again for an hour that it had nothing of.
var barrenDelays = [...]time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// maxBarren bounds what is remembered of such hours.
const maxBarren = 100_000

// fill computes hours that are not kept, and keeps them. Hours that somebody computes already are waited for. Flights end
// with work's context, not with ctx, which bounds only the waiting.
func (l *Ledger) fill(ctx, work context.Context, hours []allocation.Window) ([]*hourFlight, error) {
	flights, runs := l.takeOff(hours, nil)
	return l.flyAll(ctx, work, flights, runs)
}

// fillAsked is fill for a query, after whose end what was begun goes on, until Close. Nothing is begun where the source fails: with the
// error failed, if that is one, or as it did just now.
func (l *Ledger) fillAsked(ctx context.Context, hours []allocation.Window, failed error) ([]*hourFlight, error) {
	if failed == nil {
		failed = l.down()
	}
	flights, runs := l.takeOff(hours, failed)
	return l.flyAll(ctx, context.WithoutCancel(ctx), flights, runs)
}

// flyAll computes runs and waits for flights.
func (l *Ledger) flyAll(ctx, work context.Context, flights []*hourFlight, runs []hourRun) ([]*hourFlight, error) {
	for _, run := range runs {
		go func() {
			defer l.working.Done()
			work, done := context.WithCancel(work)
			defer done()
			defer context.AfterFunc(l.closing, done)()
			l.fillRun(work, run)
		}()
	}
	for _, f := range flights {
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("compute hours: %w", ctx.Err())
		}
	}
	return flights, nil
}

// hourRun are adjacent hours to be computed, and their flights.
type hourRun struct {
	hours   []allocation.Window
	flights []*hourFlight
}

// takeOff joins the flights of hours, and starts those that are none yet, in runs of adjacent ones; where the source has
// failed they have that error instead.
func (l *Ledger) takeOff(hours []allocation.Window, failed error) (flights []*hourFlight, runs []hourRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if failed == nil {
		failed = l.closing.Err()
	}
	for _, h := range hours {
		key := h.Start.Unix()
		f := l.filling[key]
		if b, ok := l.barren[key]; f == nil && ok && l.opts.Now().Before(b.until) {
			f = &hourFlight{done: make(chan struct{}), err: b.err}
			close(f.done)
		}
		if f == nil && failed != nil {
			f = &hourFlight{done: make(chan struct{}), err: failed}
			close(f.done)
		}
		if f == nil {
			f = &hourFlight{done: make(chan struct{})}
			l.filling[key] = f
			last := len(runs) - 1
			if last < 0 || !l.joins(runs[last].hours, h) {
				runs = append(runs, hourRun{})
				last++
			}
			runs[last].hours, runs[last].flights = append(runs[last].hours, h), append(runs[last].flights, f)
		}
		flights = append(flights, f)
	}
	l.working.Add(len(runs))
	return flights, runs
}

// fillRun computes a run; if that takes too much, one half after the other.
func (l *Ledger) fillRun(ctx context.Context, run hourRun) {
	n := len(run.hours)
	account := l.opts.Memory.Open(remedy) // those who wait may leave
	ctx = memory.With(ctx, account)
	sets, err := l.compute(ctx, allocation.Query{
		Window: allocation.Window{Start: run.hours[0].Start, End: run.hours[n-1].End}, Step: time.Hour, Resolution: l.opts.Resolution, Alone: true,
	})
	if errors.Is(err, allocation.ErrTooMuch) && n > 1 {
		account.Close()
		l.fillRun(ctx, hourRun{run.hours[:n/2], run.flights[:n/2]})
		l.fillRun(ctx, hourRun{run.hours[n/2:], run.flights[n/2:]})
		return
	}
	if err == nil && len(sets) != n {
		err = fmt.Errorf("internal error: %d sets of %d hours: report it", len(sets), n)
	}
	for i, f := range run.flights {
		if f.err = err; err == nil {
			f.set, f.err = l.keepHour(ctx, sets[i])
		}
	}
	account.Close() // before those who wait go on, and draw for themselves
	for i, f := range run.flights {
		l.landHour(run.hours[i], f)
	}
}

// landHour ends the flight of an hour.
func (l *Ledger) landHour(h allocation.Window, f *hourFlight) {
	key := h.Start.Unix()
	l.mu.Lock()
	delete(l.filling, key)
	if errors.Is(f.err, allocation.ErrNoData) {
		if len(l.barren) >= maxBarren {
			clear(l.barren)
		}
		b := l.barren[key]
		delay := barrenDelays[min(b.tries, len(barrenDelays)-1)]
		l.barren[key] = barren{b.tries + 1, l.opts.Now().Add(delay), f.err}
	} else {
		delete(l.barren, key)
	}
	l.mu.Unlock()
	close(f.done)
}

// keepHour keeps an hour that was computed. That it cannot is logged, and the hour is an answer all the same.
func (l *Ledger) keepHour(ctx context.Context, set *allocation.Set) (*allocation.Set, error) {
	if set.Empty() && !set.Apart {
		return nil, nothingOf(set)
	}
	key := setKey{Hours, set.Window.Start.Unix(), set.Window.End.Unix()}
	l.mu.Lock()
	replace := l.damaged[key]
	l.mu.Unlock()
	var err error
	if replace {
		if err = l.settle(ctx, set.Window); err != nil {
			l.wrote(err)
		}
	}
	if err == nil {
		err = l.write(ctx, set, Keep{Kind: Hours, Complete: !set.Incomplete})
	}
	if err != nil {
		return set, nil //nolint:nilerr // write has told of it, and the loop tries again
	}
	return set, nil
}

// write keeps a set, in the place of one that cannot be read.
func (l *Ledger) write(ctx context.Context, set *allocation.Set, k Keep) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	l.mu.Lock()
	k.Zone, k.Replace = l.opts.Zone, k.Replace || l.damaged[setKey{k.Kind, set.Window.Start.Unix(), set.Window.End.Unix()}]
	l.mu.Unlock()
	err := l.history.Write(ctx, set, k)
	if err == nil {
		l.mu.Lock()
		delete(l.damaged, setKey{k.Kind, set.Window.Start.Unix(), set.Window.End.Unix()})
		l.store.lastWrite = l.opts.Now()
		l.mu.Unlock()
	}
	l.wrote(err)
	return err
}

// wrote notes whether writing worked.
func (l *Ledger) wrote(err error) {
	l.turned(&l.store.writeErr, err, "Writing to the history fails, it is tried again", "Writing to the history works again")
}

// Progress says how far Fill or Recompute is.
type Progress struct {
	Hours    int // that are asked for
	Kept     int // that were kept before
	Written  int // that were computed and are kept now
	Empty    int // that the source has nothing of
	Replaced int // kept ones that were computed again
	Left     int // kept ones that stay as they were, for the source has less of them now
}

// Done is how many hours were seen to.
func (p Progress) Done() int { return p.Written + p.Empty + p.Replaced + p.Left }

// Missing are the closed hours of the zone's clock within w that are not kept, oldest first.
func (l *Ledger) Missing(ctx context.Context, w allocation.Window) ([]allocation.Window, error) {
	missing, _, err := l.missing(ctx, w)
	return missing, err
}

// missing are the closed hours within w that are not kept, and how many there are in all.
func (l *Ledger) missing(ctx context.Context, w allocation.Window) (missing []allocation.Window, all int, err error) {
	kept, err := l.usable(ctx, Hours, w, &allocation.Query{Stored: true})
	if err != nil {
		return nil, 0, err
	}
	closed := l.ClosedHours(w)
	return slices.DeleteFunc(slices.Clone(closed), func(h allocation.Window) bool { return kept.has(h) }), len(closed), nil
}

// hourAt is the hour of the zone's clock that begins at t, or the next that does; where clocks are set by half an hour,
// what is left of one.
func (l *Ledger) hourAt(t time.Time) allocation.Window {
	from := l.floor(t)
	if from.Before(t) && !l.floor(t.Add(-time.Second)).Equal(from) {
		from = t // clocks were set at t
	}
	if from.Before(t) {
		from = from.Add(time.Hour)
	}
	return allocation.Window{Start: from, End: l.floor(from).Add(time.Hour)}
}

// Fill computes the closed hours within w that are not kept, so many runs of up to a day at a time, oldest first, keeps
// them, rolls the days up, and mends what is damaged. progress, if not nil, is told after each run, by one goroutine at a time. What is kept when
// ctx ends or an error occurs stays, so that another call goes on from there; hours that the source has nothing of are no
// error. An hour that cannot be kept is one.
func (l *Ledger) Fill(ctx context.Context, w allocation.Window, parallel int, progress func(Progress)) error {
	missing, all, err := l.missing(ctx, w)
	if err != nil {
		return fmt.Errorf("fill history: %w", err)
	}
	f := &filling{ledger: l, done: Progress{Hours: all, Kept: all - len(missing)}, progress: progress}
	runs := l.splitRuns(missing)
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan []allocation.Window)
	var wg sync.WaitGroup
	for range min(max(parallel, 1), max(len(runs), 1)) {
		wg.Go(func() {
			for run := range next {
				if err := f.run(work, run); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, run := range runs {
		select {
		case next <- run:
		case <-work.Done():
		}
	}
	close(next)
	wg.Wait()
	if work.Err() != nil {
		return fmt.Errorf("fill history: %w", context.Cause(work))
	}
	for _, do := range [...]func(context.Context, allocation.Window) (bool, error){l.rollDay, l.mendCounted} {
		for more := true; more; {
			if more, err = do(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// filling is one call of Fill.
type filling struct {
	ledger   *Ledger
	progress func(Progress)

	mu   sync.Mutex
	done Progress
}

// run fills one run.
func (f *filling) run(ctx context.Context, hours []allocation.Window) error {
	ctx, _, done := f.ledger.opts.Memory.Within(ctx, remedy)
	defer done()
	flights, err := f.ledger.fill(ctx, ctx, hours)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed error
	for _, flight := range flights {
		switch {
		case flight.err == nil:
			f.done.Written++
		case errors.Is(flight.err, allocation.ErrNoData):
			f.done.Empty++
		default:
			failed = cmp.Or(failed, flight.err)
		}
	}
	if f.progress != nil {
		f.progress(f.done)
	}
	if failed == nil {
		f.ledger.mu.Lock()
		failed = f.ledger.store.writeErr
		f.ledger.mu.Unlock()
	}
	return failed
}

// splitRuns cuts hours into runs of adjacent ones that are computed at once.
func (l *Ledger) splitRuns(hours []allocation.Window) (runs [][]allocation.Window) {
	for _, h := range hours {
		last := len(runs) - 1
		if last < 0 || !l.joins(runs[last], h) {
			runs = append(runs, nil)
			last++
		}
		runs[last] = append(runs[last], h)
	}
	return runs
}
