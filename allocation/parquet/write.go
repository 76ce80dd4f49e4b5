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

// version is that of the schema of Parquet files: files of a newer one are refused, those of older ones are read.
const version = 1

// footerKey is the key of a Footer in the metadata of a file.
const footerKey = "promcost"

// Footer is what a Parquet file says of itself. All of it follows from the set that it was made of and its window, so
// that one set gives the same bytes wherever and whenever it is written.
type Footer struct {
	Kind       Kind
	Window     allocation.Window
	Zone       string        // the time zone that the window was cut on, as it is configured
	Resolution time.Duration // 0 in exact mode
	Rules      int           // the version of the rules that it was computed by, see allocation.RulesVersion
	Complete   bool          // nothing of the source was missing
	Part       int           // of Parts, from 1: the share of a cluster's nodes that the file is of
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
	Rules             int      `json:"rules"` // 0 in files of before there were versions
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

// ErrNewerVersion says that a file was written by a newer version, whose schema is not known here.
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

// Write writes what f.Kind says of a set: the rows, in the order of the set, or the assets. Rules of f is that of the
// set, and so are Window, Resolution and Warnings where they are zero. Columns are named after what they hold, with units; the same set
// and footer give the same bytes. A set that passes made gets a column name before the others, and cannot be read back.
// rows is how many were written.
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

// pageBytes is the size of a page before compression above which another one is begun.
const pageBytes = 1 << 18

// rowBytes is more than a row takes of a page. The library allocates as large a page as there may be for each column, which for few rows
// took most of the time.
const rowBytes = 1 << 10

// group is a group of columns in the order they were added; parquet.Group sorts them by name.
type group struct {
	parquet.Group
	names []string
}

func (g *group) add(name string, node parquet.Node) {
	g.Group[name] = node
	g.names = append(g.names, name)
}

// Fields are the columns in their order.
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
