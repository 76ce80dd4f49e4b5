package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/windows"
)

// allPeriods is the word for every period of a history.
const allPeriods = "all"

// historyFlags say which sets of a history.
type historyFlags struct {
	storage *storageFlags
	window  string
	period  string
	zone    *time.Location
	// zoneGiven says that the zone is asked for, and not the default.
	zoneGiven bool
}

// addHistoryFlags adds the flags that select sets; the first of periods is the default.
func addHistoryFlags(clause *kingpin.CmdClause, periods ...string) *historyFlags {
	f := addSetFlags(clause, periods...)
	zoneOf(clause, "timezone", "Time zone of dates in --window: an IANA name or an offset.", &f.zone).IsSetByUser(&f.zoneGiven)
	return f
}

// addSetFlags is addHistoryFlags without the time zone.
func addSetFlags(clause *kingpin.CmdClause, periods ...string) *historyFlags {
	f := &historyFlags{storage: addStoragePlaceFlags(clause)}
	clause.Flag("window", "Only sets that lie wholly within this time, such as 7d, lastmonth or 2026-01-01,2026-02-01. The default is all.").StringVar(&f.window)
	oneOf(clause, "period", "Which sets: "+strings.Join(periods, ", ")+".", &f.period, periods...)
	return f
}

// open opens the history. It must exist. To be changed, it must be writable.
func (f *historyFlags) open(io streams, logs *logFlags, readOnly bool) (*history.Store, func() error, error) {
	terse := *logs
	if terse.level == "info" {
		terse.level = "warn"
	}
	l, err := newLoggers(io.err, &terse)
	if err != nil {
		return nil, nil, err
	}
	if f.storage.path == "" && f.storage.config == "" {
		return nil, nil, usageErrorf("--storage.path is empty: give the directory of a history, or --storage.config")
	}
	k, err := f.storage.open(l.kit, readOnly)
	if err != nil {
		return nil, nil, err
	}
	return k.store, k.closer.Close, nil
}

// parseWindow is the window that is asked for, the zero one for everything.
func (f *historyFlags) parseWindow() (allocation.Window, error) {
	if f.window == "" {
		return allocation.Window{}, nil
	}
	w, _, err := windows.Parse(f.window, time.Now(), f.zone, windows.Exact)
	if err != nil {
		return w, usageErrorf("parse --window: %w", err)
	}
	return w, nil
}

// list is the sets that the flags select, by period and start, with those that lack parts, and the manifests that cannot be read.
func (f *historyFlags) list(ctx context.Context, store *history.Store) (sets []history.Stored, damaged []*history.CorruptError, err error) {
	w, err := f.parseWindow()
	if err != nil {
		return nil, nil, err
	}
	for p := range history.NumPeriods {
		if f.period != allPeriods && f.period != p.String() {
			continue
		}
		listing, err := store.List(ctx, p, w)
		if err != nil {
			return nil, nil, err
		}
		of := slices.DeleteFunc(append(listing.Sets, listing.Partial...), func(s history.Stored) bool { return !within(s.Window, w) })
		slices.SortStableFunc(of, func(a, b history.Stored) int { return a.Window.Start.Compare(b.Window.Start) })
		sets = append(sets, of...)
		damaged = append(damaged, listing.Corrupt...)
	}
	return sets, damaged, nil
}

// within reports whether a window lies in another one. The zero window contains all.
func within(in, w allocation.Window) bool {
	return w == (allocation.Window{}) || !in.Start.Before(w.Start) && !in.End.After(w.End)
}

