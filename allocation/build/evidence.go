package build

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// evidence is how far beyond the window signals are read.
type evidence struct {
	after      int64 // how long after the window signals exist, in milliseconds
	most       int64 // the longest margin: allocation.Evidence, in whole steps of the grid
	incomplete bool  // samples after the window are needed and do not exist yet
	closed     bool  // those samples should exist: the window is a set of Query.Alone
	// usageUntil and pricesUntil are until when usage and prices are added, if that is later than Sampling says.
	usageUntil, pricesUntil int64
}

// addMargins puts a margin before and after the window. Margins are computed as if they had been asked for, and then dropped. So
// a border between two windows does not change results near it.
func (b *Builder) addMargins(q *allocation.Query) {
	s := &b.sampling
	step := max(s.Step, 1)
	e := &b.evidence
	e.after, e.most, e.closed = q.After.Milliseconds(), allocation.Evidence.Milliseconds()/step*step, q.Alone
	before := b.margin()
	after := min(before, e.after/step*step)
	e.incomplete = e.closed && after < before
	b.first, b.last = 0, len(b.windows)
	if before > 0 {
		b.windows = slices.Insert(b.windows, 0, allocation.Window{Start: q.Window.Start.Add(-milliseconds(before)), End: q.Window.Start})
		b.first, b.last = 1, b.last+1
		s.Start -= before
	}
	if after > 0 {
		b.windows = append(b.windows, allocation.Window{Start: q.Window.End, End: q.Window.End.Add(milliseconds(after))})
		s.End += after
	}
	if s.Exact() {
		s.Margin = before
	}
}

