package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
)

// verifyFlags say which sets are checked, and the source that their prices are compared with.
type verifyFlags struct {
	*historyFlags
	source *sourceFlags
	cost   *costFlags
	priced bool
}

// defineHistoryVerify is the subcommand that reads all files.
func defineHistoryVerify(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &verifyFlags{historyFlags: addSetFlags(clause, allPeriods, "hourly", "daily", "counted"), source: addSourceFlags(clause), cost: addCostFlags(clause)}
	addPricedFlag(clause, &f.priced)
	return func(ctx context.Context) error {
		f.zone = f.cost.Zone
		priced := f.source.given()
		if priced {
			if err := f.source.validate(f.cost); err != nil {
				return err
			}
		}
		store, done, err := f.open(io, logs, true)
		if err != nil {
			return err
		}
		err = f.verify(ctx, store, io)
		if err == nil && priced {
			err = f.verifyPrices(ctx, store, io, logs)
		} else if err == nil {
			err = writeLine(io.out, "give --prometheus.url or --tsdb.path to see which hours lack prices that the source has")
		}
		return errors.Join(err, done())
	}
}

// addPricedFlag adds the flag that says what serve exposes.
func addPricedFlag(g flagGroup, priced *bool) {
	g.Flag("collector.opencost", "Say that the promcost which serves the history exposes prices by the names of OpenCost, as its flag of that name does.").BoolVar(priced)
}

// verify reads every file of the sets and checks it. It prints each damage, and fails in the end if there was one.
func (f *verifyFlags) verify(ctx context.Context, store *history.Store, io streams) error {
	sets, damaged, err := f.list(ctx, store)
	if err != nil {
		return err
	}
	files, bytes := 0, int64(0)
	for i := range sets {
		read, err := store.Verify(ctx, &sets[i])
		if corrupt, ok := errors.AsType[*history.CorruptError](err); ok {
			damaged = append(damaged, corrupt)
			continue
		}
		if err != nil {
			return fmt.Errorf("verify history: %w", err)
		}
		files, bytes = files+read, bytes+sets[i].Bytes
	}
	bills := ""
	if f.period == allPeriods {
		of, text, err := f.verifyBills(ctx, store)
		if err != nil {
			return err
		}
		damaged, bills = append(damaged, of...), text
	}
	if err := printDamaged(io, damaged); err != nil {
		return err
	}
	if lacks := lackingShards(sets); lacks != "" {
		if err := writeLine(io.err, lacks); err != nil {
			return err
		}
	}
	if err := printMisplaced(ctx, store, io); err != nil {
		return err
	}
	lines := append([]string{counted(len(sets), "{n} {set|sets} in {} of {} bytes {is|are} sound", counted(files, "{n} {file|files}"), bytes)}, olderRules(sets, f.priced)...)
	if bills != "" {
		lines = append(lines, bills)
	}
	return writeLine(io.out, strings.Join(lines, "\n"))
}

// maxUnreferenced is how many files are named that belong to no set.
const maxUnreferenced = 10

// printMisplaced prints files that belong to no set.
func printMisplaced(ctx context.Context, store *history.Store, io streams) error {
	unreferenced, err := store.Unreferenced(ctx)
	if err != nil || len(unreferenced) == 0 {
		return err
	}
	more := ""
	if len(unreferenced) > maxUnreferenced {
		more = ", …"
	}
	return writeLine(io.err, counted(len(unreferenced), "warning: {n} {file belongs|files belong} to no set, and promcost does not read {it|them}, but others do that read all Parquet files: {}{}; remove {it unless it is|them unless they are} new: a promcost may be writing",
		strings.Join(unreferenced[:min(len(unreferenced), maxUnreferenced)], ", "), more))
}

// olderRules says which hours and days were computed by older rules than the current ones, a line for each stretch of them. Hours as
// counters have counted them stay as they were.
func olderRules(sets []history.Stored, priced bool) (lines []string) {
	for len(sets) > 0 {
		first, n, end := &sets[0], 1, sets[0].Window.End
		for n < len(sets) && sets[n].Period == first.Period && sets[n].Rules == first.Rules && sets[n].Window.Start.Equal(end) {
			end = sets[n].Window.End
			n++
		}
		if first.Rules < allocation.RulesVersion && first.Period != history.Counted {
			lines = append(lines, counted(n, "{n} {} {set was|sets were} computed by older rules (version {}, the current one is {}): {}", first.Period, first.Rules, allocation.RulesVersion,
				recomputing(allocation.Window{Start: first.Window.Start, End: end}, priced)))
		}
		sets = sets[n:]
	}
	return lines
}

