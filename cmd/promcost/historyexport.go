package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/export"
)

// autoPeriod exports days, and hours where there is no day.
const autoPeriod = "auto"

// exportFlags say what to export, and in which format.
type exportFlags struct {
	*historyFlags
	format, version, currency, output, config string
	tenancy                                   bool
}

func defineHistoryExport(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &exportFlags{historyFlags: addHistoryFlags(clause, autoPeriod, "hourly", "daily")}
	oneOf(clause, "format", "Format: csv, parquet, or focus for charges of the FinOps Open Cost and Usage Specification as CSV, idle and overhead included.",
		&f.format, "csv", "parquet", "focus").Short('f')
	versions := encode.FOCUSVersions()
	oneOf(clause, "focus-version", "Version of that specification: 1.2, or 1.3, which adds the Allocated columns.", &f.version, versions...)
	clause.Flag("currency", "Currency of the costs, for FOCUS. The default is that of --config.file, else "+rates.Dollar+".").StringVar(&f.currency)
	clause.Flag("share-tenancy", "Divide control planes and nodes' own disks among workloads, for FOCUS; --no-share-tenancy leaves them out.").Default("true").BoolVar(&f.tenancy)
	clause.Flag("config.file", "Config file whose bills, as the history has them, are what csv and focus cost. Without it, costs are at list prices.").
		PlaceHolder("FILE").StringVar(&f.config)
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
	settings, err := config.Read(config.Flags{ConfigFile: f.config, Zone: f.zone, ZoneGiven: f.zoneGiven})
	if err != nil {
		return err
	}
	f.currency = cmp.Or(f.currency, settings.Currency)
	chosen, err := f.sets(ctx, store, to)
	if err != nil {
		return err
	}
	read := func(ctx context.Context, s *history.Stored) (*allocation.Set, error) {
		sets, err := store.Read(ctx, []history.Stored{*s}, nil)
		if err != nil {
			return nil, err
		}
		return sets[0], nil
	}
	if len(settings.Bills) > 0 && f.format != "parquet" {
		billed, err := export.NewBilled(ctx, store, chosen.Zone, settings, log.NewNopLogger())
		if err != nil {
			return err
		}
		read = billed.Read
	}
	write := func(w io.Writer) error { return f.write(ctx, chosen, read, w, to.err) }
	if f.output == "" {
		return write(to.raw)
	}
	if err := writeFile(f.output, write); err != nil {
		return fmt.Errorf("write --output=%s: %w", f.output, err)
	}
	return nil
}

// sets are the sets to export, oldest first. No two overlap: it leaves out the hours of a day, and sets of another time zone for
// the same time.
func (f *exportFlags) sets(ctx context.Context, store *history.Store, io streams) (*export.Cover, error) {
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
	if lacks := lackingShards(sets); lacks != "" {
		if err := warn(io.err, lacks); err != nil {
			return nil, err
		}
	}
	sets = slices.DeleteFunc(sets, func(s history.Stored) bool { return len(s.Missing) > 0 })
	var zone *time.Location
	if f.zoneGiven {
		zone = f.zone
	}
	chosen := export.Choose(sets, zone)
	var warnings []string
	for _, s := range chosen.Sets {
		warnings = append(warnings, s.Warnings...)
	}
	if len(chosen.Sets) == 0 {
		return nil, errors.New("the history has no sets of that time: see what it has with promcost history ls")
	}
	if lacks := chosen.Lacks(sets); lacks != "" {
		warnings = append(warnings, lacks)
	}
	for _, text := range notices.JoinWarnings(warnings) {
		if err := warn(io.err, text); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// write writes the sets in the format that is asked for, and what bills warn of.
func (f *exportFlags) write(ctx context.Context, of *export.Cover, read func(context.Context, *history.Stored) (*allocation.Set, error), to, warnings io.Writer) error {
	w := bufio.NewWriter(to)
	put, end, err := f.encoder(w)
	if err != nil {
		return err
	}
	var said []string
	for _, s := range of.Sets {
		set, err := read(ctx, s)
		if err != nil {
			return err
		}
		for _, text := range set.Warnings {
			if !slices.Contains(s.Warnings, text) && !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
		if err := put(set); err != nil {
			return err
		}
	}
	for _, text := range notices.JoinWarnings(said) {
		if err := warn(warnings, text); err != nil {
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
			whole, err := passes.Apply([]*allocation.Set{s}, passes.Options{Idle: true, IdleByNode: true, SplitIdle: true, ShareTenancy: f.tenancy})
			if err != nil {
				return err
			}
			return out.Write(whole[0])
		}, out.Close, nil
	}
	return func(s *allocation.Set) error { return encode.FullCSVRows(w, s, encode.Options{Location: f.zone}) },
		func() error { return nil }, encode.FullCSVHeader(w)
}
