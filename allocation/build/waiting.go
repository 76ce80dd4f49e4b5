package build

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

func (b *Builder) addPodScheduled(s *incoming) error {
	if v, ok := s.p.LastUsable(); ok {
		b.podOf(s.pod()).scheduled.Set(v, s.p.Last())
	}
	return nil
}

func (b *Builder) addPodPending(s *incoming) error {
	p := b.podOf(s.pod())
	p.pending = timeline.Max(p.pending, b.sampling.Steps(s.p))
	return nil
}

// waiting returns when a container was scheduled and had not started yet, nothing if that is not charged.
func (b *Builder) waiting(c *container, p *timeline.Presence, runs timeline.Intervals) timeline.Intervals {
	if b.chargeFrom != allocation.FromScheduled || b.comesBefore(c, p.Seen) || !c.pod.scheduled.Known() {
		return nil
	}
	from := c.node.notBefore(int64(c.pod.scheduled.Value * 1000))
	if !b.sampling.Exact() {
		from = b.sampling.Align(from)
	}
	if len(runs) > 0 {
		// A container that ended before waits for its restart: that is not the wait of a scheduled pod.
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

// notBefore is since when a pod waits on the node: since it was scheduled, or since the node's life begins if that is much later. A pod
// that is seen to run when the life begins may have run all the time before.
func (n *node) notBefore(scheduled int64) int64 {
	if n == nil || len(n.life) == 0 || scheduled >= n.life[0].From-timeline.Lookback {
		return scheduled
	}
	return n.life[0].From
}

// firstStart is when a container first started that was first seen at a time: then, or at a reported start more than a cell earlier. With
// such a start, it started before the data begin and did not wait when they do.
func (b *Builder) firstStart(p *timeline.Presence, seen int64) int64 {
	first := seen
	for _, x := range p.Started {
		if at := b.sampling.Align(int64(x.V * 1000)); x.V > 0 && at < seen-b.sampling.Step {
			first = min(first, at)
		}
	}
	return first
}

// comesBefore reports whether c ran before the main containers of its pod. It is an init container that is no sidecar, or only cAdvisor
// reports it, which does not say what it is, and it was gone while another one was still seen. The pod's end says nothing about c.
func (b *Builder) comesBefore(c *container, mine timeline.Steps) bool {
	if b.besideOthers(c, mine) {
		return false
	}
	if c.init || c.hasStatus() {
		return c.init
	}
	last, lasts, seen := timeline.LastSight(mine)
	return seen && slices.ContainsFunc(c.pod.containers, func(x *container) bool {
		other, _, _ := timeline.LastSight(x.running.Best())
		return other >= last+max(lasts, b.sampling.Cell())
	})
}

// besideOthers reports whether c was seen to run while a main container of its pod ran. c may have ended up to one scrape before its
// end was seen, and the others may have started since.
func (b *Builder) besideOthers(c *container, mine timeline.Steps) bool {
	least := b.sampling.Cell()
	switch {
	case !c.hasStatus() || c.running[0].IsZero():
		least = max(least, b.sampling.Unmarked().Lookback) + 1 // another scrape shows the others
	case b.sampling.Exact():
		least = 1 // one scrape shows both
	}
	for _, x := range c.pod.containers {
		if x.init {
			continue
		}
		for _, run := range x.runs { // once it is resolved
			if mine.LengthWithin(run.From, run.To) >= least {
				return true
			}
		}
		others := mine
		if x != c {
			others = x.running.Best()
		}
		for _, other := range others {
			if other.V != 0 && mine.LengthWithin(other.From, other.To) >= least {
				return true
			}
		}
	}
	return false
}
