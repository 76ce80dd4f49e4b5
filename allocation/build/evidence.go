package build

import (
	"iter"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// evidence is how far beyond the window signals are looked at.
type evidence struct {
	after      int64 // for how long after the window there are signals, in milliseconds
	most       int64 // how long a margin may be: Evidence, in whole steps of the grid
	incomplete bool  // what is needed of the time after the window is not there yet
	closed     bool  // it should be: the window is a set of Query.Alone
	// usageUntil is until when usage is added, where that is later than Sampling says.
	usageUntil int64
	// pricesUntil is until when prices are added, where that is later than Sampling says.
	pricesUntil int64
}

// addMargins puts a margin before and after the window. What happens in a margin is found out as if it had been asked for, and
// then dropped: so a border between two windows changes nothing of what is near it.
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

// margin is how long a margin is at least.
func (b *Builder) margin() int64 {
	s, step := &b.sampling, max(b.sampling.Step, 1)
	least := max(timeline.Lookback, 2*s.Interval, 2*s.Step) // two cells on a grid, which bridges gaps of one
	return min((least+step-1)/step*step, b.evidence.most)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// start is that of the window, without the margin before it.
func (b *Builder) start() int64 { return b.borders[b.first] }

// end is that of the window, without the margin after it.
func (b *Builder) end() int64 { return b.borders[b.last] }

// asked is what of s lies within the window.
func (b *Builder) asked(s timeline.Intervals) timeline.Intervals { return s.Clip(b.start(), b.end()) }

// Beyond is what is to be read besides what Sampling says, of everything but usage: where nothing of a cluster is seen in the first time
// that was read, or from the end of the window on for as long as was looked, the margin there becomes as long as may be. It is to be
// asked once, when all but usage was added.
func (b *Builder) Beyond() []Span {
	b.findAbsence()
	var out []Span
	before := b.sampling.Start + 1 // an outage that ends in the margin may have been a long one
	if b.sampling.Exact() {
		before += b.sampling.Interval // there may be no sample before that
	}
	if b.silentAt(before, func(gap timeline.Interval) bool { return gap.From <= b.loadedFrom }) || b.devicesUnseen(b.sampling.Start, b.start()) {
		if loaded := b.loadedFrom; b.start()-b.evidence.most < b.sampling.Start {
			b.sampling.Start, b.sampling.Margin = b.start()-b.evidence.most, 0
			b.borders[0] = b.sampling.Start
			b.loadedFrom = b.sampling.LoadStart()
			out = append(out, Span{b.loadedFrom, b.sampling.Align(loaded - 1)})
		}
	}
	if b.silentAt(b.end()+1, func(gap timeline.Interval) bool { return gap.To >= b.sampling.End }) || b.devicesUnseen(b.end(), b.sampling.End) {
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

// Unpriced is what is to be read of prices besides, once what Beyond says was added: where no metric prices the nodes of a cluster at an
// end of the window, as far beyond it as prices are held.
func (b *Builder) Unpriced() []Span {
	priced, some := map[signals.Symbol]metricPrices{}, false
	for n := range b.everyNode() {
		prices := priced[n.cluster]
		for r := range allocation.NumResources {
			prices.original = timeline.Max(prices.original, timeline.Ones(n.reported.priced[r].original))
			prices.repeated = timeline.Max(prices.repeated, timeline.Ones(n.reported.priced[r].repeated))
		}
		priced[n.cluster] = prices
		some = some || len(prices.best()) > 0
	}
	unpriced := func(t int64) bool {
		for _, prices := range priced {
			if _, known := prices.best().At(t); !known {
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

// pricesSampling is how the points of prices are sampled.
func (b *Builder) pricesSampling() timeline.Sampling {
	sampling := b.sampling
	sampling.End = max(sampling.End, b.evidence.pricesUntil)
	return sampling
}

// silentAt reports whether a cluster, or any, was not seen at t, in an absence that is open: it may go on beyond what was read.
// Where either its containers or its nodes are never seen, only the others tell: that metric may not be there at all.
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

// devicesUnseen reports whether a container ran through a margin in which nothing was seen of what it used of its devices, though
// it was at other times.
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
		if !seen && sights(c.running.Best()).Clip(from, to).Length() == to-from {
			return true
		}
	}
	return false
}

// warnLacking says that what comes after the window decides how much is charged within it, and is not known yet.
func (b *Builder) warnIncomplete() {
	if b.evidence.incomplete {
		b.warn("samples are missing around %s, the end of this set, and those of the hour after it are not there yet: what ran or was used on is not known. The set is incomplete, and is computed again once they are", notices.Instant(b.end()))
	}
}

// reach fills the gaps of what signals say as far as every window that may want to know can see: Evidence.
func (b *Builder) fillGaps(s timeline.Steps) timeline.Steps { return s.Reach(b.evidence.most) }

// unknown reports whether a cell is an increase over a gap longer than Evidence: a window within it could not tell.
func (b *Builder) unknown(x *timeline.Cell) bool {
	return x.Held && x.To-x.From > max(b.evidence.most, b.sampling.Step)
}

// known are cells without those that are unknown, and without the time before these for which the sample before was seen again: what was
// used then is part of what is not known. They are changed in place.
func (b *Builder) dropUnknown(cells []timeline.Cell) []timeline.Cell {
	out := cells[:0]
	for _, x := range cells {
		if !b.unknown(&x) {
			out = append(out, x)
			continue
		}
		if n := len(out); n > 0 && out[n-1].Held && out[n-1].Amount == 0 && out[n-1].To == x.From {
			out = out[:n-1]
		}
	}
	return out
}

// Unseen is where usage of pods is wanted beyond what Sampling says: they ran through an end of the window, and nothing was seen
// of what they used there for as long as was looked.
type Unseen struct {
	Span          // empty where nothing is wanted
	Pods []string // by name, ascending
}

// UnseenBefore says so of the start of the window, once levels of usage were added: counters come from the same targets.
func (b *Builder) UnseenBefore() (x Unseen) {
	b.measureRestarted()
	most := b.start() - b.evidence.most
	if b.sampling.Start <= most {
		return x
	}
	from := b.sampling.LoadStart()
	span := Span{from - (b.sampling.Start - most), b.sampling.Align(from - 1)}
	for c := range b.measuredContainers() {
		// One sample before the window does not tell how fast a counter rises.
		seen := c.seenFor(b.sampling.Start, b.start()) > 0 && c.seenFor(b.sampling.LoadStart(), b.start()) > b.sampling.Cell()
		if !seen && b.runsOver(c, b.start(), b.sampling.Start, b.start()) {
			x.Pods = append(x.Pods, c.name.Value())
			x.Span, c.pod.usageFrom = span, span.Start
		}
	}
	return x.sorted()
}

// UnseenAfter says so of the end of the window, once levels before it were added too.
func (b *Builder) UnseenAfter() (x Unseen) {
	b.measureRestarted()
	if b.last == len(b.windows) {
		return x
	}
	measured := map[signals.Symbol]bool{} // clusters whose usage is seen at some time
	for c := range b.measuredContainers() {
		measured[c.cluster] = measured[c.cluster] || len(c.covered[allocation.RAM]) > 0
	}
	short := b.sampling.End-b.sampling.Start <= b.evidence.most
	for c := range b.measuredContainers() {
		// Where nothing was seen for as long as a gap may last, or nobody measures usage, what comes after the window tells nothing of it.
		run, _ := c.runs.Find(b.end())
		tells := len(c.covered[allocation.RAM]) > 0 || short || measured[c.cluster] && b.sampling.End-run.From < b.evidence.most
		if tells && c.seenFor(b.end(), b.sampling.End) == 0 && b.runsOver(c, b.end(), b.end(), b.sampling.End) {
			x.Pods = append(x.Pods, c.name.Value())
		}
	}
	if len(x.Pods) > 0 {
		b.evidence.incomplete = b.evidence.incomplete || b.evidence.closed && b.evidence.after < b.evidence.most
		x.Span = Span{b.sampling.End + 1, b.sampling.Align(b.end() + min(b.evidence.most, b.evidence.after))}
		b.evidence.usageUntil = x.End
	}
	return x.sorted()
}

func (x Unseen) sorted() Unseen {
	slices.Sort(x.Pods)
	x.Pods = slices.Compact(x.Pods)
	return x
}

// unforeign yields the containers whose usage is added.
func (b *Builder) measuredContainers() iter.Seq[*container] {
	return func(yield func(*container) bool) {
		for _, c := range each(b, slices.All(b.pods.order)) {
			if (c.node == nil || !b.foreign(c.node)) && !yield(c) {
				return
			}
		}
	}
}

// seenFor is for how long usage of a container was seen, not held, within (from, to].
func (c *container) seenFor(from, to int64) (length int64) {
	for _, f := range c.covered[allocation.RAM] {
		if !f.Soft {
			length += max(0, min(f.To, to)-max(f.From, from))
		}
	}
	return length
}

// runsOver reports whether a container runs at an end of the window, from before from to to. Where no container of its cluster was seen
// at the far end of a margin, it may have run there.
func (b *Builder) runsOver(c *container, at, from, to int64) bool {
	absent := b.absentIn(c.cluster).containers.Absent
	run, ok := c.runs.Find(at)
	if gap, silent := absent.Find(from + 1); silent && gap.To >= run.From {
		run.From = min(run.From, gap.From)
	}
	if gap, silent := absent.Find(to); silent && gap.From <= run.To {
		run.To = max(run.To, gap.To)
	}
	return ok && run.From < from && run.To >= to
}
