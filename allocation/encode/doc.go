// Package encode writes sets of allocations and their assets: as JSON in the shapes that the clients of Kubecost, OpenCost
// and ACK read, as CSV, and as tables for people.
//
// Encoders write as they go: memory does not follow the size of what is written, but for 24 to 32 bytes a row of a set that put
// its rows in order. JSON of many rows is made on all processors, some rows on each at a time, and written in order by the caller. What they write is determined by the set and
// the options alone; rows are in the order of their names unless an encoder says otherwise. Numbers keep full precision
// in JSON. An error is the writer's; what was written before it stays written.
package encode

import (
	"math"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
)

// Options say how JSON is written. The zero value is UTC and the plural names of properties.
type Options struct {
	// Location is the time zone that windows, and the times of assets, are written in; nil is UTC.
	Location *time.Location
	// SingularProperties calls the properties services, labels and annotations in the singular, as Kubecost's
	// documentation does.
	SingularProperties bool
	// Warnings are about the request; they are sent with those of the sets.
	Warnings []string
	// Resolution names the resolution that was used; empty is left out.
	Resolution string
	// BilledUntil is until when bills are final, by which costs were reconciled; zero is left out.
	BilledUntil time.Time
	// EstimatedFrom is from when costs are in part estimated from bills, and EstimatedShare the part of the cost of all assets that is;
	// zero is left out.
	EstimatedFrom  time.Time
	EstimatedShare float64
	// Page is the part of each set that is written, and its order.
	Page Page
	// Fields are the members of allocations and assets that are written; nil writes all.
	Fields []string
	// Asked is the window that was asked for: windows of sets may be rounded to longer ones. The zero window is that of the sets.
	Asked allocation.Window
	// RateHours scales the costs of allocations from the hours of their set's window that have data to so many hours; 0 leaves them as
	// they are.
	RateHours float64
	// Now ends the windows of sets that are not over yet, for rates; the zero time ends none.
	Now time.Time
	// Explain are the computations behind the answer that the member explain shows; nil leaves it out.
	Explain []*allocation.Reading
	// PricedBy is what everything in the window costs by the sources of prices, for the member explain.
	PricedBy []allocation.SourceCost
	// UnknownIsZero writes unknown usage as 0 in JSON and CSV, for clients of Kubecost and OpenCost, which do not accept null.
	UnknownIsZero bool
	// Concerns says which topics' warnings are sent; nil sends all.
	Concerns func(notices.Topic) bool
}

func (o *Options) location() *time.Location {
	if o.Location == nil {
		return time.UTC
	}
	return o.Location
}

// written is the number to write for v. NaN stands for unknown, which is null in JSON and empty in CSV.
func (o *Options) written(v float64) float64 {
	if o.UnknownIsZero && math.IsNaN(v) {
		return 0
	}
	return v
}

// AllWarnings are the warnings of the options and of adjacent sets, and that of missing data, each once: those that matter most first.
func (o *Options) AllWarnings(sets []*allocation.Set) []string {
	return o.sorted(o.warnCovered(o.setWarnings(sets), stretches(sets)))
}

// setWarnings are the warnings of the options and of the sets.
func (o *Options) setWarnings(sets []*allocation.Set) []string {
	all := slices.Clone(o.Warnings)
	for _, s := range sets {
		all = append(all, s.Warnings...)
	}
	return all
}

// sorted are the warnings that concern the answer, those of one kind joined, by how much they matter. It may change all.
func (o *Options) sorted(all []string) []string {
	if o.Concerns != nil {
		all = slices.DeleteFunc(all, func(w string) bool { return !o.Concerns(notices.TopicOf(w)) })
	}
	all = notices.JoinWarnings(all)
	notices.ByLevel(all)
	return all
}
