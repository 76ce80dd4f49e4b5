package democluster

import (
	"math/bits"
	"slices"
)

// stretch is a stretch of time in which the same containers of a pod run, at least one.
type stretch struct {
	span
	running uint64 // a bit for each container of the pod, by its place
}

// stretches returns when the pod runs within w, in the order of time. What a pod has or does as a whole (volumes, traffic,
// hours behind a load balancer) it has and does while at least one of its containers runs, and at each instant it is split
// evenly over the containers that run then: initialization containers while they run, native sidecars like main containers.
func (p *pod) stretches(w span) []stretch {
	var cuts []int64
	for i := range p.containers {
		for _, r := range p.containers[i].runs {
			if part := r.clip(w); part.from < part.to {
				cuts = append(cuts, part.from, part.to)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []stretch
	for i := range max(0, len(cuts)-1) {
		s := stretch{span: span{cuts[i], cuts[i+1]}}
		for c := range p.containers {
			for _, r := range p.containers[c].runs {
				if r.from <= s.from && s.to <= r.to {
					s.running |= 1 << c
				}
			}
		}
		if s.running != 0 {
			out = append(out, s)
		}
	}
	return out
}

// split calls use for each container and each stretch in which it runs, with its part of the pod's rates in that stretch.
func split(list []stretch, use func(container int, part span, share float64)) {
	for _, s := range list {
		share := 1 / float64(bits.OnesCount64(s.running))
		for rest := s.running; rest != 0; rest &= rest - 1 {
			use(bits.TrailingZeros64(rest), s.span, share)
		}
	}
}

// union merges spans that overlap or touch.
func union(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return int(min(max(a.from-b.from, -1), 1)) })
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// level is a value, such as a price or a size, that holds from a time on, until the next.
type level struct {
	from  int64
	value float64
}

// each calls use for every part of w with the value that holds in it.
func each(list []level, w span, use func(part span, value float64)) {
	for i, l := range list {
		until := never
		if i+1 < len(list) {
			until = list[i+1].from
		}
		if part := w.clip(span{l.from, until}); part.from < part.to {
			use(part, l.value)
		}
	}
}

// during returns the steps of a series that has the levels and exists during life.
func during(life span, list []level) []step {
	var steps []step
	each(list, life, func(part span, value float64) { steps = append(steps, step{at: part.from, value: value}) })
	return append(steps, step{at: life.to, absent: true})
}

// integral returns ∫ level dt over w, in units × ms.
func integral(list []level, w span) (sum float64) {
	each(list, w, func(part span, value float64) { sum += float64(part.to-part.from) * value })
	return sum
}
