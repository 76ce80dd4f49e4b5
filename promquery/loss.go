package promquery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/notices"
)

// Loss is a part of a source whose samples could not be read.
type Loss struct {
	Of       string   // the part, for people: block 01K…
	From, To int64    // the time of the samples, half-open, Unix milliseconds
	Metrics  []string // the metrics that lack samples, sorted; nil is all
	Cause    string   // why the first of several could not be read
	Remedy   string   // the remedy
}

// mostMetrics is how many metrics of a loss are named.
const mostMetrics = 8

// String says what is missing.
func (l *Loss) String() string {
	if l.Metrics == nil {
		return l.Cause
	}
	names, more := l.Metrics, ""
	if n := len(names) - mostMetrics; n > 0 {
		names, more = names[:mostMetrics], fmt.Sprintf(" and %d others", n)
	}
	return fmt.Sprintf("%s cannot be read in whole (first: %s): samples from %s to %s are missing of these metrics: %s%s; %s",
		l.Of, l.Cause, instant(l.From), instant(l.To), strings.Join(names, ", "), more, l.Remedy)
}

// has reports whether samples of a metric are missing in a whole stretch of time, except for less than a hole.
func (l *Loss) has(metric string, from, to, hole int64) bool {
	return (l.Metrics == nil || slices.Contains(l.Metrics, metric)) && l.From-hole <= from && to <= l.To+hole
}

// Lose adds a loss. Several losses of one part become one.
func (s *Stats) Lose(l Loss) {
	i := slices.IndexFunc(s.Losses, func(x Loss) bool { return x.Of == l.Of })
	if i < 0 {
		l.Metrics = slices.Clone(l.Metrics)
		s.Losses = append(s.Losses, l)
		return
	}
	x := &s.Losses[i]
	x.From, x.To = min(x.From, l.From), max(x.To, l.To)
	if x.Metrics == nil || l.Metrics == nil {
		if x.Metrics != nil {
			x.Metrics, x.Cause = nil, l.Cause
		}
		return
	}
	x.Metrics = append(x.Metrics, l.Metrics...)
	slices.Sort(x.Metrics)
	x.Metrics = slices.Compact(x.Metrics)
}

// Whole reports whether nothing is known to be missing.
func (s *Stats) Whole() bool { return len(s.Warnings) == 0 && len(s.Losses) == 0 }

// Missing says in words what is known to be missing.
func (s *Stats) Missing() []string {
	out := slices.Clone(s.Warnings)
	for i := range s.Losses {
		out = append(out, s.Losses[i].String())
	}
	return out
}

// SkippedChunks says how many chunks of a metric were left out because of their encoding. The error first says what is wrong with
// the first malformed one.
func SkippedChunks(metric string, histograms, malformed int, first error) []string {
	var out []string
	if histograms > 0 {
		out = append(out, notices.HistogramChunks.Text(histograms, nil, metric))
	}
	if malformed > 0 {
		out = append(out, notices.MalformedChunks.Text(malformed, nil, metric, first.Error()))
	}
	return out
}
