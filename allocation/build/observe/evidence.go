package observe

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// evidence is how far beyond the window signals are read.
type evidence struct {
	After      int64 // how long after the window signals exist, in milliseconds
	Most       int64 // the longest margin: allocation.Evidence, in whole steps of the grid
	Incomplete bool  // samples after the window are needed and do not exist yet
	Closed     bool  // those samples should exist: the window is a set of Query.Alone
	// UsageUntil and PricesUntil are until when usage and prices are added, if that is later than Sampling says.
	UsageUntil, PricesUntil int64
}

// addMargins puts a margin before and after the window. Margins are computed as if they had been asked for, and then dropped. So
// a border between two windows does not change results near it.
func (ob *Observer) addMargins(q *allocation.Query) {
	s := &ob.Sampling
	step := max(s.Step, 1)
	e := &ob.Evidence
	e.After, e.Most, e.Closed = q.After.Milliseconds(), allocation.Evidence.Milliseconds()/step*step, q.Alone
	before := ob.Margin()
	after := min(before, e.After/step*step)
	e.Incomplete = e.Closed && after < before
	ob.First, ob.Last = 0, len(ob.Windows)
	if before > 0 {
		ob.Windows = slices.Insert(ob.Windows, 0, allocation.Window{Start: q.Window.Start.Add(-milliseconds(before)), End: q.Window.Start})
		ob.First, ob.Last = 1, ob.Last+1
		s.Start -= before
	}
	if after > 0 {
		ob.Windows = append(ob.Windows, allocation.Window{Start: q.Window.End, End: q.Window.End.Add(milliseconds(after))})
		s.End += after
	}
	if s.Exact() {
		s.Margin = before
	}
}

// Margin is the least length of a margin.
func (ob *Observer) Margin() int64 {
	s, step := &ob.Sampling, max(ob.Sampling.Step, 1)
	least := max(timeline.Lookback, 2*s.Interval, 2*s.Step) // two cells on a grid, which bridges gaps of one
	return min((least+step-1)/step*step, ob.Evidence.Most)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Start is the start of the window, without the margin before it.
func (ob *Observer) Start() int64 { return ob.Borders[ob.First] }

// End is the end of the window, without the margin after it.
func (ob *Observer) End() int64 { return ob.Borders[ob.Last] }

// Asked is the part of s within the window.
func (ob *Observer) Asked(s timeline.Intervals) timeline.Intervals {
	return s.Clip(ob.Start(), ob.End())
}

// pricesSampling returns how to sample the points of prices.
func (ob *Observer) pricesSampling() timeline.Sampling {
	sampling := ob.Sampling
	sampling.End = max(sampling.End, ob.Evidence.PricesUntil)
	return sampling
}

// DevicesUnseen reports whether a container ran through a margin in which no use of its devices was seen, though some was seen at
// other times.
func (ob *Observer) DevicesUnseen(from, to int64) bool {
	for c := range ob.Every() {
		if from >= to || c.Devices == nil || len(c.Devices.Used) == 0 {
			continue
		}
		seen := false
		for _, used := range c.Devices.Used {
			for _, x := range used.Best() {
				seen = seen || x.From < to && x.To > from
			}
		}
		if !seen && c.Running.Best().LengthWithin(from, to) == to-from {
			return true
		}
	}
	return false
}

// FillGaps holds values over gaps of up to allocation.Evidence, which is as far as any window can see.
func (ob *Observer) FillGaps(s timeline.Steps) timeline.Steps { return s.Reach(ob.Evidence.Most) }

// RunsOver reports whether a container that runs at the instant at, an end of the window, runs from before from until to. It may also run
// while no container of its cluster is seen.
func (ob *Observer) RunsOver(c *Container, at, from, to int64) bool {
	absent := ob.AbsentIn(c.Pod.Cluster).Containers.Absent
	run, ok := c.Runs.Find(at)
	if gap, silent := absent.Find(from + 1); silent && gap.To >= run.From {
		run.From = min(run.From, gap.From)
	}
	if gap, silent := absent.Find(to); silent && gap.From <= run.To {
		run.To = max(run.To, gap.To)
	}
	return ok && run.From < from && run.To >= to
}

// Reported reports whether a signal says of a container of p when it ran.
func (p *Pod) Reported() bool {
	return slices.ContainsFunc(p.Containers, func(c *Container) bool { return len(c.Running) > 0 })
}