// defineHistoryList is the subcommand that lists sets.
func defineHistoryList(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f, output := addHistoryFlags(clause, allPeriods, "hourly", "daily", "counted", billPeriod), ""
	oneOf(clause, "output", "Output format: table, wide (all columns, however wide) or json.", &output, "table", wideOutput, "json").Short('o')
	return func(ctx context.Context) error {
		store, done, err := f.open(io, logs, true)
		if err != nil {
			return err
		}
		if f.period == billPeriod {
			return errors.Join(f.listBills(ctx, store, io, output), done())
		}
		sets, damaged, err := f.list(ctx, store)
		if err == nil && output == "json" {
			err = printSetsJSON(io, sets)
		} else if err == nil {
			err = printSets(io, sets, output)
		}
		if err == nil && output != "json" && f.period == allPeriods {
			err = f.listBills(ctx, store, io, output)
		}
		if err == nil {
			var changed []*history.CorruptError
			changed, err = store.CheckSizes(ctx, sets)
			damaged = append(damaged, changed...)
		}
		if lacks := lackingShards(sets); err == nil && lacks != "" {
			err = writeLine(io.err, lacks)
		}
		return errors.Join(err, printDamaged(io, damaged), done())
	}
}

// printDamaged prints damaged manifests and returns an error that counts them.
func printDamaged(io streams, damaged []*history.CorruptError) error {
	for _, d := range damaged {
		if err := writeLine(io.err, "damaged: "+d.Error()); err != nil {
			return err
		}
	}
	if len(damaged) > 0 {
		return errors.New(counted(len(damaged), "{n} {file|files} of the history {is|are} damaged: serve and backfill compute sets again whose time the source still has"))
	}
	return nil
}

// lackingShards says which shards some of the sets lack. It returns "" if all sets are whole.
func lackingShards(sets []history.Stored) string {
	count, missing := 0, map[history.Shard]int{}
	for i := range sets {
		if len(sets[i].Missing) > 0 {
			count++
		}
		for _, p := range sets[i].Missing {
			missing[p]++
		}
	}
	if count == 0 {
		return ""
	}
	shards := slices.SortedFunc(maps.Keys(missing), func(a, b history.Shard) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Index, b.Index))
	})
	texts := make([]string, len(shards))
	for i, p := range shards {
		texts[i] = fmt.Sprintf("%s of %d", shardText(p), missing[p])
	}
	return fmt.Sprintf("%d of the sets lack parts, and answer nothing until they are there: %s: compute them with promcost serve or backfill --shard=%s",
		count, strings.Join(texts, ", "), shardText(shards[0]))
}

// shardText writes a shard as --shard takes it.
func shardText(p history.Shard) string { return fmt.Sprintf("%d/%d", p.Index, p.Of) }

// shardsText says into how many shards a set is divided, and which of the shards it lacks.
func shardsText(s *history.Stored) string {
	if len(s.Missing) == 0 {
		return strconv.Itoa(s.Shards)
	}
	return fmt.Sprintf("%d, lacks %s", s.Shards, strings.Join(lacksOf(s), " "))
}

// lacksOf returns the shards that a set lacks.
func lacksOf(s *history.Stored) (shards []string) {
	for _, p := range s.Missing {
		shards = append(shards, shardText(p))
	}
	return shards
}

// printSets writes a line a set, and a last one with their sum.
func printSets(io streams, sets []history.Stored, output string) error {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "PERIOD"},
		{Name: "START"},
		{Name: "END", Rank: 3},
		{Name: "RESOLUTION", Rank: 4},
		{Name: "RULES", Right: true, Rank: 6},
		{Name: "COMPLETE"},
		{Name: "GENERATION", Right: true, Rank: 7},
		{Name: "PARTS", Rank: 5},
		{Name: "ROWS", Right: true, Rank: 1},
		{Name: "BYTES", Right: true, Rank: 2},
		{Name: "CLUSTERS", Long: texttable.Cut},
	}}
	bytes := int64(0)
	for i := range sets {
		s := &sets[i]
		bytes += s.Bytes
		t.Rows = append(t.Rows, []string{
			s.Period.String(), s.Window.Start.UTC().Format(time.RFC3339), s.Window.End.UTC().Format(time.RFC3339), allocation.ResolutionText(s.Resolution), strconv.Itoa(s.Rules),
			strconv.FormatBool(s.Complete), strconv.Itoa(s.Generation), shardsText(s), strconv.Itoa(s.Rows), strconv.FormatInt(s.Bytes, 10), strings.Join(s.Clusters, ","),
		})
	}
	if err := t.Write(io.out, io.layout(output)); err != nil {
		return err
	}
	return writeLine(io.out, counted(len(sets), "{n} {set|sets}, {} bytes", bytes))
}

