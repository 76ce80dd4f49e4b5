package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
)

// defineHistoryVerify is the subcommand that reads all files.
func defineHistoryVerify(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := addHistoryFlags(clause, allPeriods, "hourly", "daily", "counted")
	return func(ctx context.Context) error {
		store, done, err := f.open(io, logs, true)
		if err != nil {
			return err
		}
		return errors.Join(f.verify(ctx, store, io), done())
	}
}

// verify reads every file of the sets and checks what they say. What is damaged is told, and an error in the end.
func (f *historyFlags) verify(ctx context.Context, store *history.Store, io streams) error {
	sets, damaged, err := f.list(ctx, store)
	if err != nil {
		return err
	}
	files, bytes := 0, int64(0)
	for i := range sets {
		err := store.Verify(ctx, &sets[i])
		if corrupt, ok := errors.AsType[*history.CorruptError](err); ok {
			damaged = append(damaged, corrupt)
			continue
		}
		if err != nil {
			return fmt.Errorf("verify history: %w", err)
		}
		files, bytes = files+len(sets[i].Files()), bytes+sets[i].Bytes
	}
	if err := tellDamage(io, damaged); err != nil {
		return err
	}
	if lacks := lackingParts(sets); lacks != "" {
		if err := writeLine(io.err, lacks); err != nil {
			return err
		}
	}
	lines := append([]string{fmt.Sprintf("%d sets in %d files of %d bytes are sound", len(sets), files, bytes)}, olderRules(sets)...)
	return writeLine(io.out, strings.Join(lines, "\n"))
}

// olderRules says which hours and days were computed by older rules than the current ones, a line for each stretch of them. Hours as
// counters have counted them stay as they were.
func olderRules(sets []history.Stored) (lines []string) {
	for len(sets) > 0 {
		first, n, end := &sets[0], 1, sets[0].Window.End
		for n < len(sets) && sets[n].Period == first.Period && sets[n].Rules == first.Rules && sets[n].Window.Start.Equal(end) {
			end = sets[n].Window.End
			n++
		}
		if first.Rules < allocation.RulesVersion && first.Period != history.Counted {
			lines = append(lines, fmt.Sprintf("%d %s sets were computed by older rules (version %d, the current one is %d): %s", n, first.Period, first.Rules, allocation.RulesVersion,
				recomputing(allocation.Window{Start: first.Window.Start, End: end})))
		}
		sets = sets[n:]
	}
	return lines
}

// recomputing is the command that computes a window again, in a sentence.
func recomputing(w allocation.Window) string {
	return fmt.Sprintf("promcost backfill --recompute --from=%s --to=%s computes them again", w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339))
}
