package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/passes"
)

// maxReply bounds the answers that are read into memory.
const maxReply = 1 << 30

// reply is the envelope that promcost, Kubecost and OpenCost answer with.
type reply struct {
	Code     int      `json:"code"`
	Message  string   `json:"message"`
	Warnings []string `json:"warnings"`
	// Resolution is the resolution that was used; "" if the server does not say.
	Resolution string                 `json:"resolution"`
	Data       []map[string]*costLine `json:"data"`
	// The hours of the sets' windows up to now, and those of them that have data: of all sets, and of each if there are several.
	WindowHours     float64   `json:"windowHours"`
	CoveredHours    float64   `json:"coveredHours"`
	SetCoveredHours []float64 `json:"setCoveredHours"`
	// BilledUntil is until when bills correct the costs; nil if none does, or if the server does not say.
	BilledUntil *time.Time `json:"billedUntil"`
}

// costLine is the part of an allocation that a table shows, in the units of the API: hours, averages, money.
type costLine struct {
	Window struct {
		Start time.Time `json:"start"`
		End   time.Time `json:"end"`
	} `json:"window"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Minutes float64   `json:"minutes"`

	CPUHours      float64  `json:"cpuCoreHours"`
	CPUEfficiency *float64 `json:"cpuEfficiency"`
	CPURequest    float64  `json:"cpuCoreRequestAverage"`
	CPUUsage      *float64 `json:"cpuCoreUsageAverage"` // null if unknown
	RAMHours      float64  `json:"ramByteHours"`
	RAMEfficiency *float64 `json:"ramEfficiency"`
	RAMRequest    float64  `json:"ramByteRequestAverage"`
	RAMUsage      *float64 `json:"ramByteUsageAverage"`
	GPUHours      float64  `json:"gpuHours"`

	costs [allocation.NumColumns]float64 // of the columns that are money
}

// UnmarshalJSON reads a line. Each cost has the name of its column, but what network usage costs is read as one sum: older
// servers do not split it.
func (l *costLine) UnmarshalJSON(text []byte) error {
	type members costLine
	if err := json.Unmarshal(text, (*members)(l)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	names := map[allocation.Column]string{}
	for _, c := range allocation.MoneyColumns() {
		names[c] = c.String()
	}
	for _, c := range allocation.SharedNetwork.ListColumns() {
		delete(names, c)
	}
	names[allocation.NetworkInternetCost] = "networkCost"
	for c, name := range names {
		if number, ok := all[name]; ok {
			if err := json.Unmarshal(number, &l.costs[c]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// readReply reads an answer. It is an error if the text is not an answer, such as a proxy's page.
func readReply(r io.Reader) (*reply, error) {
	var answer reply
	if err := json.NewDecoder(io.LimitReader(r, maxReply)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read answer: it is not an allocation API's: %w", err)
	}
	return &answer, nil
}

// sets are the answer's sets. Rows keep their names in the answer.
func (a *reply) sets() ([]*allocation.Set, error) {
	// A set's rows are named by aggregating: each name travels as a namespace, whatever it is in truth.
	byName, err := allocation.ParseKeys("namespace", allocation.DefaultLabelMapping())
	if err != nil {
		return nil, err
	}
	dict := allocation.NewDict()
	sets := make([]*allocation.Set, 0, len(a.Data))
	for _, data := range a.Data {
		set := allocation.NewSet(allocation.Window{}, dict)
		for _, name := range sortedKeys(data) {
			if line := data[name]; line != nil {
				set.Window = allocation.Window{Start: line.Window.Start, End: line.Window.End}
				set.Append(line.row(cmp.Or(name, "(all)")))
			}
		}
		sets = append(sets, set)
	}
	return passes.Apply(sets, passes.Options{Aggregate: byName})
}

// lacksData reports whether the server says that no hour of the window has data, and has no row.
func (a *reply) lacksData() bool {
	return a.WindowHours > 0 && a.CoveredHours == 0 && !slices.ContainsFunc(a.Data, func(set map[string]*costLine) bool { return len(set) > 0 })
}

// coverage says how much of the i-th set's window has data, as the server says it. Other servers do not: then it is all of the window up
// to now.
func (a *reply) coverage(i int, w allocation.Window, now time.Time) coverage.Coverage {
	c := coverage.Measure(w, nil, now)
	switch {
	case i < len(a.SetCoveredHours):
		c.Hours = a.SetCoveredHours[i]
	case len(a.Data) == 1 && a.WindowHours > 0:
		c.Hours, c.Window = a.CoveredHours, a.WindowHours
	}
	return c
}

// row is the line as a row of a set, which keeps averages as sums.
func (l *costLine) row(name string) *allocation.Row {
	hours := l.Minutes / 60
	r := &allocation.Row{Start: l.Start, End: l.End}
	r.Text[allocation.Namespace] = name
	r.Values = l.costs
	r.Values[allocation.RunningSeconds] = l.Minutes * 60
	r.Values[allocation.Hours.Of(allocation.CPU)] = l.CPUHours
	r.Values[allocation.RequestHours.Of(allocation.CPU)] = l.CPURequest * hours
	r.Values[allocation.Hours.Of(allocation.RAM)] = l.RAMHours
	r.Values[allocation.RequestHours.Of(allocation.RAM)] = l.RAMRequest * hours
	r.Values[allocation.Hours.Of(allocation.GPU)] = l.GPUHours
	l.setUsage(r, allocation.CPU, l.CPUUsage, l.CPUEfficiency)
	l.setUsage(r, allocation.RAM, l.RAMUsage, l.RAMEfficiency)
	return r
}

// setUsage sets the usage of a resource, and the part of its request whose usage is unknown: the request less usage over
// efficiency. A null average means that all usage is unknown.
func (l *costLine) setUsage(r *allocation.Row, of allocation.Resource, average, efficiency *float64) {
	request, unknown := r.Values[allocation.RequestHours.Of(of)], &r.Values[allocation.UnknownRequestHours.Of(of)]
	if average == nil {
		r.Values[allocation.UnknownSeconds.Of(of)], *unknown = l.Minutes*60, request
		return
	}
	used := *average * l.Minutes / 60
	r.Values[allocation.UsageHours.Of(of)] = used
	if efficiency != nil && *efficiency > 0 && request > 0 {
		*unknown = request - used / *efficiency
	}
}