// listedSet is a set as JSON shows it.
type listedSet struct {
	Period     string    `json:"period"`
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	Zone       string    `json:"zone"`
	Resolution string    `json:"resolution"`
	Rules      int       `json:"rules"` // the version of the rules that it was computed by
	Complete   bool      `json:"complete"`
	Generation int       `json:"generation"`
	Shards     int       `json:"parts"`
	Lacks      []string  `json:"lacks,omitempty"` // parts that are not there, as --shard has them
	Rows       int       `json:"rows"`
	Bytes      int64     `json:"bytes"`
	Clusters   []string  `json:"clusters"`
	Warnings   []string  `json:"warnings"`
	Files      []string  `json:"files"`
}

func printSetsJSON(io streams, sets []history.Stored) error {
	list := make([]listedSet, len(sets))
	for i := range sets {
		s := &sets[i]
		list[i] = listedSet{
			s.Period.String(), s.Window.Start.UTC(), s.Window.End.UTC(), s.Zone, allocation.ResolutionText(s.Resolution), s.Rules, s.Complete, s.Generation, s.Shards, lacksOf(s),
			s.Rows, s.Bytes, s.Clusters, s.Warnings, s.Files(),
		}
	}
	enc := json.NewEncoder(io.out)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}

// defineHistoryRemove is the subcommand that removes sets.
func defineHistoryRemove(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f, yes := addHistoryFlags(clause, allPeriods, "hourly", "daily", "counted"), false
	clause.Flag("yes", "Remove them; without it, only say how many they are.").BoolVar(&yes)
	return func(ctx context.Context) error {
		if f.window == "" {
			return usageErrorf("no --window given: name the time whose sets are to be removed, such as --window=2026-01-01,2026-02-01")
		}
		store, done, err := f.open(io, logs, !yes)
		if err != nil {
			return err
		}
		return errors.Join(f.remove(ctx, store, io, yes), done())
	}
}

// remove deletes the sets, oldest first, and the files of those whose manifests are damaged.
func (f *historyFlags) remove(ctx context.Context, store *history.Store, io streams, yes bool) error {
	sets, damaged, err := f.list(ctx, store)
	if err != nil {
		return err
	}
	w, err := f.parseWindow()
	if err != nil {
		return err
	}
	damaged = slices.DeleteFunc(damaged, func(d *history.CorruptError) bool { return !within(d.Window, w) })
	if !yes {
		return writeLine(io.out, counted(len(sets), "{n} {set|sets} would be removed{}: give --yes to do it", andDamaged(len(damaged))))
	}
	for i := range sets {
		if err := store.Delete(ctx, &sets[i]); err != nil {
			return fmt.Errorf("remove from history (%d of %d sets are gone): %w", i, len(sets), err)
		}
	}
	for _, d := range damaged {
		if err := store.DeleteDamaged(ctx, d); err != nil {
			return fmt.Errorf("remove from history (%s gone): %w", counted(len(sets), "{n} {set is|sets are}"), err)
		}
	}
	return writeLine(io.out, counted(len(sets), "{n} {set|sets} removed{}", andDamaged(len(damaged))))
}

// andDamaged counts damaged manifests in a sentence, "" for none.
func andDamaged(n int) string {
	if n == 0 {
		return ""
	}
	return counted(n, ", and {n} damaged {manifest|manifests}")
}
