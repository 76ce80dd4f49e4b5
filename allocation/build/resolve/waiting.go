package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// waiting returns when a container was scheduled and had not started yet, nothing if that is not charged.
func (rs *Resolver) waiting(c *observe.Container, p *timeline.Presence, runs timeline.Intervals) timeline.Intervals {
	if rs.ChargeFrom != allocation.FromScheduled || rs.comesBefore(c, p.Seen) || !c.Pod.Scheduled.Known() {
		return nil
	}
	from := c.Node.NotBefore(int64(c.Pod.Scheduled.Value * 1000))
	if !rs.Sampling.Exact() {
		from = rs.Sampling.Align(from)
	}
	if len(runs) > 0 {
		// A container that ended before waits for its restart: that is not the wait of a scheduled pod.
		if first := rs.firstStart(p, runs[0].From); from < first && (len(p.Ended) == 0 || int64(p.Ended[0].V*1000) > first) {
			return timeline.Intervals{{From: from, To: first}}
		}
		return nil
	}
	var out timeline.Intervals
	for _, x := range c.Pod.Pending {
		if x.V != 0 && x.To > from {
			out = append(out, timeline.Interval{From: max(x.From, from), To: x.To})
		}
	}
	return timeline.Union(out)
}

// firstStart is when a container first started that was first seen at a time: then, or at a reported start more than a cell earlier. With
// such a start, it started before the data begin and did not wait when they do.
func (rs *Resolver) firstStart(p *timeline.Presence, seen int64) int64 {
	first := seen
	for _, x := range p.Started {
		if at := rs.Sampling.Align(int64(x.V * 1000)); x.V > 0 && at < seen-rs.Sampling.Step {
			first = min(first, at)
		}
	}
	return first
}

// comesBefore reports whether c ran before the main containers of its pod. It is an init container that is no sidecar, or only cAdvisor
// reports it, which does not say what it is, and it was gone while another one was still seen. The pod's end says nothing about c.
func (rs *Resolver) comesBefore(c *observe.Container, mine timeline.Steps) bool {
	if rs.besideOthers(c, mine) {
		return false
	}
	if c.Init || c.HasStatus() {
		return c.Init
	}
	last, lasts, seen := timeline.LastSight(mine)
	return seen && slices.ContainsFunc(c.Pod.Containers, func(x *observe.Container) bool {
		other, _, _ := timeline.LastSight(x.Running.Best())
		return other >= last+max(lasts, rs.Sampling.Cell())
	})
}

// besideOthers reports whether c was seen to run while a main container of its pod ran. c may have ended up to one scrape before its
// end was seen, and the others may have started since.
func (rs *Resolver) besideOthers(c *observe.Container, mine timeline.Steps) bool {
	least := rs.Sampling.Cell()
	switch {
	case !c.HasStatus() || c.Running[0].IsZero():
		least = max(least, rs.Sampling.Unmarked().Lookback) + 1 // another scrape shows the others
	case rs.Sampling.Exact():
		least = 1 // one scrape shows both
	}
	for _, x := range c.Pod.Containers {
		if x.Init {
			continue
		}
		for _, run := range x.Runs { // once it is resolved
			if mine.LengthWithin(run.From, run.To) >= least {
				return true
			}
		}
		others := mine
		if x != c {
			others = x.Running.Best()
		}
		for _, other := range others {
			if other.V != 0 && mine.LengthWithin(other.From, other.To) >= least {
				return true
			}
		}
	}
	return false
}
