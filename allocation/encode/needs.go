package encode

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
)

// Format is how allocations are written.
type Format uint8

// The formats, by the functions that write them.
const (
	AllocationsFormat Format = iota
	SummaryFormat            // and Topline
	TrendsFormat
	CSVFormat
	FullCSVFormat
	ColumnsFormat // Arrow and Parquet
)

// Needs returns the data of rows that a format writes with the page and the fields of o.
func (o *Options) Needs(format Format) *allocation.Projection {
	switch format {
	case SummaryFormat:
		return allocation.Union(append(fieldNeeds(summaryNames()...), o.Page.Needs())...)
	case TrendsFormat:
		return allocation.Union(fieldNeeds("totalCost")...)
	case CSVFormat:
		return allocation.Union(append(fieldNeeds("totalCost", "totalEfficiency"), o.Page.Needs())...)
	case FullCSVFormat:
		texts := make([]allocation.Property, len(fullColumns))
		for i, c := range fullColumns {
			texts[i] = c.property
		}
		return allocation.Union(append(fieldNeeds(fieldNames()...), allocation.OfRows(texts))...)
	case ColumnsFormat:
		return allocation.Everything()
	case AllocationsFormat:
	}
	members := o.Fields
	if members == nil {
		members = Members()
	}
	all := []*allocation.Projection{o.Page.Needs()}
	for _, name := range members {
		all = append(all, memberNeeds(name))
	}
	return allocation.Union(all...)
}

// Needs is the data that rows are ordered by.
func (p Page) Needs() *allocation.Projection {
	return allocation.Union(fieldNeeds(cmp.Or(p.By, "totalCost"))...)
}

// memberNeeds is the data that a member of an allocation shows.
func memberNeeds(name string) *allocation.Projection {
	switch name {
	case "properties":
		properties := allocation.Everything().Properties
		return allocation.OfRows(slices.DeleteFunc(properties, func(p allocation.Property) bool { return !isServed(p) }))
	case "pvs":
		return &allocation.Projection{Volumes: true, WithoutAssets: true}
	case "lbAllocations":
		return &allocation.Projection{Balancers: true, WithoutAssets: true}
	case "gpuAllocation":
		of := allocation.OfRows([]allocation.Property{allocation.GPUDevices}, allocation.Hours.Of(allocation.GPU))
		return allocation.Union(append(fieldNeeds("gpuUsageAverage", "gpuRequestAverage"), of)...)
	case "rawAllocationOnly":
		all := []*allocation.Projection{allocation.OfRows(allocation.InstanceProperties[:])} // they tell whether rows are of several containers
		for r := range allocation.NumResources {
			all = append(all, fields.UsageNeeds(r), allocation.OfRows(nil, allocation.UsageMax.Of(r)))
		}
		return allocation.Union(all...)
	case "errorBounds":
		return fields.ErrorBoundsNeeds()
	}
	return allocation.Union(fieldNeeds(name)...) // members that are no field tell times, and what passes recorded
}

// fieldNeeds is the data that fields are derived from.
func fieldNeeds(names ...string) (needs []*allocation.Projection) {
	for _, f := range slices.Concat(fields.All(), fields.OnDemand()) {
		if slices.Contains(names, f.Name) {
			needs = append(needs, f.Needs())
		}
	}
	return needs
}

// fieldNames are the names of all fields.
func fieldNames() (names []string) {
	for _, f := range fields.All() {
		names = append(names, f.Name)
	}
	return names
}

// summaryNames are the fields of a summary.
func summaryNames() (names []string) {
	for _, f := range summaryFields {
		names = append(names, f.name, f.adjustment)
	}
	return names
}

// isServed reports whether a property is a member of properties. The UIDs of pods are not served, and GPUs are in gpuAllocation.
func isServed(p allocation.Property) bool {
	return p != allocation.PodUID && p != allocation.GPUDevices
}

// writes reports whether a member of allocations is written.
func (o *Options) writes(member string) bool {
	return o.Fields == nil || slices.Contains(o.Fields, member)
}

// require returns an error if one of the sets lacks data that the format needs, because they were not read.
func (o *Options) require(format Format, sets ...*allocation.Set) error {
	needs := o.Needs(format)
	for _, s := range sets {
		if err := s.Require(needs); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	return nil
}
