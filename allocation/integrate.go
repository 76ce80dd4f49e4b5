package allocation

import (
	"slices"
	"sort"

	"github.com/promcost/promcost/allocation/timeline"
)

// fragment is a stretch of a container's time that the usage of one series covers.
type fragment struct {
	from, to int64
	rate     float64 // amount used per second at its end
	series   Symbol
	counter  float64 // value of the counter at to
}

// charge is usage over part of a segment, in amount × seconds.
type charge struct {
	from, to int64
	amount   float64
}

// addUsage integrates a usage series against the segments of the container it belongs to: the one of the UID in its key,
// else those of that name, each for the time it ran.
func (b *Builder) addUsage(s *seen) error {
	if c, ok := b.containers[containerKey{s.pod(), s.key[4]}]; ok {
		b.measure(c, s)
		return nil
	}
	candidates := b.names[containerName{s.object(), s.key[4]}]
	ran := false
	for _, c := range candidates {
		if len(c.runs) > 0 {
			ran = true
			b.measure(c, s)
		}
	}
	if !ran && b.phase == measuring && s.p.Last() > b.sampling.Start {
		b.unmatched++
	}
	return nil
}

// measure integrates a usage series against one container, over the time that no other series has covered yet: replicas
// that scrape the same target count once, and series of successive container ids follow each other.
func (b *Builder) measure(c *container, s *seen) {
	if len(c.segments) == 0 {
		return
	}
	r := s.Resource
	if s.Signal == ContainerUse {
		b.cells = b.sampling.Counter(b.cells[:0], s.p)
	} else {
		b.cells = b.sampling.Gauge(b.cells[:0], s.p)
	}
	frags := &c.fragments[r]
	if b.phase == correcting {
		frags = &c.again[r]
	}
	cells := b.begin(c, *frags, s, b.cells)
	if len(cells) == 0 {
		return
	}
	last := cells[len(cells)-1]
	whole := fragment{from: cells[0].From, to: last.To, series: s.key[5]}
	if last.To > last.From {
		whole.rate = last.Amount * 1000 / float64(last.To-last.From)
	}
	if v, ok := s.p.LastUsable(); ok {
		whole.counter = v
	}
	for _, free := range uncovered(*frags, whole.from, whole.to) {
		b.integrate(c, r, cells, free.From, free.To)
		part := whole
		part.from, part.to = free.From, free.To
		*frags = append(*frags, part)
	}
	slices.SortFunc(*frags, func(x, y fragment) int { return int(min(1, max(-1, x.from-y.from))) })
}

// begin gives the first cell its beginning. A counter's first cell goes on from an earlier stretch of the same series;
// else, where the container's start is known and the series was not there before, it began at 0 at that start; else its
// amount is not known to belong to the window and is left out. A gauge's first cell reaches back to the start of the
// container's run where that is less than a lookback away.
func (b *Builder) begin(c *container, frags []fragment, s *seen, cells []timeline.Cell) []timeline.Cell {
	if len(cells) == 0 {
		return cells
	}
	first := &cells[0]
	run, running := c.runs.Find(first.To)
	if s.Signal == ContainerLevel {
		if running && run.From < first.From && first.From-run.From <= timeline.Lookback {
			width := first.To - first.From
			first.Amount *= float64(first.To-run.From) / float64(width)
			first.From = run.From
		}
		return cells
	}
	for i := len(frags) - 1; i >= 0; i-- {
		if f := &frags[i]; f.series == s.key[5] && f.to < first.To {
			if first.Amount >= f.counter {
				first.Amount -= f.counter
			}
			first.From = f.to
			return cells
		}
	}
	started, known := c.started.At(first.To)
	if !known && c.pod.started.known {
		started, known = c.pod.started.value, true
	}
	from := int64(started * 1000)
	if running && run.From > b.sampling.Start && from < run.From+b.sampling.Cell() {
		// The run begins where the grid, or the start time, says: what was used belongs into it.
		from = run.From
	}
	if !known || from >= first.To || s.p.First() <= b.loadStart()+b.sampling.Lookback {
		return cells[1:]
	}
	first.From = from
	return cells
}

