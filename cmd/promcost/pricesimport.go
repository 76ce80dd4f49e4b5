package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/pricing/imported"
	"github.com/promcost/promcost/allocation/visible"
)

// importFlags say which file of prices to read, and what it does not say itself.
type importFlags struct {
	file, output    string
	hourly, monthly bool
	currency        string
}

// definePricesImport is the subcommand that makes a price sheet of a file of another program.
func definePricesImport(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &importFlags{}
	clause.Flag("hourly", "Prices of CPU, memory, GPUs, storage and nodes are for an hour. Without this and --monthly, usual prices tell, or an error asks for it.").BoolVar(&f.hourly)
	clause.Flag("monthly", "They are for a month of 730 hours, as in Kubecost's settings and ConfigMaps.").BoolVar(&f.monthly)
	addFlag(clause, "currency", "ISO 4217 code of the prices, where the file does not say it.", func(text string) error {
		if !pricing.IsCurrency(text) {
			return errors.New("want a code of three letters such as USD")
		}
		f.currency = text
		return nil
	})
	clause.Flag("output", "File to write. The default is standard output.").Short('o').PlaceHolder("FILE").StringVar(&f.output)
	clause.Arg("file", "The file; standard input without it.").StringVar(&f.file)
	return func(context.Context) error { return importPrices(f, io) }
}

// importPrices writes the sheet, or nothing where the file is wrong. What of the file changes costs and is not in the sheet is a warning.
func importPrices(f *importFlags, to streams) error {
	o := imported.Options{Currency: f.currency}
	switch {
	case f.hourly && f.monthly:
		return usageErrorf("--hourly and --monthly are both given: leave out one")
	case strings.EqualFold(filepath.Ext(f.output), ".csv"):
		return usageErrorf("--output=%s: the sheet is YAML, and a file of that name is read as CSV: give another, such as prices.yaml", f.output)
	case f.hourly:
		o.Unit = imported.Hourly
	case f.monthly:
		o.Unit = imported.Monthly
	}
	text, written, err := f.read(to)
	if err != nil {
		return fmt.Errorf("import prices: %w: give a readable file", err)
	}
	f.file = cmp.Or(f.file, "standard input")
	prices, err := imported.Read(text, o)
	if err != nil {
		return fmt.Errorf("import prices %s: %w", f.file, err)
	}
	text = prices.Sheet(f.file, written)
	sheet, err := pricing.Parse(cmp.Or(f.output, "the sheet"), text)
	if err != nil {
		return fmt.Errorf("import prices %s: no sheet can be made of it: %w", f.file, err)
	}
	for _, w := range append(prices.Warnings(), sheet.Warnings()...) {
		if err := warn(to.err, w); err != nil {
			return err
		}
	}
	if f.output == "" {
		_, err = to.raw.Write(text)
		return err
	}
	if err := writeFile(f.output, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return fmt.Errorf("write --output=%s: %w", f.output, err)
	}
	said := fmt.Sprintf("%s has the prices of %s, %s. To compare it with another sheet: promcost check prices --pricing.file=%s --baseline=FILE", f.output, f.file, prices.Format(), f.output)
	return writeLine(to.err, visible.Text(said))
}

// read reads the file, and when it was written, zero where that is not known. It reads no further than one byte more than a file may have.
func (f *importFlags) read(to streams) (text []byte, written time.Time, err error) {
	from := to.in
	if f.file == "" { // as kingpin has - too
		prompt(to, "the file")
	} else {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, written, err
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil {
			return nil, written, err
		}
		if from = file; info.Mode().IsRegular() {
			written = info.ModTime()
		}
	}
	text, err = io.ReadAll(io.LimitReader(from, imported.MaxSize+1))
	return text, written, err
}
