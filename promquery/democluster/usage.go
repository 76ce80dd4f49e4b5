package democluster

import (
	"cmp"
	"slices"
)

// slot is a stretch of time in which a container uses the same CPU and memory.
type slot struct {
	span
	cpu, mem int64 // µcores, bytes
}

// slots walks the slots of a container, from its first start on. They last 30 to 120 minutes, to the millisecond,
// and so begin at no scrape's time.
type slots struct {
	use profile
	rng rng
	slot
}

func (ct *container) slots() slots {
	s := slots{use: ct.spec.usage, rng: rng(keyOf(ct.key, "usage"))}
	s.to = ct.runs[0].from
	s.next()
	return s
}

func (s *slots) next() {
	s.from = s.to
	s.to += s.rng.between(30*minuteMillis, 120*minuteMillis)
	lo, hi := s.use.lo, s.use.hi
	draw := s.rng.float()
	if draw < s.use.chance {
		lo, hi = hi, s.use.burst
	}
	s.cpu = s.rng.between(lo.cpu, hi.cpu)
	// Memory bursts in slots of its own: three in four of the CPU's bursts.
	lo, hi = s.use.lo, s.use.hi
	if draw < s.use.chance*3/4 {
		lo, hi = hi, s.use.burst
	}
	s.mem = s.rng.between(lo.mem, hi.mem) &^ 4095
}

// ramp is a piece of a curve: base + rate·(t-at) from at on.
type ramp struct{ at, base, rate int64 }

// integral returns ∫ over w, a span after at, in units × ms.
func (s ramp) integral(w span) float64 {
	middle := float64(s.base) + float64(s.rate)*(float64(w.from-s.at)+float64(w.to-s.at))/2
	return middle * float64(w.to-w.from)
}

// value is the one at t, which is not before at.
func (s ramp) value(t int64) float64 { return float64(s.base + s.rate*(t-s.at)) }

// curve is piecewise linear, its ramps ordered by time; before the first it is 0.
type curve []ramp

// curves returns what a run of a container has used: CPU in ns since the run's start, a counter, and memory in bytes,
// a gauge. Only the part that w needs is complete; after the run the counter stays and the gauge is 0.
func (ct *container) curves(run int, w span) (cpu, mem curve) {
	r := ct.runs[run]
	var sum int64
	for s := ct.slots(); s.from < min(r.to, w.to); s.next() {
		part := s.clip(r)
		if part.from >= part.to {
			continue
		}
		if part.to > w.from {
			cpu = append(cpu, ramp{part.from, sum, s.cpu})
			mem = append(mem, ramp{part.from, s.mem, 0})
		}
		sum += s.cpu * (part.to - part.from)
	}
	if r.to < w.to {
		cpu = append(cpu, ramp{r.to, sum, 0})
		mem = append(mem, ramp{r.to, 0, 0})
	}
	return cpu, mem
}

// addCurves returns the sum of curves.
func addCurves(list []curve) curve {
	if len(list) == 1 {
		return list[0]
	}
	// As changes of value (at that time) and rate, the sum needs one sort and one pass.
	type change struct{ at, value, rate int64 }
	n := 0
	for _, cv := range list {
		n += len(cv)
	}
	changes := make([]change, 0, n)
	for _, cv := range list {
		var last ramp
		for _, s := range cv {
			was := last.base + last.rate*(s.at-last.at)
			changes = append(changes, change{s.at, s.base - was, s.rate - last.rate})
			last = s
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var sum curve
	var value, rate int64
	for i, ch := range changes {
		if i > 0 {
			value += rate * (ch.at - changes[i-1].at)
		}
		value, rate = value+ch.value, rate+ch.rate
		if k := len(sum) - 1; k >= 0 && sum[k].at == ch.at {
			sum[k] = ramp{ch.at, value, rate}
		} else {
			sum = append(sum, ramp{ch.at, value, rate})
		}
	}
	return sum
}

// curves returns what all containers of a pod have used since it was created.
func (p *pod) curves(w span) (cpu, mem curve) {
	var cpus, mems []curve
	for i := range p.containers {
		ct := &p.containers[i]
		for run := range ct.runs {
			c, m := ct.curves(run, w)
			cpus, mems = append(cpus, c), append(mems, m)
		}
	}
	return addCurves(cpus), addCurves(mems)
}
