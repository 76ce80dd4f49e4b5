package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/parquet"
)

// autoPeriod exports days, and hours where there is no day.
const autoPeriod = "auto"

// exportFlags say what to export, and in which format.
type exportFlags struct {
	*historyFlags
	format, version, currency, output string
}

func defineHistoryExport(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &exportFlags{historyFlags: addHistoryFlags(clause, autoPeriod, "hourly", "daily")}
	oneOf(clause, "format", "Format: csv, parquet, or focus for charges of the FinOps Open Cost and Usage Specification as CSV, idle and overhead included.",
		&f.format, "csv", "parquet", "focus").Short('f')
	versions := encode.FOCUSVersions()
	oneOf(clause, "focus-version", "Version of that specification: 1.2, or 1.3, which adds the Allocated columns.", &f.version, versions...)
	clause.Flag("currency", "Currency of the costs, for FOCUS.").Default("USD").StringVar(&f.currency)
	clause.Flag("output", "File to write. The default is standard output.").Short('o').PlaceHolder("FILE").StringVar(&f.output)
	return func(ctx context.Context) error {
		store, done, err := f.open(io, logs, true)
		if err != nil {
			return err
		}
		return errors.Join(f.export(ctx, store, io), done())
	}
}

// export writes the sets, one of them in memory at a time.
func (f *exportFlags) export(ctx context.Context, store *history.Store, to streams) error {
	sets, err := f.sets(ctx, store, to)
	if err != nil {
		return err
	}
	if f.output == "" {
		return f.write(ctx, store, sets, to.out)
	}
	if err := writeFile(f.output, func(w io.Writer) error { return f.write(ctx, store, sets, w) }); err != nil {
		return fmt.Errorf("write --output=%s: %w", f.output, err)
	}
	return nil
}

// sets are the sets to export, oldest first. No two overlap: it leaves out the hours of a day, and sets of another time zone for
// the same time.
func (f *exportFlags) sets(ctx context.Context, store *history.Store, io streams) ([]history.Stored, error) {
	all := *f.historyFlags
	if f.period == autoPeriod {
		all.period = allPeriods
	}
	sets, damaged, err := all.list(ctx, store)
	if err == nil {
		err = printDamaged(io, damaged) // an export with holes looks whole
	}
	if err != nil {
		return nil, err
	}
	if lacks := lackingParts(sets); lacks != "" {
		if err := warn(io.err, lacks); err != nil {
			return nil, err
		}
	}
	sets = slices.DeleteFunc(sets, func(s history.Stored) bool { return len(s.Missing) > 0 })
	var zone *time.Location
	if f.zoneGiven {
		zone = f.zone
	}
	chosen := coverOf(sets, zone)
	out := make([]history.Stored, len(chosen.sets))
	var warnings []string
	for i, s := range chosen.sets {
		out[i] = *s
		warnings = append(warnings, s.Warnings...)
	}
	if len(out) == 0 {
		return nil, errors.New("the history has no sets of that time: see what it has with promcost history ls")
	}
	if lacks := chosen.lacks(sets); lacks != "" {
		warnings = append(warnings, lacks)
	}
	for _, text := range notices.JoinWarnings(warnings) {
		if err := warn(io.err, text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// write writes the sets in the format that is asked for.
func (f *exportFlags) write(ctx context.Context, store *history.Store, sets []history.Stored, to io.Writer) error {
	w := bufio.NewWriter(to)
	put, end, err := f.encoder(w)
	if err != nil {
		return err
	}
	for i := range sets {
		read, err := store.Read(ctx, sets[i:i+1], nil)
		if err != nil {
			return err
		}
		if err := put(read[0]); err != nil {
			return err
		}
	}
	return errors.Join(end(), w.Flush())
}

// encoder is what writes a set, and what ends the file.
func (f *exportFlags) encoder(w io.Writer) (put func(*allocation.Set) error, end func() error, err error) {
	switch f.format {
	case "parquet":
		p := parquet.NewStream(w)
		return p.Rows, p.Close, nil
	case "focus":
		out, err := encode.NewFOCUS(w, f.version, f.currency)
		if err != nil {
			return nil, nil, err
		}
		return func(s *allocation.Set) error {
			// What nobody was allocated is on the bill, too.
			whole, err := allocation.Apply([]*allocation.Set{s}, allocation.Options{Idle: true, IdleByNode: true, SplitIdle: true, ShareTenancy: true})
			if err != nil {
				return err
			}
			return out.Write(whole[0])
		}, out.Close, nil
	}
	return func(s *allocation.Set) error { return encode.FullCSVRows(w, s, encode.Options{Location: f.zone}) },
		func() error { return nil }, encode.FullCSVHeader(w)
}
