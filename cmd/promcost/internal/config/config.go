// Package config reads promcost's config file, checks it, and explains its effect together with the flags that override it.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/pricing/imported"
	"github.com/promcost/promcost/allocation/rates"
)

// Flags are the command line's settings besides the config file, or in place of it.
type Flags struct {
	ConfigFile  string         // --config.file, "" for none
	PricingFile string         // --pricing.file, "" for none: it wins over the file's prices
	PriceLists  []string       // --pricing.list: files of list prices
	Zone        *time.Location // --timezone
	ZoneGiven   bool           // --timezone is given, and wins over the file's time zone
	Budgets     []Budget       // used if the config file has none
	Bills       []Bill         // used if the config file has none
}

// Settings are the flags and the config file together: a given flag wins. Settings do not change. When the file is read again, new
// ones replace them.
type Settings struct {
	File
	Rates *pricing.Sheet
	// RatesFrom is when the prices were looked up, or else when their file was written; zero for built-in prices.
	RatesFrom time.Time
	Zone      *time.Location
	Currency  string
	// Overridden are the keys of the config file that flags win over.
	Overridden []string

	lists []*listprices.Table // of files
}

// Read reads the config file and the prices, and checks all of it.
func Read(f Flags) (*Settings, error) {
	file, err := ReadFile(f.ConfigFile)
	if err != nil {
		return nil, err
	}
	s := &Settings{File: *file, Zone: f.Zone}
	if len(s.Budgets) == 0 {
		s.Budgets = f.Budgets
	}
	if len(s.Bills) == 0 {
		s.Bills = slices.Clone(f.Bills)
	}
	if err := s.setPrices(f); err != nil {
		return nil, err
	}
	switch {
	case file.zone != nil && f.ZoneGiven:
		s.Overridden = append(s.Overridden, "timeZone")
	case file.zone != nil:
		s.Zone = file.zone
	}
	if sheet := s.Rates.Currency(); file.currency != "" && sheet != "" && file.currency != sheet {
		return nil, fmt.Errorf("read --config.file: currency is %s, but the prices of %s are in %s: nothing is converted, give prices in the currency of the answers",
			file.currency, s.Rates.Name(), sheet)
	}
	s.Currency = cmp.Or(file.currency, s.Rates.Currency(), rates.Dollar)
	for _, name := range f.PriceLists {
		list, err := readList(name)
		if err != nil {
			return nil, err
		}
		s.lists = append(s.lists, list)
	}
	s = s.WithFetched(nil)
	for i := range s.Bills {
		s.Bills[i].Rates.Currency = s.Currency
	}
	return s, nil
}

// setPrices takes the prices of --pricing.file, or else those of the config file, or else the built-in ones.
func (s *Settings) setPrices(f Flags) (err error) {
	file := ""
	switch {
	case f.PricingFile != "":
		if file = f.PricingFile; s.prices != nil {
			s.Overridden = append(s.Overridden, "prices")
		}
		if s.Rates, err = readSheet(file); err != nil {
			return err
		}
	case s.prices != nil:
		s.Rates, file = s.prices, cmp.Or(s.pricesFile, f.ConfigFile)
	default:
		s.Rates = pricing.Default()
	}
	if s.RatesFrom = s.Rates.AsOf(); s.RatesFrom.IsZero() && file != "" {
		if info, err := os.Stat(file); err == nil {
			s.RatesFrom = info.ModTime()
		}
	}
	return nil
}

// readSheet reads a file of prices.
func readSheet(file string) (*pricing.Sheet, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --pricing.file: %w: give a readable YAML or CSV file, or leave the flag out for the defaults", err)
	}
	sheet, err := ParseSheet(file, text)
	if err != nil {
		return nil, fmt.Errorf("read --pricing.file: %w", err)
	}
	return sheet, nil
}

// ParseSheet reads a price sheet, as pricing.Parse does. The error of a file of another program says what makes a sheet of it.
func ParseSheet(file string, text []byte) (*pricing.Sheet, error) {
	sheet, err := pricing.Parse(file, text)
	if err == nil {
		return sheet, nil
	}
	if format := imported.Format(text); format != "" {
		return nil, fmt.Errorf("%s is no price sheet but looks like %s: make a sheet of it with \"promcost prices import %s --output=prices.yaml\"", file, format, file)
	}
	return nil, err
}

// ParseZone reads a time zone: a name such as Europe/Berlin, or an offset such as +05:30.
func ParseZone(text string) (*time.Location, error) {
	if t, err := time.Parse("Z07:00", text); err == nil && text != "Z" {
		if _, offset := t.Zone(); offset != 0 {
			return time.FixedZone(text, offset), nil
		}
		return t.Location(), nil
	}
	zone, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return nil, errors.New("no such time zone: give an IANA name such as Europe/Berlin, or an offset such as +05:30")
	}
	return zone, nil
}
