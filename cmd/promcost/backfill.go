package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log/level"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/allocation/windows"
)

// backfillFlags say which hours to compute, and where to store them.
type backfillFlags struct {
	source   *sourceFlags
	cost     *costFlags
	storage  *storageFlags
	hours    *resolutionFlags
	from, to string
	stored   *storedHours
	parallel int
	dryRun   bool
	priced   bool // prices are among what serve exposes
	again    bool // hours that are there are computed again
}

func defineBackfill(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &backfillFlags{source: addSourceFlags(clause), cost: addCostFlags(clause), storage: addStoragePlaceFlags(clause), hours: addResolutionFlags(clause), stored: addStoredHoursFlags(clause)}
	addShardFlag(clause, f.storage)
	clause.Flag("from", "Where to begin: a date or RFC 3339 time, or a duration before now such as 30d, whose first day is done whole.").Required().StringVar(&f.from)
	clause.Flag("to", "Where to end: a date or RFC 3339 time. The default is now.").PlaceHolder("TIME").StringVar(&f.to)
	countOf(clause, "parallel", "Days that are computed at a time.", &f.parallel, 1).Default("2")
	addPricedFlag(clause, &f.priced)
	clause.Flag("recompute", "Also compute hours again that are there, and put them in their place where the source still has all of them. Counters stay as they were.").BoolVar(&f.again)
	clause.Flag("dry-run", "Compute a few of the hours, keep none, and say what all of them would take.").BoolVar(&f.dryRun)
	return func(ctx context.Context) error { return backfill(ctx, f, io, logs) }
}

// backfill computes the hours of a window that the history lacks.
func backfill(ctx context.Context, f *backfillFlags, io streams, logs *logFlags) error {
	svc, store, err := f.open(io.err, logs)
	if err != nil {
		return err
	}
	now, err := svc.computer.source.now(f.stored.grace)
	if err != nil {
		return errors.Join(err, svc.Close())
	}
	w, err := f.window(now, svc.settings().Zone)
	if err == nil {
		b := &backfilling{service: svc, store: store, flags: f, window: w, io: io, begun: time.Now()}
		if f.dryRun {
			err = b.estimate(ctx)
		} else {
			err = b.run(ctx)
		}
	}
	return errors.Join(err, svc.Close())
}

// open is a service over the source that keeps its hours in the history.
func (f *backfillFlags) open(w io.Writer, logs *logFlags) (*service, *history.Store, error) {
	l, err := newLoggers(w, logs)
	if err != nil {
		return nil, nil, err
	}
	if f.source.kind == sourceNone {
		return nil, nil, usageErrorf("--source=none has nothing to compute hours from: give --prometheus.url=http://HOST:9090, or --source=blocks --tsdb.path=DIR")
	}
	if err := errors.Join(f.source.validate(f.cost), f.hours.validate(f.source)); err != nil {
		return nil, nil, err
	}
	src, err := f.source.open()
	if err != nil {
		return nil, nil, err
	}
	f.source.announce(src, l.kit)
	k, err := f.store(l)
	if err != nil {
		return nil, nil, errors.Join(err, src.Close())
	}
	f.cost.concurrency = f.parallel
	svc, err := newService(src, f.cost, l, serviceOptions{
		now: time.Now, ledgerNow: src.clock(f.stored.grace), stored: *f.stored, shard: f.storage.shard, priced: f.priced, resolution: f.hours, keep: func() (keeping, error) { return k, nil },
		prices: &priceSourceFlags{}, // those that serve keeps there
	})
	if err != nil {
		return nil, nil, errors.Join(err, src.Close(), k.closer.Close())
	}
	return svc, k.store, nil
}

// store opens the history. A dry run makes no directory: a missing one is an empty history.
func (f *backfillFlags) store(l loggers) (keeping, error) {
	if f.dryRun && f.storage.config == "" {
		if _, err := os.Stat(f.storage.path); errors.Is(err, os.ErrNotExist) {
			bucket := objstore.NewInMemBucket()
			store := history.New(history.NewBucket(bucket, history.BucketOptions{}), history.Options{})
			return keeping{store: store, closer: bucket, flags: *f.storage}, nil
		}
	}
	if f.storage.path == "" && f.storage.config == "" {
		return keeping{}, usageErrorf("--storage.path is empty: give a directory for the history, or --storage.config")
	}
	return f.storage.open(l.kit, f.dryRun)
}

// window is the time that the flags name.
func (f *backfillFlags) window(now time.Time, zone *time.Location) (allocation.Window, error) {
	text, to := f.from, f.to
	if to == "" {
		to = now.UTC().Format(time.RFC3339)
	}
	_, noDuration := windows.ParseDuration(f.from)
	switch {
	case noDuration != nil:
		text = f.from + "," + to
	case f.to != "":
		return allocation.Window{}, usageErrorf("parse --from=%q: a duration ends now, but --to=%q is given: give both as dates such as 2026-03-01", f.from, f.to)
	}
	w, relative, err := windows.Parse(text, now, zone, windows.Exact)
	if err != nil {
		return w, usageErrorf("parse --from and --to: %w", err)
	}
	if relative {
		w.Start = allocation.Day.Round(allocation.Window{Start: w.Start, End: w.Start.Add(1)}, zone).Start
	}
	return w, nil
}

