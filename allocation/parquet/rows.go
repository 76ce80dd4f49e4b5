package parquet

import (
	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// unnamedField is the name of the column of GPU devices in early files.
const unnamedField = ""

// The columns of rows that are neither properties nor amounts.
const (
	nameField      = "name" // only of sets that passes made
	kindField      = "kind"
	otherUIDs      = "pod_uid_other" // ids of pods that are not UUIDs
	startField     = "start"
	endField       = "end"
	windowStart    = "window_start"
	windowEnd      = "window_end"
	volumesField   = "volumes"
	balancersField = "load_balancers"

	usageLevels = "_usage_levels" // after the name of a resource
	levelField  = "level"         // the highest usage of a bucket, in cores or bytes
	timeField   = "seconds"
)

// allocationColumns are the columns of a set's rows.
func allocationColumns(s *allocation.Set) []Column {
	var cols []Column
	if !s.Built() {
		cols = append(cols, textColumn(nameField, s.Name))
	}
	cols = append(cols,
		TimeColumn(windowStart, func(int) int64 { return s.Window.Start.UnixMilli() }),
		TimeColumn(windowEnd, func(int) int64 { return s.Window.End.UnixMilli() }),
		textColumn(kindField, func(row int) string { return s.Special(row).Field() }))
	for p := range allocation.NumProperties {
		cols = append(cols, propertyColumns(s, p)...)
	}
	cols = append(cols,
		TimeColumn(startField, func(row int) int64 { return s.Start(row).UnixMilli() }),
		TimeColumn(endField, func(row int) int64 { return s.End(row).UnixMilli() }))
	for c := range allocation.NumColumns {
		cols = append(cols, numberColumn(c.Field(), func(row int) float64 { return s.Value(c, row) }))
	}
	return append(cols,
		structsColumn(volumesField, func(row int) int { return len(s.Volumes(row)) }, volumeMembers(s)),
		structsColumn(balancersField, func(row int) int { return len(s.LoadBalancerShares(row)) }, balancerMembers(s)))
}

// propertyColumns are the columns of a property.
func propertyColumns(s *allocation.Set, p allocation.Property) []Column {
	d := s.Dict()
	switch {
	case p.IsMap():
		return []Column{mapColumn(p.Field(), func(row int) int { return len(s.Pairs(p, row)) }, func(row, i int) (string, string) {
			pair := s.Pairs(p, row)[i]
			return d.Text(pair.Key), d.Text(pair.Value)
		})}
	case p.IsList():
		return []Column{listColumn(p.Field(), func(row int) int { return len(s.List(p, row)) }, func(row, i int) string { return d.Text(s.List(p, row)[i]) })}
	case p == allocation.PodUID:
		return uuidColumns(p.Field(), otherUIDs, func(row int) string { return s.Text(p, row) })
	}
	return []Column{textColumn(p.Field(), func(row int) string { return s.Text(p, row) })}
}

// levelColumns are the columns of how long usage was how high. They are empty where that is not known of the set: all files have the same columns.
func levelColumns(s *allocation.Set) (cols []Column) {
	for _, r := range allocation.LevelResources {
		levels := &s.Table().Levels[r] // none where they are unread
		cols = append(cols, structsColumn(r.String()+usageLevels, func(row int) int { return len(levels.Row(row)) }, levelMembers(levels)))
	}
	return cols
}

func levelMembers(levels *allocation.Shares[allocation.Level]) []member {
	return []member{
		{levelField, numberNode(), func(row, i int) parquet.Value { return parquet.DoubleValue(levels.Row(row)[i].Bucket.Upper()) }},
		{timeField, numberNode(), func(row, i int) parquet.Value { return parquet.DoubleValue(float64(levels.Row(row)[i].Millis) / 1000) }},
	}
}

func volumeMembers(s *allocation.Set) []member {
	text := func(name string, get func(*allocation.VolumeShare) allocation.ID) member {
		return member{name, parquet.String(), func(row, i int) parquet.Value { return textValue(s.Dict().Text(get(&s.Volumes(row)[i]))) }}
	}
	number := func(name string, get func(*allocation.VolumeShare) float64) member {
		return member{name, numberNode(), func(row, i int) parquet.Value { return parquet.DoubleValue(get(&s.Volumes(row)[i])) }}
	}
	return []member{
		text("key", func(v *allocation.VolumeShare) allocation.ID { return v.Key }),
		text("provider_id", func(v *allocation.VolumeShare) allocation.ID { return v.ProviderID }),
		number("byte_hours", func(v *allocation.VolumeShare) float64 { return v.ByteHours }),
		number("cost", func(v *allocation.VolumeShare) float64 { return v.Cost }),
		number("cost_adjustment", func(v *allocation.VolumeShare) float64 { return v.Adjustment }),
	}
}

func balancerMembers(s *allocation.Set) []member {
	text := func(name string, get func(*allocation.LoadBalancerShare) allocation.ID) member {
		return member{name, parquet.String(), func(row, i int) parquet.Value { return textValue(s.Dict().Text(get(&s.LoadBalancerShares(row)[i]))) }}
	}
	number := func(name string, get func(*allocation.LoadBalancerShare) float64) member {
		return member{name, numberNode(), func(row, i int) parquet.Value { return parquet.DoubleValue(get(&s.LoadBalancerShares(row)[i])) }}
	}
	return []member{
		text("key", func(l *allocation.LoadBalancerShare) allocation.ID { return l.Key }),
		text("service", func(l *allocation.LoadBalancerShare) allocation.ID { return l.Service }),
		text("ip", func(l *allocation.LoadBalancerShare) allocation.ID { return l.IP }),
		{"private", boolNode(), func(row, i int) parquet.Value { return parquet.BooleanValue(s.LoadBalancerShares(row)[i].Private) }},
		number("hours", func(l *allocation.LoadBalancerShare) float64 { return l.Hours }),
		number("cost", func(l *allocation.LoadBalancerShare) float64 { return l.Cost }),
		number("cost_adjustment", func(l *allocation.LoadBalancerShare) float64 { return l.Adjustment }),
	}
}
