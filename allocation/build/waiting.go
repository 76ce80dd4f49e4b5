package build

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// ChargeFrom is what the query asks for: signals about pods that wait are only of use where it is FromScheduled.
func (b *Builder) ChargeFrom() allocation.ChargeFrom { return b.chargeFrom }

func (b *Builder) addPodScheduled(s *seen) error {
	if v, ok := s.p.LastUsable(); ok {
		b.podOf(s.pod()).scheduled.Set(v, s.p.Last())
	}
	return nil
}

func (b *Builder) addPodPending(s *seen) error {
	p := b.podOf(s.pod())
	p.pending = timeline.Max(p.pending, b.sampling.Steps(s.p))
	return nil
}

// waiting is when a container was placed and had not started yet, where that is charged.
func (b *Builder) waiting(c *container, p *timeline.Presence, runs timeline.Intervals) timeline.Intervals {
	if b.chargeFrom != allocation.FromScheduled || b.comesBefore(c) || !c.pod.scheduled.Known() {
		return nil
	}
	from := c.node.notBefore(int64(c.pod.scheduled.Value * 1000))
	if !b.sampling.Exact() {
		from = b.sampling.Align(from)
	}
	if len(runs) > 0 {
		// A container that ended before waits to be restarted: that is not the wait of a pod that was placed.
		if first := b.firstStart(p, runs[0].From); from < first && (len(p.Ended) == 0 || int64(p.Ended[0].V*1000) > first) {
			return timeline.Intervals{{From: from, To: first}}
		}
		return nil
	}
	var out timeline.Intervals
	for _, x := range c.pod.pending {
		if x.V != 0 && x.To > from {
			out = append(out, timeline.Interval{From: max(x.From, from), To: x.To})
		}
	}
	return timeline.Union(out)
}

// notBefore is from when on a pod that was scheduled at a time can be said to wait on the node: from then on, but for one long before
// anything is known of the node. What ran when that begins may have run all the time.
func (n *node) notBefore(scheduled int64) int64 {
	if n == nil || len(n.life) == 0 || scheduled >= n.life[0].From-timeline.Lookback {
		return scheduled
	}
	return n.life[0].From
}

// firstStart is when a container started that was first seen to run from a time on: earlier, where a start is reported that is
// more than a cell before that. Such a container started before there are data, and waited for nothing when these begin.
func (b *Builder) firstStart(p *timeline.Presence, seen int64) int64 {
	first := seen
	for _, x := range p.Started {
		if at := b.sampling.Align(int64(x.V * 1000)); x.V > 0 && at < seen-b.sampling.Step {
			first = min(first, at)
		}
	}
	return first
}

// comesBefore reports whether c ran before the containers of its pod: an init container that is no sidecar, or one that cAdvisor
// alone knows, which does not say what it is, and that was gone when another one was still seen. How its pod ended says nothing of it.
func (b *Builder) comesBefore(c *container) bool {
	if b.besideOthers(c) {
		return false
	}
	if c.init || c.hasStatus() {
		return c.init
	}
	mine, lasts, seen := timeline.LastSight(c.running.Best())
	return seen && slices.ContainsFunc(c.pod.containers, func(x *container) bool {
		other, _, _ := timeline.LastSight(x.running.Best())
		return other >= mine+max(lasts, b.sampling.Cell())
	})
}

// besideOthers reports whether c was seen to run at a time that a container of its pod ran which is no init container. What
// was seen may have ended up to a scrape before it was seen to, and its pod's others have started since.
func (b *Builder) besideOthers(c *container) bool {
	least := b.sampling.Cell()
	switch {
	case !c.hasStatus() || len(sights(c.running[0])) == 0:
		least = max(least, b.sampling.Unmarked().Lookback) + 1 // another scrape shows the others
	case b.sampling.Exact():
		least = 1 // one scrape shows both
	}
	mine := sights(c.running.Best())
	for _, x := range c.pod.containers {
		if x.init {
			continue
		}
		for _, other := range slices.Concat(x.runs, sights(x.running.Best())) { // runs once it is resolved
			if mine.Clip(other.From, other.To).Length() >= least {
				return true
			}
		}
	}
	return false
}

// sights are when s is not 0.
func sights(s timeline.Steps) (out timeline.Intervals) {
	for _, x := range s {
		if x.V != 0 {
			out = append(out, timeline.Interval{From: x.From, To: x.To})
		}
	}
	return out
}