// backfilling is a backfill on its way.
type backfilling struct {
	*service
	store  *history.Store
	flags  *backfillFlags
	window allocation.Window
	io     streams
	begun  time.Time

	mu   sync.Mutex
	done recorder.Progress
}

// distrust reads the files of the sets that are there, so that those are computed again that are damaged. It counts the hours
// that are sound.
func (b *backfilling) distrust(ctx context.Context) (sound int, err error) {
	for _, kind := range [...]ledger.Kind{ledger.Hours, ledger.Days, ledger.Counted} {
		there, err := b.store.List(ctx, historyPeriods[kind], b.window)
		if err != nil {
			return 0, fmt.Errorf("look into the history: %w", err)
		}
		for i := range there.Sets {
			s := &there.Sets[i]
			_, err := b.store.Verify(ctx, s)
			corrupt, damaged := errors.AsType[*history.CorruptError](err)
			switch {
			case damaged:
				b.ledger.Archive().Distrust(&ledger.DamagedError{Kind: kind, Window: s.Window, Err: corrupt})
			case err != nil:
				return 0, fmt.Errorf("look into the history: %w", err)
			case kind == ledger.Hours && within(s.Window, b.window):
				sound++
			}
		}
		for _, c := range there.Corrupt {
			if kind == ledger.Counted { // other damaged sets count as missing
				b.ledger.Archive().Distrust(&ledger.DamagedError{Kind: kind, Window: c.Window, Err: c})
			}
		}
	}
	return sound, nil
}

// run computes and stores what is missing or damaged, and reports its progress. What was stored stays, however it ends.
func (b *backfilling) run(ctx context.Context) error {
	sound, err := b.distrust(ctx)
	if err != nil {
		return err
	}
	hours, err := b.hours(ctx)
	if err != nil {
		return err
	}
	watched := isWatched(b.io.err)
	stop := showBar(b.io.err, func() (done, all int, text string) {
		p := b.progress()
		return p.Done(), len(hours), b.pace(p, len(hours))
	})
	err = b.fill(ctx, func(p recorder.Progress) {
		if !watched {
			level.Info(b.logs.kit).Log("msg", "Backfilling", "progress", b.pace(p, len(hours)))
		}
	})
	stop()
	p := b.progress()
	if err != nil {
		return b.ended(ctx, err, len(hours), p)
	}
	replaced := ""
	if b.flags.again {
		replaced = counted(p.Replaced, " of which {n} {was|were} computed again and replaced and {}, for the source has less of them now,", counted(p.Left, "{n} {stays as it was|stay as they were}"))
	}
	_, err = fmt.Fprintf(b.io.out, "%s\n%s, %s,%s %d without data in the source; %s\n",
		b.describe(), counted(p.Written, "{n} {hour|hours} computed and kept"), counted(sound, "{n} {was|were} there"), replaced, p.Empty, b.status())
	return err
}

// hours are the hours to compute.
func (b *backfilling) hours(ctx context.Context) ([]allocation.Window, error) {
	if b.flags.again {
		return b.ledger.Clock().ClosedHours(b.window), nil
	}
	missing, err := b.recorder.Missing(ctx, b.window)
	if err != nil {
		return nil, fmt.Errorf("look into the history: %w", err)
	}
	return missing, nil
}

// ended is the error of a run that did not come to its end.
func (b *backfilling) ended(ctx context.Context, err error, hours int, p recorder.Progress) error {
	done := fmt.Sprintf("%d of %d hours are computed again: run it again for those that are not", p.Replaced, hours)
	if !b.flags.again {
		written := p.Written
		if left, err := b.recorder.Missing(context.WithoutCancel(ctx), b.window); err == nil { // also when the backfill was interrupted
			written = hours - len(left)
		}
		done = fmt.Sprintf("%d of %d missing hours are kept: run it again to go on from there", written, hours)
	}
	if ctx.Err() != nil {
		return &interruptedError{done} // not the context's error, which would pass for an end as asked
	}
	return fmt.Errorf("%w: %s", err, done)
}

// interruptedError says what is kept of the work of a command that its user ended.
type interruptedError struct{ kept string }

// Error implements error.
func (e *interruptedError) Error() string { return "interrupted: " + e.kept }

