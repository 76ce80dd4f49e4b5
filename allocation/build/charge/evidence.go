package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// warnIncomplete warns that samples after the window decide what is charged within it, and do not exist yet.
func (ch *Charger) warnIncomplete() {
	if ch.Evidence.Incomplete {
		ch.Warnf("samples are missing around %s, the end of this set, and those of the hour after it are not there yet: what ran or was used on is not known. The set is incomplete, and is computed again once they are", notices.Instant(ch.End()))
	}
}

// unknown reports whether a cell is an increase over a gap longer than Evidence. A window within the gap could not see it.
func (ch *Charger) unknown(x *timeline.Cell) bool {
	return x.Held && x.To-x.From > max(ch.Evidence.Most, ch.Sampling.Step)
}

// dropUnknown removes unknown cells from cells, in place. It also removes an empty held cell just before an unknown one: what was
// used in its time is part of the unknown increase.
func (ch *Charger) dropUnknown(cells []timeline.Cell) []timeline.Cell {
	n := 0
	for i := range cells { // there are many, and mostly all are kept
		x := &cells[i]
		if !ch.unknown(x) {
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

// UnseenUsage says of which pods usage must be read beyond what Sampling says. They ran through one end of the window, and no usage of them
// was seen in its margin.
type UnseenUsage struct {
	observe.Span          // empty if no more is needed
	Pods         []string // by name, ascending
}

// UnseenPodsBefore returns the pods unseen before the window. Call it after levels of usage were added: counters come from the same targets.
func (ch *Charger) UnseenPodsBefore() (x UnseenUsage) {
	ch.measureRestarted()
	most := ch.Start() - ch.Evidence.Most
	if ch.Sampling.Start <= most {
		return x
	}
	from := ch.Sampling.LoadStart()
	span := observe.Span{Start: from - (ch.Sampling.Start - most), End: ch.Sampling.Align(from - 1)}
	for c := range ch.measuredContainers() {
		// One sample before the window does not show how fast a counter rises.
		use := ch.containerUse(c)
		seen := use.seenFor(ch.Sampling.Start, ch.Start()) > 0 && use.seenFor(ch.Sampling.LoadStart(), ch.Start()) > ch.Sampling.Cell()
		older := c.Pod.Started.Known() && int64(c.Pod.Started.Value*1000) < ch.Sampling.Start // its traffic goes on where a container restarts
		if !seen && (ch.RunsOver(c, ch.Start(), ch.Sampling.Start, ch.Start()) || older && ch.RunsOver(c, ch.Start(), ch.Start()-2*ch.Sampling.Interval, ch.Start())) {
			x.Pods = ch.appendNames(x.Pods, c.Pod)
			x.Span, ch.podUse(c.Pod).from = span, span.Start
		}
	}
	return x.sorted()
}

// UnseenPodsAfter returns the pods unseen after the window. Call it after the levels of UnseenPodsBefore were added.
func (ch *Charger) UnseenPodsAfter() (x UnseenUsage) {
	ch.measureRestarted()
	if ch.Last == len(ch.Windows) {
		return x
	}
	measured := map[signals.Symbol]bool{} // clusters with usage at some time
	for c := range ch.measuredContainers() {
		measured[c.Pod.Cluster] = measured[c.Pod.Cluster] || len(ch.containerUse(c).covered[allocation.RAM]) > 0
	}
	short := ch.Sampling.End-ch.Sampling.Start <= ch.Evidence.Most
	for c := range ch.measuredContainers() {
		// Usage after the window says nothing about it if none was seen for longer than a gap may last, or if nobody measures usage.
		run, _ := c.Runs.Find(ch.End())
		use := ch.containerUse(c)
		tells := len(use.covered[allocation.RAM]) > 0 || short || measured[c.Pod.Cluster] && ch.Sampling.End-run.From < ch.Evidence.Most
		goesOn := ch.RunsOver(c, ch.End(), ch.End(), ch.Sampling.End) || c.Restarted && ch.RunsOver(c, ch.Sampling.End, ch.Sampling.End-2*ch.Sampling.Interval, ch.Sampling.End)
		if tells && goesOn && use.seenFor(ch.End(), ch.Sampling.End) == 0 {
			x.Pods = ch.appendNames(x.Pods, c.Pod)
		}
	}
	if len(x.Pods) > 0 {
		ch.Evidence.Incomplete = ch.Evidence.Incomplete || ch.Evidence.Closed && ch.Evidence.After < ch.Evidence.Most
		x.Span = observe.Span{Start: ch.Sampling.End + 1, End: ch.Sampling.Align(ch.End() + min(ch.Evidence.Most, ch.Evidence.After))}
		ch.Evidence.UsageUntil = x.End
	}
	return x.sorted()
}

func (x UnseenUsage) sorted() UnseenUsage {
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
