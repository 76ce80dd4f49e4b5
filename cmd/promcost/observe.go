package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
)

// beforeReading is the input of errors that come before anything is read. The source does not name one.
const beforeReading = "source"

// observe records a computation in the health metrics, and logs it if it was slow.
func (s *service) observe(o promquery.Observation, slow log.Logger) {
	s.health.ObserveComputation(time.Now(), o.Duration, o.Err)
	if o.Reading == nil {
		if o.Err != nil {
			failed := []allocation.InputUse{{Input: beforeReading, Errors: 1}}
			s.health.ObserveSource(allocation.SourceReading{Name: s.computer.source.kind, Inputs: failed})
		}
		return
	}
	for _, src := range o.Reading.Sources {
		s.health.ObserveSource(src)
	}
	if s.logs.slow > 0 && o.Duration > s.logs.slow {
		level.Warn(slow).Log(slowQuery(&o)...)
	}
}

// slowQuery is the log line of a computation that took long.
func slowQuery(o *promquery.Observation) []any {
	r := o.Reading
	line := []any{
		"msg", "Slow computation", "start", r.Window.Start.UTC().Format(time.RFC3339), "end", r.Window.End.UTC().Format(time.RFC3339),
		"step", o.Query.Step, "resolution", allocation.ResolutionText(r.Resolution), "scrape_interval", r.ScrapeInterval,
		"total", o.Duration, "read", r.Read, "integrate", r.Integrate,
	}
	var sources, inputs, stages []string
	for i := range r.Sources {
		src := &r.Sources[i]
		sources = append(sources, fmt.Sprintf("%s %s: %d requests (%d retries, %d errors), %d bytes, %d series, %d samples",
			src.Name, src.Took, src.Requests, src.Retries, src.Errors, src.Bytes, src.Series, src.Samples))
		inputs = append(inputs, src.Name+" "+dearest(src))
	}
	for _, st := range r.Stages {
		stages = append(stages, fmt.Sprintf("%s %s: %d samples", st.Name, st.Took, st.Samples))
	}
	return append(line, "sources", strings.Join(sources, "; "), "inputs", strings.Join(inputs, "; "), "stages", strings.Join(stages, "; "), "err", o.Err)
}

// mostInputs is how many inputs of a source are logged.
const mostInputs = 5

// dearest lists the inputs of a source that took most time, in that order.
func dearest(src *allocation.SourceReading) string {
	inputs := slices.Clone(src.Inputs)
	slices.SortStableFunc(inputs, func(a, b allocation.InputUse) int {
		return cmp.Or(cmp.Compare(b.Requesting, a.Requesting), cmp.Compare(b.Bytes, a.Bytes))
	})
	var texts []string
	for _, in := range inputs[:min(mostInputs, len(inputs))] {
		texts = append(texts, fmt.Sprintf("%s %s: %d requests, %d bytes, %d samples", in.Input, in.Requesting, in.Requests, in.Bytes, in.Samples))
	}
	return strings.Join(texts, ", ")
}
