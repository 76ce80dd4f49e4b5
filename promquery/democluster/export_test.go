package democluster

import (
	"cmp"
	"slices"
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
						q := ct.spec.request
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
			if n.kind.capacity.gpu > 0 {
				most.GPU = max(most.GPU, float64(sum.gpu)/float64(n.kind.capacity.gpu))
			}
		}
	}
	return most
}
