package democluster

import (
	"cmp"
	"slices"
	"time"
)

// Commitment is the largest part of any node's capacity that Σ max(request, usage) ever takes, by resource.
type Commitment struct {
	CPU, Memory, GPU float64
	// OutsideLife counts the containers that run while their node is not there.
	OutsideLife int
}

// MaxCommitment sweeps over every change of any container up to the end.
func (c *Cluster) MaxCommitment() (most Commitment) {
	type change struct {
		at    int64
		delta resources
	}
	for _, n := range c.nodes {
		var changes []change
		for _, p := range n.pods {
			for i := range p.containers {
				ct := &p.containers[i]
				for _, r := range ct.runs {
					if r.from < n.life.from || r.to > n.life.to {
						most.OutsideLife++
					}
					for s := ct.slots(); s.from < min(r.to, c.end); s.next() {
						part := s.clip(r)
						if part.from >= part.to {
							continue
						}
						q := ct.request
						level := resources{max(q.cpu, s.cpu), max(q.mem, s.mem), q.gpu}
						changes = append(changes, change{part.from, level}, change{part.to, resources{}.minus(level)})
					}
				}
			}
		}
		slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
		var sum resources
		for i, ch := range changes {
			sum = sum.plus(ch.delta)
			if i+1 < len(changes) && changes[i+1].at == ch.at {
				continue
			}
			most.CPU = max(most.CPU, float64(sum.cpu)/float64(n.kind.capacity.cpu))
			most.Memory = max(most.Memory, float64(sum.mem)/float64(n.kind.capacity.mem))
			if has := n.kind.capacity.gpu; has != (gpus{}) {
				most.GPU = max(most.GPU, float64(sum.gpu.whole)/float64(has.whole), float64(sum.gpu.slices)/float64(has.slices), float64(sum.gpu.shared)/float64(has.shared))
			}
		}
	}
	return most
}

// Share is a container's part of something in the plainest computation.
type Share struct{ Amount, Cost float64 }

// SlowShares divides second by second. The keys are uid/container/object.
func (c *Cluster) SlowShares(from, to time.Time) map[string]Share {
	out := map[string]Share{}
	add := func(key string, amount, cost float64) {
		s := out[key]
		out[key] = Share{s.Amount + amount/3600, s.Cost + cost/3600}
	}
	w := span{from.UnixMilli(), to.UnixMilli()}
	prices := c.egressPrices()
	for t := w.from; t < w.to; t += secondMillis {
		divide := func(pods []*pod, object string, amount, cost float64) {
			pods = slices.DeleteFunc(slices.Clone(pods), func(p *pod) bool { return len(p.runningAt(t)) == 0 })
			for _, p := range pods {
				p.divideAt(t, object, amount/float64(len(pods)), cost/float64(len(pods)), add)
			}
		}
		for _, v := range c.volumes {
			bytes := valueAt(v.bytes, t)
			divide(v.pods, v.name, bytes, bytes/float64(gibibyte)*valueAt(v.price, t))
		}
		for _, s := range c.services {
			if s.ingress != "" && t >= s.life.from && t < s.life.to {
				behind := func(p *pod) bool { return (span{p.ready, p.end}).overlaps(s.life) }
				divide(slices.DeleteFunc(slices.Clone(s.pods), func(p *pod) bool { return !behind(p) }), s.id(), 0, s.hourly)
			}
		}
		for _, p := range c.pods {
			_, _, rates := p.traffic()
			bytes, cost := 0.0, 0.0
			for i, percent := range p.of.egress.percent {
				sent := float64(rates[1]*percent) / 100 * float64(hourMillis)
				bytes, cost = bytes+sent, cost+sent/float64(gibibyte)*valueAt(prices[i], t)
			}
			p.divideAt(t, "network", bytes, cost, add)
		}
	}
	return out
}

// divideAt divides an amount evenly among the containers that run at a time.
func (p *pod) divideAt(t int64, object string, amount, cost float64, add func(key string, amount, cost float64)) {
	running := p.runningAt(t)
	n := float64(len(running))
	for _, ct := range running {
		if amount+cost > 0 {
			add(p.uid+"/"+ct.spec.name+"/"+object, amount/n, cost/n)
		}
	}
}

func (p *pod) runningAt(t int64) (out []*container) {
	for i := range p.containers {
		for _, r := range p.containers[i].runs {
			if r.from <= t && t < r.to {
				out = append(out, &p.containers[i])
			}
		}
	}
	return out
}

func valueAt(list []level, t int64) (v float64) {
	for _, l := range list {
		if l.from <= t {
			v = l.value
		}
	}
	return v
}