// recomputing is the command that computes a window again, in a sentence. priced says that a promcost exposes prices by OpenCost's names.
func recomputing(w allocation.Window, priced bool) string {
	more := ""
	if priced {
		more = " --collector.opencost"
	}
	return fmt.Sprintf("promcost backfill --recompute%s --from=%s --to=%s computes them again", more, w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339))
}

// verifyPrices finds hours with prices of a sheet or defaults although the source has prices. It fails if there are any.
func (f *verifyFlags) verifyPrices(ctx context.Context, store *history.Store, io streams, logs *logFlags) error {
	svc, err := f.service(store, io, logs)
	if err != nil {
		return err
	}
	hours, err := f.unpriced(ctx, svc, store)
	if err == nil && len(hours) > 0 {
		err = errors.New(counted(len(hours), "{n} {hour has|hours have} prices of the sheet or defaults although the source has prices"))
		for len(hours) > 0 {
			first, n := hours[0], 1
			for n < len(hours) && hours[n].window.Start.Equal(hours[n-1].window.End) && hours[n].what == first.what {
				n++
			}
			w := allocation.Window{Start: first.window.Start, End: hours[n-1].window.End}
			hours = hours[n:]
			if werr := writeLine(io.err, fmt.Sprintf("%s: prices of the sheet or defaults, although the source has %s: %s", windowText(w), first.what, recomputing(w, f.priced))); werr != nil {
				return werr
			}
		}
	}
	return errors.Join(err, svc.Close())
}

// service is what reads the source.
func (f *verifyFlags) service(store *history.Store, io streams, logs *logFlags) (*service, error) {
	l, err := newLoggers(io.err, logs)
	if err != nil {
		return nil, err
	}
	src, err := f.source.open()
	if err != nil {
		return nil, err
	}
	k := keeping{store: store, readOnly: true, flags: *f.storage, closer: closerFunc(func() error { return nil })}
	svc, err := newService(src, f.cost, l, serviceOptions{
		now: time.Now, ledgerNow: src.clock(ledger.DefaultGrace), stored: storedHours{grace: ledger.DefaultGrace}, priced: f.priced, keep: func() (keeping, error) { return k, nil },
	})
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return svc, nil
}

// unpricedHour is an hour and what of its prices the source has.
type unpricedHour struct {
	window allocation.Window
	what   string
}

// unpriced are the stored hours that lack prices, oldest first.
func (f *verifyFlags) unpriced(ctx context.Context, svc *service, store *history.Store) (found []unpricedHour, err error) {
	w, err := f.parseWindow()
	if err != nil {
		return nil, err
	}
	listing, err := store.List(ctx, history.Hourly, w)
	if err != nil {
		return nil, err
	}
	engine, err := svc.computer.ready(ctx)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(listing.Sets, func(s history.Stored) bool { return !within(s.Window, w) })
	for len(list) > 0 {
		n := 1
		for n < min(hoursAtOnce, len(list)) && list[n].Window.Start.Equal(list[n-1].Window.End) {
			n++
		}
		sets, err := store.Read(ctx, list[:n], &allocation.Projection{})
		if err != nil {
			return nil, err
		}
		windows := make([]allocation.Window, n)
		for i := range windows {
			windows[i] = list[i].Window
		}
		prices, err := engine.Prices(ctx, windows)
		if err != nil {
			return nil, fmt.Errorf("compare prices with the source: %w", err)
		}
		for i := range prices {
			if missed := prices[i].Missed(sets[i]); len(missed) > 0 {
				found = append(found, unpricedHour{windows[i], missedText(missed)})
			}
		}
		list = list[n:]
	}
	return found, nil
}

// missedText is how many things lack the prices of each metric.
func missedText(missed map[string]int) string {
	texts := make([]string, 0, len(missed))
	for _, metric := range slices.Sorted(maps.Keys(missed)) {
		texts = append(texts, fmt.Sprintf("%d of %s", missed[metric], metric))
	}
	return strings.Join(texts, ", ")
}
