package encode

import (
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/expected"
)

// Judged are the sets that an answer about expected costs is made of: when they have data, and their warnings.
type Judged struct {
	stretches []stretch
	warnings  []string
}

// AddSet adds a set. Sets are adjacent, the oldest first.
func (j *Judged) AddSet(w allocation.Window, covered []allocation.Covered, warnings []string) {
	j.stretches = append(j.stretches, stretch{w, covered})
	for _, text := range warnings {
		if !slices.Contains(j.warnings, text) {
			j.warnings = append(j.warnings, text)
		}
	}
}

// Covered is when clusters have data in all of the sets.
func (j *Judged) Covered() []allocation.Covered { return coverage.Join(joined(j.stretches)) }

// finish ends an answer of the sets from an instant on.
func (j *Judged) finish(b []byte, o Options, from time.Time) []byte {
	first := slices.IndexFunc(j.stretches, func(x stretch) bool { return !x.window.Start.Before(from) })
	if first < 0 {
		first = len(j.stretches)
	}
	return o.finish(b, o.sorted(append(slices.Clone(o.Warnings), j.warnings...)), j.stretches[first:])
}

// Notes on expected costs, which every answer with them has.
const (
	mediansNote = "medians do not add: what all together are expected to cost is not the sum of what each is"
	growthNote  = "growth is not extrapolated: what grows every week is above what is expected"
)

// appendNotes appends what is to be known of expected costs.
func appendNotes(b []byte) []byte {
	b = appendString(append(b, `,"notes":[`...), mediansNote)
	return append(appendString(append(b, ','), growthNote), ']')
}

// UnusualRow is a day on which a result cost unusually much or little.
type UnusualRow struct {
	Name  string
	Day   allocation.Window
	Cost  float64
	Of    expected.Cost
	Score float64
	// Change is the question to /model/allocation/change that says why, as a path with its parameters.
	Change string
}

// Unusual is an answer about unusual days.
type Unusual struct {
	Judged
	Window    allocation.Window
	Threshold float64
	Rows      []UnusualRow // in their order
	Count     int          // of all rows, also those that are on other pages
	Unknown   int          // days of results with a cost that were compared with nothing
}

// WriteUnusual writes unusual days.
func WriteUnusual(w io.Writer, u *Unusual, o Options) error {
	s := newStream(w)
	s.b = appendWindow(append(s.b, `{"code":200,"status":"success","data":{"window":`...), u.Window, o.location())
	s.b = appendNumber(append(s.b, `,"threshold":`...), u.Threshold)
	s.b = strconv.AppendInt(append(s.b, `,"count":`...), int64(u.Count), 10)
	s.b = strconv.AppendInt(append(s.b, `,"unknown":`...), int64(u.Unknown), 10)
	s.b = append(appendNotes(s.b), `,"rows":[`...)
	for i := range u.Rows {
		r := &u.Rows[i]
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = appendString(append(s.b, `{"name":`...), r.Name)
		s.b = appendWindow(append(s.b, `,"day":`...), r.Day, o.location())
		s.b = appendNumber(append(s.b, `,"cost":`...), r.Cost)
		s.b = appendNumber(append(s.b, `,"expected":`...), r.Of.Expected)
		s.b = appendNumber(append(s.b, `,"spread":`...), r.Of.Spread)
		s.b = appendNumber(append(s.b, `,"score":`...), r.Score)
		s.b = append(appendString(append(s.b, `,"change":`...), r.Change), '}')
		s.checkpoint()
	}
	s.b = u.finish(append(s.b, "]}"...), o, u.Window.Start)
	return s.close()
}

// ForecastDay is what a day that is left of a period will cost.
type ForecastDay struct {
	Window allocation.Window
	expected.Forecast
}

// ForecastRow is what a result will cost in a period.
type ForecastRow struct {
	Name   string
	Closed float64 // what it has cost so far, NaN if that is not known
	Days   []ForecastDay
	Total  expected.Forecast
	Known  bool // the period is known; without it, there are no Days
}

// Forecasts is an answer about a period.
type Forecasts struct {
	Judged
	Period    allocation.Window
	Aggregate string
	Total     ForecastRow   // of all results together, whatever it is named
	Rows      []ForecastRow // by name
}

// allName is the name of the forecast of all results together.
const allName = "all"

// WriteForecasts writes what a period will come to, in the shape of Kubecost's forecasts: predictions by name, each a list of days. What is not
// known is null.
func WriteForecasts(w io.Writer, f *Forecasts, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":{`...)
	s.b = append(appendString(s.b, "arima/"+f.Aggregate), `:{"model":"median","status":`...) // as clients look for it
	status := "trained"
	if !f.Total.Known {
		status = "untrained"
	}
	s.b = appendString(s.b, status)
	s.b = appendString(append(s.b, `,"aggregate":`...), f.Aggregate)
	s.b = appendWindow(append(s.b, `,"window":`...), f.Period, o.location())
	s.b = appendTotal(append(s.b, ','), &f.Total, "TotalPredictedCost", "bestCasePredicted", "worstCasePredicted")
	s.b = appendNotes(s.b)
	s.b = append(s.b, `,"predictions":{`...)
	rows := []ForecastRow{f.Total}
	rows[0].Name = allName
	for i := range f.Rows {
		if f.Rows[i].Name != allName { // that name is taken, as in Kubecost's answers
			rows = append(rows, f.Rows[i])
		}
	}
	for i := range rows {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = append(appendString(s.b, rows[i].Name), ":["...)
		for k := range rows[i].Days {
			if k > 0 {
				s.b = append(s.b, ',')
			}
			s.b = o.appendPrediction(s.b, &rows[i].Days[k])
		}
		s.b = append(s.b, ']')
		s.checkpoint()
	}
	s.b = append(s.b, `},"totals":{`...)
	for i := range rows {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = append(appendString(s.b, rows[i].Name), ":{"...)
		s.b = append(appendTotal(s.b, &rows[i], "predictedCost", "lowerConfidenceLimit", "upperConfidenceLimit"), '}')
		s.checkpoint()
	}
	s.b = f.finish(append(s.b, "}}}"...), o, f.Period.Start)
	return s.close()
}

// appendTotal appends what a period comes to as members of these names, and which part of it is closed.
func appendTotal(b []byte, r *ForecastRow, names ...string) []byte {
	b = appendNumber(append(b, `"closedCost":`...), r.Closed)
	for i, v := range [...]float64{r.Total.Expected, r.Total.Low, r.Total.High} {
		b = append(appendString(append(b, ','), names[i]), ':')
		if r.Known {
			b = appendNumber(b, v)
		} else {
			b = append(b, "null"...)
		}
	}
	return b
}

// appendPrediction appends a day of a forecast.
func (o *Options) appendPrediction(b []byte, d *ForecastDay) []byte {
	b = appendWindow(append(b, `{"window":`...), d.Window, o.location())
	b = appendNumber(append(b, `,"predictedCost":`...), d.Expected)
	b = appendNumber(append(b, `,"confidenceInterval":{"confidenceLevel":`...), expected.Confidence)
	b = appendNumber(append(b, `,"lowerConfidenceLimit":`...), d.Low)
	b = appendNumber(append(b, `,"upperConfidenceLimit":`...), d.High)
	return append(b, "}}"...)
}