// fill fills the days of the window, several at a time, oldest first, and reports its progress after each. The first error ends
// it.
func (b *backfilling) fill(ctx context.Context, progress func(recorder.Progress)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	next := make(chan allocation.Window)
	for range b.flags.parallel {
		wg.Go(func() {
			for day := range next {
				if err := b.fillDay(ctx, day, progress); err != nil {
					cancel(err)
				}
			}
		})
	}
	zone := b.settings().Zone
	for from := b.window.Start; from.Before(b.window.End) && ctx.Err() == nil; {
		until := allocation.Day.Round(allocation.Window{Start: from, End: from.Add(1)}, zone).End
		if until.After(b.window.End) {
			until = b.window.End
		}
		select {
		case next <- allocation.Window{Start: from, End: until}:
		case <-ctx.Done():
		}
		from = until
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// fillDay fills a day. If asked to, it computes stored hours again.
func (b *backfilling) fillDay(ctx context.Context, day allocation.Window, progress func(recorder.Progress)) error {
	var again, filled recorder.Progress
	if b.flags.again {
		if err := b.recorder.Recompute(ctx, day, func(p recorder.Progress) { b.add(p, &again, progress) }); err != nil {
			return err
		}
	}
	return b.recorder.Fill(ctx, day, 1, func(p recorder.Progress) { b.add(p, &filled, progress) })
}

// add adds the progress of a day since last.
func (b *backfilling) add(p recorder.Progress, last *recorder.Progress, report func(recorder.Progress)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done.Written += p.Written - last.Written
	b.done.Empty += p.Empty - last.Empty
	b.done.Replaced += p.Replaced - last.Replaced
	b.done.Left += p.Left - last.Left
	*last = p
	report(b.done)
}

// describe is the window in words, and what of it is left out.
func (b *backfilling) describe() string {
	lines := []string{windowText(b.window)}
	closed := b.ledger.Clock().Closed(b.window)
	for _, w := range [...]allocation.Window{{Start: b.window.Start, End: closed.Start}, {Start: closed.End, End: b.window.End}} {
		if w.Start.Before(w.End) {
			lines = append(lines, fmt.Sprintf("left out: %s: only whole hours are kept that ended at least %s ago", windowText(w), b.flags.stored.grace))
		}
	}
	return strings.Join(lines, "\n")
}

// windowText is a window in words.
func windowText(w allocation.Window) string {
	return w.Start.Format(time.RFC3339) + " to " + w.End.Format(time.RFC3339)
}

func (b *backfilling) progress() recorder.Progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// pace says how much of all is done, how fast that goes and when it will end.
func (b *backfilling) pace(p recorder.Progress, all int) string {
	return paceLine(p.Done(), all, time.Since(b.begun)) + ", " + b.status()
}

// paceLine says how fast hours are done, and how long the others will take at that.
func paceLine(done, all int, elapsed time.Duration) string {
	line := counted(all, "{} of {n} {hour|hours}", done)
	if done == 0 || elapsed <= 0 {
		return line
	}
	rate := float64(done) / elapsed.Seconds()
	left := time.Duration(float64(all-done) / rate * float64(time.Second))
	return line + fmt.Sprintf(", %s left, %.1f hours/s", left.Round(time.Second), rate)
}

// hoursAtOnce is how many hours a computation of a backfill has.
const hoursAtOnce = 24

// estimate computes some of the hours and says what all of them would take.
func (b *backfilling) estimate(ctx context.Context) error {
	if _, err := b.distrust(ctx); err != nil {
		return err
	}
	hours, err := b.hours(ctx)
	if err != nil {
		return err
	}
	if len(hours) == 0 {
		_, err := fmt.Fprintf(b.io.out, "%s\nnothing to do: all of its closed hours are there\n", b.describe())
		return err
	}
	stop := showProgress(b.io.err, b.status)
	probes, requests, samples, took := 0, int64(0), int64(0), time.Duration(0)
	for _, i := range [...]int{0, len(hours) / 2, len(hours) - 1} {
		sets, err := b.computer.Compute(ctx, allocation.Query{Window: hours[i]})
		if err != nil && !errors.Is(err, allocation.ErrNoData) {
			stop()
			return fmt.Errorf("compute the hour of %s to see what it takes: %w", hours[i].Start.UTC().Format(time.RFC3339), err)
		}
		probes++
		if err != nil {
			continue // it costs a request or two
		}
		r := sets[0].Reading
		took += r.Total
		for k := range r.Sources {
			requests, samples = requests+r.Sources[k].Requests, samples+r.Sources[k].Samples
		}
	}
	stop()
	n := len(hours)
	runs := (n + hoursAtOnce - 1) / hoursAtOnce
	seconds := took.Seconds() / float64(probes) * float64(n) / float64(b.flags.parallel)
	_, err = fmt.Fprintf(b.io.out, `%s
%d hours to compute, up to %d at a time
about %d requests or blocks to open, %.1f million samples, %s, going by %d of the hours
nothing was kept, for this is a dry run
`, b.describe(), n, hoursAtOnce, requests*int64(runs)/int64(probes), float64(samples)/float64(probes)*float64(n)/1e6,
		time.Duration(seconds*float64(time.Second)).Round(time.Second), probes)
	return err
}
