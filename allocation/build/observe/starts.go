package observe

import (
	"math"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// ReportedStarts are the starts that are reported within an hour of t. Every window around t knows these.
func (c *Container) ReportedStarts(t int64) timeline.Steps {
	return c.Started.Around(t, allocation.Evidence.Milliseconds())
}

// StartedWithin returns when the container last started in (from, to], by the starts reported, else by its runs. ok is false if
// it did not start.
func (c *Container) StartedWithin(from, to int64) (at int64, ok bool) {
	at = math.MinInt64
	for _, x := range c.ReportedStarts(to) {
		if v := int64(x.V * 1000); v <= to {
			at = max(at, v)
		}
	}
	if at == math.MinInt64 {
		if run, running := c.Runs.Find(to); running {
			at = run.From
		}
	}
	return at, at > from && at <= to
}

// NextStart is the first reported start of the container after t, timeline.Forever if there is none.
func (c *Container) NextStart(t int64) int64 { return c.ReportedStarts(t).NextInstant(t) }

// HasRestarted reports whether a container is known to have started more than once within the window. It may then have a usage
// series for each start.
func (c *Container) HasRestarted() bool {
	return len(c.Runs) > 1 || c.Started.Varies() || c.Restarts.Varies()
}

// FirstStart is the first reported start of some of a pod's containers, in Unix milliseconds, 0 if there is none.
func (p *Pod) FirstStart(counts func(*Container) bool) int64 {
	first := 0.0
	for _, c := range p.Containers {
		for _, x := range c.Started {
			if counts(c) && x.V > 0 && (first == 0 || x.V < first) {
				first = x.V
			}
		}
	}
	return int64(first * 1000)
}

// StartBefore is the last known start of the container at or before t, even if it was reported later: cAdvisor may see a restart before
// kube-state-metrics reports its time.
func (c *Container) StartBefore(t int64) (at int64, known bool) {
	for _, x := range c.ReportedStarts(t) {
		if v := int64(x.V * 1000); v <= t && v > at {
			at, known = v, true
		}
	}
	if !known && c.Pod.Started.Known() {
		return int64(c.Pod.Started.Value * 1000), true
	}
	return at, known
}

// LacksStart reports whether a sight of c lasts more than a lookback longer than its start is reported.
func (c *Container) LacksStart(s timeline.Step) bool {
	return s.V != 0 && s.To-s.From-c.Started.LengthWithin(s.From, s.To) > timeline.Lookback
}

// HasStart reports whether a start of c is known.
func (c *Container) HasStart() bool { return len(c.Started) > 0 || len(c.Created) > 0 }
