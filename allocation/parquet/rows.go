package parquet

import "github.com/promcost/promcost/allocation"

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
)

// allocationColumns are the columns of a set's rows.
func allocationColumns(s *allocation.Set) []column {
	n := s.Len()
	var cols []column
	if !s.Built() {
		cols = append(cols, textColumn(nameField, n, s.Name))
	}
	cols = append(cols,
		timeColumn(windowStart, n, func(int) int64 { return s.Window.Start.UnixMilli() }),
		timeColumn(windowEnd, n, func(int) int64 { return s.Window.End.UnixMilli() }),
		textColumn(kindField, n, func(row int) string { return s.Special(row).Field() }))
	for p := range allocation.NumProperties {
		cols = append(cols, propertyColumns(s, p)...)
	}
	cols = append(cols,
		timeColumn(startField, n, func(row int) int64 { return s.Start(row).UnixMilli() }),
		timeColumn(endField, n, func(row int) int64 { return s.End(row).UnixMilli() }))
	for c := range allocation.NumColumns {
		cols = append(cols, numberColumn(c.Field(), n, func(row int) float64 { return s.Value(c, row) }))
	}
	return append(cols,
		structsColumn(volumesField, n, s.Volumes, volumeMembers(s.Dict())),
		structsColumn(balancersField, n, s.LoadBalancerShares, balancerMembers(s.Dict())))
}

// propertyColumns are the columns of a property.
func propertyColumns(s *allocation.Set, p allocation.Property) []column {
	d := s.Dict()
	switch {
	case p.IsMap():
		return []column{mapColumn(p.Field(), s.Len(), func(row int) int { return len(s.Pairs(p, row)) }, func(row, i int) (string, string) {
			pair := s.Pairs(p, row)[i]
			return d.Text(pair.Key), d.Text(pair.Value)
		})}
	case p.IsList():
		return []column{listColumn(p.Field(), s.Len(), func(row int) int { return len(s.List(p, row)) }, func(row, i int) string { return d.Text(s.List(p, row)[i]) })}
	case p == allocation.PodUID:
		return uuidColumns(p.Field(), otherUIDs, s.Len(), func(row int) string { return s.Text(p, row) })
	}
	return []column{textColumn(p.Field(), s.Len(), func(row int) string { return s.Text(p, row) })}
}

func volumeMembers(d *allocation.Dict) []structMember[allocation.VolumeShare] {
	type share = allocation.VolumeShare
	return []structMember[share]{
		{textElement("key"), func(w *leafWriter, v *share) { w.addText(d.Text(v.Key)) }},
		{textElement("provider_id"), func(w *leafWriter, v *share) { w.addText(d.Text(v.ProviderID)) }},
		{numberElement("byte_hours"), func(w *leafWriter, v *share) { w.addNumber(v.ByteHours) }},
		{numberElement("cost"), func(w *leafWriter, v *share) { w.addNumber(v.Cost) }},
		{numberElement("cost_adjustment"), func(w *leafWriter, v *share) { w.addNumber(v.Adjustment) }},
	}
}

func balancerMembers(d *allocation.Dict) []structMember[allocation.LoadBalancerShare] {
	type share = allocation.LoadBalancerShare
	return []structMember[share]{
		{textElement("key"), func(w *leafWriter, l *share) { w.addText(d.Text(l.Key)) }},
		{textElement("service"), func(w *leafWriter, l *share) { w.addText(d.Text(l.Service)) }},
		{textElement("ip"), func(w *leafWriter, l *share) { w.addText(d.Text(l.IP)) }},
		{boolElement("private"), func(w *leafWriter, l *share) { w.bools = append(w.bools, l.Private) }},
		{numberElement("hours"), func(w *leafWriter, l *share) { w.addNumber(l.Hours) }},
		{numberElement("cost"), func(w *leafWriter, l *share) { w.addNumber(l.Cost) }},
		{numberElement("cost_adjustment"), func(w *leafWriter, l *share) { w.addNumber(l.Adjustment) }},
	}
}
