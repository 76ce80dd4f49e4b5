package charge

import (
	"math"
	"sort"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// flowEnd is when a flow was last seen before a gap, and its rate then, in bytes a millisecond.
type flowEnd struct {
	kind observe.TrafficKind
	to   int64
	rate float64
}

// holdTraffic counts the bytes moved since the last sample, at the rate before it, until the pod or the window ends. In exact mode
// it does so for no longer than one sample is seen. If no usage of the pod was seen from then on either, because its kubelet was down,
// it does so for as long as usage is held, or until usage is seen again.
func (ch *Charger) holdTraffic(p *podUse) {
	for f := p.flows; f != nil; f = f.next {
		ch.holdFlow(p, &flowEnd{f.key.kind(), f.to, f.rate})
	}
	for i := range p.ended {
		ch.holdFlow(p, &p.ended[i])
	}
}

func (ch *Charger) holdFlow(p *podUse, f *flowEnd) {
	lookback, at := ch.Sampling.Unmarked().Lookback, max(f.to, ch.Sampling.Start)
	for _, other := range ch.Pods.ByName[p.ObjectKey] {
		q := ch.podUse(other)
		to := q.runsUntil(at, f.to+allocation.Evidence.Milliseconds())
		if to <= at {
			continue // another pod with the same name
		}
		for _, c := range q.Containers {
			to = min(to, c.NextStart(f.to))
		}
		if ch.usedSince(q, math.MinInt64) >= f.to {
			to = min(to, f.to+lookback)
		}
		to = min(to, ch.usedSince(q, f.to+lookback))
		if to <= f.to || f.rate <= 0 || !ch.Sampling.Exact() && to <= f.to+lookback {
			continue
		}
		t := ch.usage.trafficPrice(q.Cluster, f.kind)
		ch.moveCell([]*podUse{q}, f.kind, t, timeline.Cell{From: f.to, To: to, Amount: f.rate * float64(to-f.to)})
		break
	}
}

// usedSince is the first time from t on at which usage of a container of p is seen, and not only held.
func (ch *Charger) usedSince(p *podUse, t int64) int64 {
	from := int64(timeline.Forever)
	for _, c := range p.Containers {
		for _, covered := range ch.containerUse(c).covered {
			for _, f := range covered {
				if !f.Soft && f.From < f.To && f.To > t {
					from = min(from, max(f.From, t))
				}
			}
		}
	}
	return from
}

// runsUntil is until when p runs on from t without a pause, at most until most. It is t if p does not run at t.
func (p *podUse) runsUntil(t, most int64) int64 {
	all := p.running()
	k := sort.Search(len(all), func(k int) bool { return all[k].to > t })
	for ; k < len(all) && all[k].from <= t && t < most; k++ {
		t = min(all[k].to, most)
	}
	return t
}
