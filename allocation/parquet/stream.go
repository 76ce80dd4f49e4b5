package parquet

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
)

// Stream writes several sets into one Parquet file, each as a row group, so that only one of them is in memory at a time. The file has
// the columns of Write, but no Footer: it is for other tools, and is not read back.
type Stream struct {
	w    io.Writer
	file *fileWriter // nil until the first row group
}

// NewStream begins a file. Nothing is written yet.
func NewStream(w io.Writer) *Stream { return &Stream{w: w} }

// Rows writes the rows of a set. All sets of a file must be made by the same passes.
func (p *Stream) Rows(s *allocation.Set) error {
	if err := s.Require(allocation.Everything()); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return p.group(string(Allocations), allocationColumns(s), s.Len())
}

// group writes a row group. The first one decides the columns of the file.
func (p *Stream) group(name string, columns []Column, rows int) error {
	if p.file == nil {
		p.file = newFileWriter(p.w, name, "", columns, rows, true)
	}
	if err := p.file.group(columns, rows); err != nil {
		return fmt.Errorf("write Parquet %s: %w", name, err)
	}
	return nil
}

// Close ends the file. An empty file has the columns of rows.
func (p *Stream) Close() error {
	if p.file == nil {
		if err := p.Rows(allocation.NewSet(allocation.Window{}, allocation.NewDict())); err != nil {
			return err
		}
	}
	if err := p.file.to.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

// Assets writes assets of a set, one row each, with the columns of Arrow streams.
func (p *Stream) Assets(set *assets.Set, list []*allocation.Asset) error {
	n := len(list)
	text := func(name string, get func(*allocation.Asset) string) Column {
		return textColumn(name, func(row int) string { return get(list[row]) })
	}
	instant := func(name string, get func(*allocation.Asset) time.Time) Column {
		return TimeColumn(name, func(row int) int64 { return get(list[row]).UnixMilli() })
	}
	number := func(name string, get func(*allocation.Asset) float64) Column {
		return numberColumn(name, func(row int) float64 { return get(list[row]) })
	}
	return p.group(string(Assets), []Column{
		text(nameField, func(a *allocation.Asset) string { return cmp.Or(a.Title, a.Name) }),
		instant(windowStart, func(*allocation.Asset) time.Time { return set.Window.Start }),
		instant(windowEnd, func(*allocation.Asset) time.Time { return set.Window.End }),
		text("type", func(a *allocation.Asset) string { return a.Type.String() }),
		text("cluster", func(a *allocation.Asset) string { return a.Cluster }),
		text("provider", func(a *allocation.Asset) string { return a.Provider }),
		text("provider_id", func(a *allocation.Asset) string { return a.ProviderID }),
		text("category", func(a *allocation.Asset) string { return a.Category }),
		text("region", func(a *allocation.Asset) string { return a.Region }),
		instant(startField, func(a *allocation.Asset) time.Time { return a.Start }),
		instant(endField, func(a *allocation.Asset) time.Time { return a.End }),
		number("minutes", (*allocation.Asset).Minutes),
		number("adjustment", func(a *allocation.Asset) float64 { return a.Adjustment }),
		number("total_cost", (*allocation.Asset).TotalCost),
	}, n)
}
