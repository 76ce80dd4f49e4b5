package encode

import (
	"cmp"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/fields"
)

// The columns of rows that are neither properties nor amounts, as stored files name them.
const (
	nameField   = "name"
	kindField   = "kind"
	startField  = "start"
	endField    = "end"
	windowStart = "window_start"
	windowEnd   = "window_end"
)

// arrowText is a column of strings.
func arrowText[T any](name string, text func(T) string) arrowColumn[T] {
	return arrowColumn[T]{arrow.Field{Name: name, Type: arrow.BinaryTypes.String}, func(b array.Builder, row T) {
		b.(*array.StringBuilder).Append(text(row))
	}}
}

// arrowNumber is a column of amounts. A value that is NaN is null.
func arrowNumber[T any](name string, value func(T) float64) arrowColumn[T] {
	return arrowColumn[T]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64, Nullable: true}, func(b array.Builder, row T) {
		if v := value(row); math.IsNaN(v) || math.IsInf(v, 0) {
			b.AppendNull()
		} else {
			b.(*array.Float64Builder).Append(v)
		}
	}}
}

// arrowTime is a column of instants in milliseconds, UTC.
func arrowTime[T any](name string, instant func(T) time.Time) arrowColumn[T] {
	return arrowColumn[T]{arrow.Field{Name: name, Type: arrow.FixedWidthTypes.Timestamp_ms}, func(b array.Builder, row T) {
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(instant(row).UnixMilli()))
	}}
}

// arrowMap is a column of maps of strings; each calls yield for the pairs of a row.
func arrowMap[T any](name string, each func(row T, yield func(key, value string))) arrowColumn[T] {
	kind := arrow.MapOf(arrow.BinaryTypes.String, arrow.BinaryTypes.String)
	return arrowColumn[T]{arrow.Field{Name: name, Type: kind}, func(b array.Builder, row T) {
		m := b.(*array.MapBuilder)
		m.Append(true)
		each(row, func(key, value string) {
			m.KeyBuilder().(*array.StringBuilder).Append(key)
			m.ItemBuilder().(*array.StringBuilder).Append(value)
		})
	}}
}

// arrowList is a column of lists of strings.
func arrowList[T any](name string, each func(row T, yield func(text string))) arrowColumn[T] {
	return arrowColumn[T]{arrow.Field{Name: name, Type: arrow.ListOf(arrow.BinaryTypes.String)}, func(b array.Builder, row T) {
		l := b.(*array.ListBuilder)
		l.Append(true)
		each(row, func(text string) { l.ValueBuilder().(*array.StringBuilder).Append(text) })
	}}
}

// arrowRowColumns are the columns of rows of sets.
func arrowRowColumns() []arrowColumn[arrowRow] {
	cols := []arrowColumn[arrowRow]{
		arrowText(nameField, func(r arrowRow) string { return r.name }),
		arrowTime(windowStart, func(r arrowRow) time.Time { return r.set.Window.Start }),
		arrowTime(windowEnd, func(r arrowRow) time.Time { return r.set.Window.End }),
		arrowText(kindField, func(r arrowRow) string { return r.set.Special(r.row).Field() }),
	}
	for p := range allocation.NumProperties {
		cols = append(cols, arrowProperty(p))
	}
	cols = append(cols,
		arrowTime(startField, func(r arrowRow) time.Time { return r.set.Start(r.row) }),
		arrowTime(endField, func(r arrowRow) time.Time { return r.set.End(r.row) }))
	for c := range allocation.NumColumns {
		cols = append(cols, arrowNumber(c.Field(), func(r arrowRow) float64 { return r.set.Value(c, r.row) }))
	}
	for _, f := range fields.All() {
		cols = append(cols, arrowNumber(f.Name, func(r arrowRow) float64 { return f.Value(r.set, r.row) }))
	}
	return cols
}

// arrowProperty is the column of a property.
func arrowProperty(p allocation.Property) arrowColumn[arrowRow] {
	switch {
	case p.IsMap():
		return arrowMap(p.Field(), func(r arrowRow, yield func(key, value string)) {
			d := r.set.Dict()
			for _, pair := range r.set.Pairs(p, r.row) {
				yield(d.Text(pair.Key), d.Text(pair.Value))
			}
		})
	case p.IsList():
		return arrowList(p.Field(), func(r arrowRow, yield func(text string)) {
			d := r.set.Dict()
			for _, id := range r.set.List(p, r.row) {
				yield(d.Text(id))
			}
		})
	}
	return arrowText(p.Field(), func(r arrowRow) string { return r.set.Text(p, r.row) })
}

// arrowAsset is an asset of a set.
type arrowAsset struct {
	set *assets.Set
	*allocation.Asset
}

// arrowAssetColumns are the columns of assets.
func arrowAssetColumns() []arrowColumn[arrowAsset] {
	return []arrowColumn[arrowAsset]{
		arrowText(nameField, func(a arrowAsset) string { return cmp.Or(a.Title, a.Name) }),
		arrowTime(windowStart, func(a arrowAsset) time.Time { return a.set.Window.Start }),
		arrowTime(windowEnd, func(a arrowAsset) time.Time { return a.set.Window.End }),
		arrowText("type", func(a arrowAsset) string { return a.Type.String() }),
		arrowText("cluster", func(a arrowAsset) string { return a.Cluster }),
		arrowText("provider", func(a arrowAsset) string { return a.Provider }),
		arrowText("provider_id", func(a arrowAsset) string { return a.ProviderID }),
		arrowText("category", func(a arrowAsset) string { return a.Category }),
		arrowText("region", func(a arrowAsset) string { return a.Region }),
		arrowTime(startField, func(a arrowAsset) time.Time { return a.Start }),
		arrowTime(endField, func(a arrowAsset) time.Time { return a.End }),
		arrowNumber("minutes", func(a arrowAsset) float64 { return a.Minutes() }),
		arrowNumber("adjustment", func(a arrowAsset) float64 { return a.Adjustment }),
		arrowNumber("total_cost", func(a arrowAsset) float64 { return a.TotalCost() }),
	}
}