// uncovered are the parts of (from, to] that no fragment covers; fragments are sorted.
func uncovered(frags []fragment, from, to int64) timeline.Intervals {
	var out timeline.Intervals
	for _, f := range frags {
		if f.to <= from {
			continue
		}
		if f.from >= to {
			break
		}
		if f.from > from {
			out = append(out, timeline.Interval{From: from, To: f.from})
		}
		from = max(from, f.to)
	}
	if from < to {
		out = append(out, timeline.Interval{From: from, To: to})
	}
	return out
}

// integrate charges the cells, which follow each other without gaps, over (lo, hi] to the container's segments.
func (b *Builder) integrate(c *container, r Resource, cells []timeline.Cell, lo, hi int64) {
	segs := c.segments
	i := sort.Search(len(segs), func(i int) bool { return segs[i].to > lo })
	j := sort.Search(len(cells), func(j int) bool { return cells[j].To > lo })
	for ; i < len(segs) && segs[i].from < hi; i++ {
		seg := &segs[i]
		for j > 0 && cells[j-1].To > seg.from {
			j--
		}
		for j < len(cells) && cells[j].To <= seg.from {
			j++
		}
		from, to := max(seg.from, lo), min(seg.to, hi)
		charges := b.charged[:0]
		for ; j < len(cells) && cells[j].From < to; j++ {
			cell := &cells[j]
			x := charge{cell.From, cell.To, cell.Amount}
			if x.from < from || x.to > to {
				x.from, x.to = max(x.from, from), min(x.to, to)
				x.amount *= float64(x.to-x.from) / float64(cell.To-cell.From)
			}
			charges = append(charges, x)
		}
		b.charged = charges
		b.charge(c, seg, r, charges, true)
	}
}

// charge adds usage within one segment to its row: max(request, usage) over each charge, and its cost. measured says that
// the usage was seen, not held.
func (b *Builder) charge(c *container, seg *segment, r Resource, charges []charge, measured bool) {
	n := b.nodes[nodeKey{c.cluster, c.pod.node.value}]
	if b.phase == correcting {
		b.correct(n, seg, r, charges)
		return
	}
	var load *load
	if n != nil && seg.inside[r] {
		load = n.load[r]
	}
	request, allocated, used, most := seg.request[r]/1000, 0.0, 0.0, 0.0
	for k := range charges {
		x := &charges[k]
		dt := float64(x.to - x.from)
		base := request * dt
		used += x.amount
		if x.amount > base {
			allocated += x.amount
			if load != nil {
				load.burst(x.from, x.to, x.amount-base)
			}
		} else {
			allocated += base
		}
		if x.amount > most*dt {
			most = x.amount / dt
		}
	}
	s, row := b.sets[seg.ref.set], seg.ref.row
	cost := allocated / 3600 * seg.price[r] / r.PerPriceUnit()
	s.values[Hours.Of(r)][row] += allocated / 3600
	s.values[UsageHours.Of(r)][row] += used / 3600
	s.values[Cost.Of(r)][row] += cost
	if measured {
		s.values[UsageMax.Of(r)][row] = max(s.values[UsageMax.Of(r)][row], most*1000)
	}
	if !seg.inside[r] && cost != 0 {
		b.outside(n, c.cluster, seg.ref.set, r, cost)
	}
}

// holdUsage charges the time that no usage series covers: the last known usage is held to the end of its run, and
// before the first the request alone is charged.
func (b *Builder) holdUsage() {
	for _, c := range b.order {
		for r := range NumResources {
			frags := c.fragments[r]
			for i := range c.segments {
				seg := &c.segments[i]
				for _, free := range uncovered(frags, seg.from, seg.to) {
					rate := c.heldRate(frags, free.From)
					amount := rate * float64(free.To-free.From) / 1000
					b.charged = append(b.charged[:0], charge{free.From, free.To, amount})
					b.charge(c, seg, r, b.charged, false)
				}
			}
		}
	}
}

// heldRate is the usage last known before t within the same run, per second.
func (c *container) heldRate(frags []fragment, t int64) float64 {
	i := sort.Search(len(frags), func(i int) bool { return frags[i].to > t })
	if i == 0 {
		return 0
	}
	run, ok := c.runs.Find(t + 1)
	if !ok || frags[i-1].to <= run.From {
		return 0
	}
	return frags[i-1].rate
}
