package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// version is the version of the schema of Parquet files. Files of newer versions are refused, those of older ones are read.
const version = 1

// footerKey is the key of a Footer in the metadata of a file.
const footerKey = "promcost"

// Footer is promcost's metadata of a Parquet file. It depends only on the set and its window, so that a set gives the same bytes
// wherever and whenever it is written.
type Footer struct {
	Kind       Kind
	Window     allocation.Window
	Zone       string        // the configured time zone, whose clock the window follows
	Resolution time.Duration // 0 in exact mode
	Rules      int           // the version of the rules by which it was computed, see allocation.RulesVersion
	Complete   bool          // no data of the source was missing
	Part       int           // of Parts, from 1: which share of a cluster's nodes the file has
	Parts      int
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
	Part              int      `json:"part"`
	Parts             int      `json:"parts"`
	Warnings          []string `json:"warnings,omitempty"`
}

func (f *Footer) encode() (string, error) {
	b, err := json.Marshal(footerJSON{
		Version: version, Kind: f.Kind, Start: f.Window.Start.UTC().Format(time.RFC3339Nano), End: f.Window.End.UTC().Format(time.RFC3339Nano),
		Zone: f.Zone, ResolutionSeconds: f.Resolution.Seconds(), Rules: f.Rules, Complete: f.Complete, Part: f.Part, Parts: f.Parts, Warnings: f.Warnings,
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
		Rules: max(j.Rules, allocation.OldestRules), Complete: j.Complete, Part: j.Part, Parts: j.Parts, Warnings: j.Warnings,
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
	var columns []column
	switch f.Kind {
	case Allocations:
		if err := s.Require(allocation.Everything()); err != nil {
			return 0, fmt.Errorf("write Parquet: %w", err)
		}
		columns, rows = allocationColumns(s), s.Len()
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
	if err := writeColumns(w, string(f.Kind), text, columns, rows); err != nil {
		return 0, fmt.Errorf("write Parquet %s: %w", f.Kind, err)
	}
	return rows, nil
}

// writeColumns writes a file of one row group.
func writeColumns(w io.Writer, name, footer string, columns []column, rows int) error {
	root := group{Group: parquet.Group{}}
	for i := range columns {
		root.add(columns[i].name, columns[i].node)
	}
	var plain bytes.Buffer
	out := parquet.NewWriter(&plain, parquet.NewSchema(name, &root),
		parquet.CreatedBy("promcost", "1", "parquet"), parquet.KeyValueMetadata(footerKey, footer),
		parquet.Compression(&parquet.Uncompressed), parquet.PageBufferSize(min(pageBytes, (rows+1)*rowBytes)), parquet.DataPageStatistics(false))
	if err := writeLeaves(out, columns); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	data, err := pack(plain.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// writeLeaves writes the values of all columns.
func writeLeaves(out output, columns []column) error {
	writers := out.ColumnWriters()
	leaf := 0
	for i := range columns {
		for _, write := range columns[i].leaves {
			if err := write(&leafWriter{to: writers[leaf], index: leaf}); err != nil {
				return fmt.Errorf("column %s: %w", columns[i].name, err)
			}
			leaf++
		}
	}
	return nil
}

// pageBytes is the uncompressed size at which a page ends.
const pageBytes = 1 << 18

// rowBytes is more than a row takes in a page. The library allocates the largest possible page for each column, which took most of the
// time for a few rows.
const rowBytes = 1 << 10

// group is a group of columns in the order in which they were added. parquet.Group sorts them by name.
type group struct {
	parquet.Group
	names []string
}

func (g *group) add(name string, node parquet.Node) {
	g.Group[name] = node
	g.names = append(g.names, name)
}

// Fields returns the columns in their order.
func (g *group) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.names))
	for i, name := range g.names {
		fields[i] = byName[name]
	}
	return fields
}