// margin is the least length of a margin.
func (b *Builder) margin() int64 {
	s, step := &b.sampling, max(b.sampling.Step, 1)
	least := max(timeline.Lookback, 2*s.Interval, 2*s.Step) // two cells on a grid, which bridges gaps of one
	return min((least+step-1)/step*step, b.evidence.most)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// start is the start of the window, without the margin before it.
func (b *Builder) start() int64 { return b.borders[b.first] }

// end is the end of the window, without the margin after it.
func (b *Builder) end() int64 { return b.borders[b.last] }

// asked is the part of s within the window.
func (b *Builder) asked(s timeline.Intervals) timeline.Intervals { return s.Clip(b.start(), b.end()) }

// beyond returns what else must be read of everything but usage. If nothing of a cluster is seen at the beginning of what was read, or
// between the end of the window and the end of what was read, the margin there grows to its longest. Call it once, after everything
// but usage was added.
func (b *Builder) beyond() []Span {
	b.findAbsence()
	var out []Span
	if b.unseenBefore() {
		if loaded := b.loadedFrom; b.start()-b.evidence.most < b.sampling.Start {
			b.sampling.Start, b.sampling.Margin = b.start()-b.evidence.most, 0
			b.borders[0] = b.sampling.Start
			b.loadedFrom = b.sampling.LoadStart()
			out = append(out, Span{b.loadedFrom, b.sampling.Align(loaded - 1)})
		}
	}
	if b.unseenAfter() {
		most := min(b.evidence.most, b.evidence.after/max(b.sampling.Step, 1)*max(b.sampling.Step, 1))
		b.evidence.incomplete = b.evidence.incomplete || b.evidence.closed && most < b.evidence.most
		if loaded := b.sampling.End; b.last < len(b.windows) && b.end()+most > loaded {
			b.sampling.End = b.end() + most
			b.borders[len(b.borders)-1] = b.sampling.End
			out = append(out, Span{loaded + 1, b.sampling.End})
		}
	}
	return out
}

// unseenBefore reports whether the margin before the window has to grow.
func (b *Builder) unseenBefore() bool {
	at := b.sampling.Start + 1 // an outage that ends in the margin may have been a long one
	if b.sampling.Exact() {
		at += b.sampling.Interval // there may be no sample before that
	}
	return b.silentAt(at, func(gap timeline.Interval) bool { return gap.From <= b.loadedFrom }) || b.devicesUnseen(b.sampling.Start, b.start())
}

// unseenAfter reports whether the margin after the window has to grow.
func (b *Builder) unseenAfter() bool {
	return b.silentAt(b.end()+1, func(gap timeline.Interval) bool { return gap.To >= b.sampling.End }) || b.devicesUnseen(b.end(), b.sampling.End)
}

// unpriced returns what else must be read of prices, after the spans of beyond were added. If no metric prices the nodes of a cluster at
// one end of the window, prices are read as far beyond it as they are held.
func (b *Builder) unpriced() []Span {
	priced, some := map[signals.Symbol]prices.ByMetric{}, false
	for n := range b.everyNode() {
		of := priced[n.cluster]
		for r := range allocation.NumResources {
			of.Original = timeline.Max(of.Original, timeline.Ones(n.reported.priced[r].Original))
			of.Repeated = timeline.Max(of.Repeated, timeline.Ones(n.reported.priced[r].Repeated))
		}
		priced[n.cluster] = of
		some = some || len(of.Best()) > 0
	}
	unpriced := func(t int64) bool {
		for _, of := range priced {
			if _, known := of.Best().At(t); !known {
				return true
			}
		}
		return len(priced) == 0
	}
	var out []Span
	if from := b.start() - b.evidence.most - (b.sampling.Start + b.sampling.Margin - b.loadedFrom); unpriced(b.start()) && from < b.loadedFrom {
		out = append(out, Span{from, b.sampling.Align(b.loadedFrom - 1)})
	}
	if unpriced(b.end() + 1) {
		step := max(b.sampling.Step, 1)
		b.evidence.incomplete = b.evidence.incomplete || some && b.evidence.closed && b.evidence.after < b.evidence.most
		if to := b.end() + min(b.evidence.most, b.evidence.after/step*step); to > b.sampling.End {
			out = append(out, Span{b.sampling.End + 1, to})
			b.evidence.pricesUntil = to
		}
	}
	return out
}

// pricesSampling returns how to sample the points of prices.
func (b *Builder) pricesSampling() timeline.Sampling {
	sampling := b.sampling
	sampling.End = max(sampling.End, b.evidence.pricesUntil)
	return sampling
}

// silentAt reports whether some cluster, or any at all, was not seen at t, in an absence that is open: it may go on beyond what was read.
// If a cluster's containers are never seen, only its nodes count, and the other way round: the metric may not exist.
func (b *Builder) silentAt(t int64, open func(timeline.Interval) bool) bool {
	never := func(gaps timeline.Intervals) bool {
		return gaps.Length() >= b.sampling.End-b.loadedFrom
	}
	for _, a := range b.outages.absent {
		if never(a.containers.Absent) && never(a.nodes.Absent) {
			return true
		}
		for _, gaps := range [...]timeline.Intervals{a.containers.Absent, a.nodes.Absent} {
			if gap, ok := gaps.Find(t); ok && open(gap) && !never(gaps) {
				return true
			}
		}
	}
	return len(b.outages.absent) == 0
}

// devicesUnseen reports whether a container ran through a margin in which no use of its devices was seen, though some was seen at
// other times.
func (b *Builder) devicesUnseen(from, to int64) bool {
	for c := range b.every() {
		if from >= to || c.devices == nil || len(c.devices.used) == 0 {
			continue
		}
		seen := false
		for _, used := range c.devices.used {
			for _, x := range used.Best() {
				seen = seen || x.From < to && x.To > from
			}
		}
		if !seen && c.running.Best().LengthWithin(from, to) == to-from {
			return true
		}
	}
	return false
}

// warnIncomplete warns that samples after the window decide what is charged within it, and do not exist yet.
func (b *Builder) warnIncomplete() {
	if b.evidence.incomplete {
		b.warn("samples are missing around %s, the end of this set, and those of the hour after it are not there yet: what ran or was used on is not known. The set is incomplete, and is computed again once they are", notices.Instant(b.end()))
	}
}

// fillGaps holds values over gaps of up to allocation.Evidence, which is as far as any window can see.
func (b *Builder) fillGaps(s timeline.Steps) timeline.Steps { return s.Reach(b.evidence.most) }

// unknown reports whether a cell is an increase over a gap longer than Evidence. A window within the gap could not see it.
func (b *Builder) unknown(x *timeline.Cell) bool {
	return x.Held && x.To-x.From > max(b.evidence.most, b.sampling.Step)
}

// dropUnknown removes unknown cells from cells, in place. It also removes an empty held cell just before an unknown one: what was
// used in its time is part of the unknown increase.
func (b *Builder) dropUnknown(cells []timeline.Cell) []timeline.Cell {
	n := 0
	for i := range cells { // there are many, and mostly all are kept
		x := &cells[i]
		if !b.unknown(x) {
			if n < i {
				cells[n] = *x
			}
			n++
		} else if n > 0 && cells[n-1].Held && cells[n-1].Amount == 0 && cells[n-1].To == x.From {
			n--
		}
	}
	return cells[:n]
}

// unseenUsage says of which pods usage must be read beyond what Sampling says. They ran through one end of the window, and no usage of them
// was seen in its margin.
type unseenUsage struct {
	Span          // empty if no more is needed
	Pods []string // by name, ascending
}

// unseenPodsBefore returns the pods unseen before the window. Call it after levels of usage were added: counters come from the same targets.
func (b *Builder) unseenPodsBefore() (x unseenUsage) {
	b.measureRestarted()
	most := b.start() - b.evidence.most
	if b.sampling.Start <= most {
		return x
	}
	from := b.sampling.LoadStart()
	span := Span{from - (b.sampling.Start - most), b.sampling.Align(from - 1)}
	for c := range b.measuredContainers() {
		// One sample before the window does not show how fast a counter rises.
		use := b.containerUse(c)
		seen := use.seenFor(b.sampling.Start, b.start()) > 0 && use.seenFor(b.sampling.LoadStart(), b.start()) > b.sampling.Cell()
		older := c.pod.started.Known() && int64(c.pod.started.Value*1000) < b.sampling.Start // its traffic goes on where a container restarts
		if !seen && (b.runsOver(c, b.start(), b.sampling.Start, b.start()) || older && b.runsOver(c, b.start(), b.start()-2*b.sampling.Interval, b.start())) {
			x.Pods = append(x.Pods, c.pod.name.Value())
			x.Span, b.podUse(c.pod).from = span, span.Start
		}
	}
	return x.sorted()
}

// unseenPodsAfter returns the pods unseen after the window. Call it after the levels of unseenPodsBefore were added.
func (b *Builder) unseenPodsAfter() (x unseenUsage) {
	b.measureRestarted()
	if b.last == len(b.windows) {
		return x
	}
	measured := map[signals.Symbol]bool{} // clusters with usage at some time
	for c := range b.measuredContainers() {
		measured[c.pod.cluster] = measured[c.pod.cluster] || len(b.containerUse(c).covered[allocation.RAM]) > 0
	}
	short := b.sampling.End-b.sampling.Start <= b.evidence.most
	for c := range b.measuredContainers() {
		// Usage after the window says nothing about it if none was seen for longer than a gap may last, or if nobody measures usage.
		run, _ := c.runs.Find(b.end())
		use := b.containerUse(c)
		tells := len(use.covered[allocation.RAM]) > 0 || short || measured[c.pod.cluster] && b.sampling.End-run.From < b.evidence.most
		goesOn := b.runsOver(c, b.end(), b.end(), b.sampling.End) || c.restarted && b.runsOver(c, b.sampling.End, b.sampling.End-2*b.sampling.Interval, b.sampling.End)
		if tells && goesOn && use.seenFor(b.end(), b.sampling.End) == 0 {
			x.Pods = append(x.Pods, c.pod.name.Value())
		}
	}
	if len(x.Pods) > 0 {
		b.evidence.incomplete = b.evidence.incomplete || b.evidence.closed && b.evidence.after < b.evidence.most
		x.Span = Span{b.sampling.End + 1, b.sampling.Align(b.end() + min(b.evidence.most, b.evidence.after))}
		b.evidence.usageUntil = x.End
	}
	return x.sorted()
}

func (x unseenUsage) sorted() unseenUsage {
	slices.Sort(x.Pods)
	x.Pods = slices.Compact(x.Pods)
	return x
}

// seenFor is how long usage of a container was seen, and not only held, within (from, to].
func (c *containerUse) seenFor(from, to int64) (length int64) {
	for _, f := range c.covered[allocation.RAM] {
		if !f.Soft {
			length += max(0, min(f.To, to)-max(f.From, from))
		}
	}
	return length
}

// runsOver reports whether a container that runs at the instant at, an end of the window, runs from before from until to. It may also run
// while no container of its cluster is seen.
func (b *Builder) runsOver(c *container, at, from, to int64) bool {
	absent := b.absentIn(c.pod.cluster).containers.Absent
	run, ok := c.runs.Find(at)
	if gap, silent := absent.Find(from + 1); silent && gap.To >= run.From {
		run.From = min(run.From, gap.From)
	}
	if gap, silent := absent.Find(to); silent && gap.From <= run.To {
		run.To = max(run.To, gap.To)
	}
	return ok && run.From < from && run.To >= to
}
