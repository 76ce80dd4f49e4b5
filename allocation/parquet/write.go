package parquet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/promcost/promcost/allocation"
)

// version is the version of the schema of Parquet files. Files of newer versions are refused, those of older ones are read.
const version = 1

// footerKey is the key of a Footer in the metadata of a file.
const footerKey = "promcost"

// magic is at the beginning and the end of files.
const magic = "PAR1"

// Footer is promcost's metadata of a Parquet file. It depends only on the set and its window, so that a set gives the same bytes
// wherever and whenever it is written.
type Footer struct {
	Kind       Kind
	Window     allocation.Window
	Zone       string        // the configured time zone, whose clock the window follows
	Resolution time.Duration // 0 in exact mode
	Rules      int           // the version of the rules by which it was computed, see allocation.RulesVersion
	Complete   bool          // no data of the source was missing
	Shard      int           // of Parts, from 1: which share of a cluster's nodes the file has
	Shards     int
	Warnings   []string // of the set
}

// Kind is what the rows of a file are.
type Kind string

// The kinds of files.
const (
	Allocations Kind = "allocations"
	Assets      Kind = "assets"
)

// footerJSON is a Footer as it is stored.
type footerJSON struct {
	Version           int      `json:"version"`
	Kind              Kind     `json:"kind"`
	Start             string   `json:"start"` // RFC 3339, UTC
	End               string   `json:"end"`
	Zone              string   `json:"zone"`
	ResolutionSeconds float64  `json:"resolutionSeconds"`
	Rules             int      `json:"rules"` // 0 in files from before rules had versions
	Complete          bool     `json:"complete"`
	Shard             int      `json:"part"`
	Shards            int      `json:"parts"`
	Warnings          []string `json:"warnings,omitempty"`
}

func (f *Footer) encode() (string, error) {
	b, err := json.Marshal(footerJSON{
		Version: version, Kind: f.Kind, Start: f.Window.Start.UTC().Format(time.RFC3339Nano), End: f.Window.End.UTC().Format(time.RFC3339Nano),
		Zone: f.Zone, ResolutionSeconds: f.Resolution.Seconds(), Rules: f.Rules, Complete: f.Complete, Shard: f.Shard, Shards: f.Shards, Warnings: f.Warnings,
	})
	return string(b), err
}

// ErrNewerVersion says that a file was written by a newer version, with an unknown schema.
var ErrNewerVersion = errors.New("written by a newer version of promcost")

func decodeFooter(text string) (*Footer, error) {
	var j footerJSON
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return nil, fmt.Errorf("decode footer: %w", err)
	}
	switch {
	case j.Version > version:
		return nil, fmt.Errorf("%w: its schema has version %d, at most %d is known: upgrade this promcost", ErrNewerVersion, j.Version, version)
	case j.Version < 1:
		return nil, fmt.Errorf("decode footer: version %d is not one", j.Version)
	case j.Kind != Allocations && j.Kind != Assets:
		return nil, fmt.Errorf("decode footer: kind %q is not known", j.Kind)
	}
	start, err := time.Parse(time.RFC3339Nano, j.Start)
	if err != nil {
		return nil, fmt.Errorf("decode footer: start: %w", err)
	}
	end, err := time.Parse(time.RFC3339Nano, j.End)
	if err != nil {
		return nil, fmt.Errorf("decode footer: end: %w", err)
	}
	return &Footer{
		Kind: j.Kind, Window: allocation.Window{Start: start.UTC(), End: end.UTC()}, Zone: j.Zone, Resolution: time.Duration(j.ResolutionSeconds * float64(time.Second)),
		Rules: max(j.Rules, allocation.OldestRules), Complete: j.Complete, Shard: j.Shard, Shards: j.Shards, Warnings: j.Warnings,
	}, nil
}

// Write writes the rows of a set, in the order of the set, or its assets, as f.Kind says. It takes Rules of the footer from the set, and if
// the footer has no Window, also Window, Resolution and Warnings. Columns are named after their content, with units. The same set and
// footer give the same bytes. A set that passes made has an additional first column, name, and cannot be read back. rows is how many rows
// were written.
func Write(w io.Writer, s *allocation.Set, f Footer) (rows int, err error) {
	f.Rules = s.Rules
	if f.Window == (allocation.Window{}) {
		f.Window, f.Resolution, f.Warnings = s.Window, s.Resolution, s.Warnings
	}
	var columns []Column
	switch f.Kind {
	case Allocations:
		if err := s.Require(allocation.Everything()); err != nil {
			return 0, fmt.Errorf("write Parquet: %w", err)
		}
		columns, rows = append(allocationColumns(s), levelColumns(s)...), s.Len()
	case Assets:
		list := assetRows(s)
		columns, rows = assetColumns(s.Window, list), len(list)
	default:
		return 0, fmt.Errorf("write Parquet: kind %q is not known", f.Kind)
	}
	text, err := f.encode()
	if err != nil {
		return 0, fmt.Errorf("write Parquet: %w", err)
	}
	return rows, writeTable(w, string(f.Kind), text, columns, rows)
}

// WriteTable writes a table of another kind, without a Footer. The same values give the same bytes.
func WriteTable(w io.Writer, name string, columns []Column, rows int) error {
	return writeTable(w, name, "", columns, rows)
}

func writeTable(w io.Writer, name, footer string, columns []Column, rows int) error {
	file := newFileWriter(w, name, footer, columns, rows, false)
	err := file.group(columns, rows)
	if err == nil {
		err = file.to.Close()
	}
	if err != nil {
		return fmt.Errorf("write Parquet %s: %w", name, err)
	}
	return nil
}
