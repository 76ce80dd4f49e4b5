package build

import (
	"iter"
	"slices"
	"sort"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// charge is usage over part of a segment, in amount × seconds.
type charge struct {
	from, to int64
	amount   float64
}

// addUsage integrates a usage series against the segments of the container it belongs to: the one of the UID in its key,
// else those of that name, each for the time it ran.
func (l *Worker) addUsage(s *seen) error {
	if c := l.b.pods.byKey[s.pod()].container(s.key[4]); c != nil {
		l.measureInOrder(c, s)
		return nil
	}
	known, ran := false, false
	for c := range l.b.instances(s) {
		known = true
		if len(c.segments) > 0 {
			ran = true
			l.measureInOrder(c, s)
		}
	}
	switch {
	case ran || l.b.phase != measuring || s.p.Last() <= l.b.sampling.Start:
	case !known && s.Signal == signals.ContainerLevel:
		l.measure(l.b.discover(s), s)
	default:
		l.unmatched++
	}
	return nil
}

// instances yields the containers that usage without a UID may be of: those of its names that run on the node it was scraped
// from, where there is any, else all of its names.
func (b *Builder) instances(s *seen) iter.Seq[*container] {
	all := b.named(s.object(), s.key[4])
	at := b.nodeAt(s.key[0], s.key[5])
	here := func(c *container) bool { return c.node != nil && c.node.name == at }
	for c := range all {
		if here(c) {
			return func(yield func(*container) bool) {
				for c := range all {
					if here(c) && !yield(c) {
						return
					}
				}
			}
		}
	}
	return all
}

// runningByLevel is the rank of the running signal that is the presence of a container's usage.
const runningByLevel = 1

// discover makes a container of which nothing but its usage is known, such as an ephemeral one: it runs where that is seen.
func (b *Builder) discover(s *seen) *container {
	key := containerKey{s.pod(), s.key[4]}
	if pods := b.pods.byName[key.objectKey]; key.uid == none && len(pods) > 0 {
		key.podKey = pods[len(pods)-1].podKey
	}
	c := newContainer(key, b.podOf(key.podKey))
	c.init, c.alone = true, true
	if at := b.nodeAt(s.key[0], s.key[5]); at != none && !c.pod.node.Known() {
		c.pod.node.Set(at, 0)
	}
	c.running.Add(runningByLevel, b.samplingOf(s).Sights(s.p))
	for _, p := range b.pods.byName[key.objectKey] {
		for _, x := range p.withoutSignal {
			if x.container == c.container {
				c.addDevices(x.devices, func(s timeline.Steps) timeline.Steps { return s })
			}
		}
	}
	c.pod.containers = append(c.pod.containers, c)
	b.resolveContainer(c)
	if c.node != nil {
		b.layLoad(c.node) // which may have become older
	}
	b.dropSignals(c)
	b.pods.order = append(b.pods.order, c)
	b.report.discovered = append(b.report.discovered, c.name.Value()+"/"+c.container.Value())
	return c
}

// measure integrates a usage series against one container. What another series has covered is left alone (replicas that
// scrape the same target count once), except where nothing was seen but a value held or spread: that yields.
func (l *Worker) measure(c *container, s *seen) {
	if len(c.segments) == 0 {
		return
	}
	if s.Signal == signals.ContainerUse {
		l.cells = l.b.attributeHoles(c, s, l.b.samplingOf(s).Counter(l.cells[:0], s.p))
	} else {
		l.cells = l.b.samplingOf(s).Gauge(l.cells[:0], s.p)
	}
	covered, end := l.b.coverage(c, s.Resource), int64(0)
	if n := len(l.cells); n > 0 {
		end = l.cells[n-1].To
	}
	l.cells = l.withoutLeaps(c, s, l.b.dropUnknown(l.begin(c, *covered, s, l.cells)))
	cells := l.cells
	tail := len(cells)
	if s.p.Sampled() {
		tail = l.b.heldTail(cells)
	}
	l.coverAll(c, covered, s, cells, tail)
	if len(cells) > 0 && l.since != 0 {
		covered.Rise(s.series, cells[0], l.since)
	}
	if s.Signal == signals.ContainerUse {
		l.b.markEnd(covered, s, end)
	}
}

// coverAll charges cells as far as they are not covered yet. From tail on they are soft.
func (l *Worker) coverAll(c *container, covered *timeline.Coverage, s *seen, cells []timeline.Cell, tail int) {
	for i := 0; i < len(cells); {
		n, soft := 1, i >= tail || cells[i].Held
		for !soft && i+n < tail && cells[i+n].From == cells[i+n-1].To && !cells[i+n].Held {
			n++
		}
		l.cover(c, covered, s, cells[i:i+n], soft)
		i += n
	}
}

// coverage is what usage series cover of a container's time in this phase.
func (b *Builder) coverage(c *container, r allocation.Resource) *timeline.Coverage {
	if b.phase != correcting {
		return &c.covered[r]
	}
	if c.again == nil {
		c.again = &[allocation.NumResources]timeline.Coverage{}
	}
	return &c.again[r]
}

// heldTail is the index of the first of the last cells that a server may have made up by its lookback: the same rate up to
// the end of the series, for no longer than a lookback.
func (b *Builder) heldTail(cells []timeline.Cell) int {
	n := len(cells)
	if n == 0 {
		return 0
	}
	rate := func(c timeline.Cell) float64 { return c.Amount / float64(c.To-c.From) }
	last := cells[n-1]
	i := n - 1
	for ; i > 0; i-- {
		if c := cells[i]; last.To-c.From > b.sampling.Lookback || rate(c) != rate(last) {
			break
		}
	}
	return i + 1
}

// cover charges cells that follow each other, as far as they are not covered yet.
func (l *Worker) cover(c *container, covered *timeline.Coverage, s *seen, cells []timeline.Cell, soft bool) {
	first, last := cells[0], cells[len(cells)-1]
	f := timeline.Fragment{From: first.From, To: last.To, Series: s.series, Soft: soft}
	if f.From >= f.To {
		return
	}
	f.Rate = last.Amount * 1000 / float64(last.To-last.From)
	for _, x := range covered.Yield(f.From, f.To, soft) {
		held := timeline.Cell{From: x.From, To: x.To, Amount: x.Rate * float64(x.To-x.From) / 1000}
		l.integrate(c, s.Resource, []timeline.Cell{held}, x.From, x.To, -1)
	}
	for _, free := range covered.Uncovered(f.From, f.To) {
		l.integrate(c, s.Resource, cells, free.From, free.To, 1)
		part := f
		part.From, part.To = free.From, free.To
		covered.Add(part)
	}
}

// markEnd notes a counter's value at the end of its cells, so that a later stretch of it goes on from there: by a fragment without
// a length where what came before it is not known or is covered by another series. Where it has none, end is 0: the points are a
// marker, with which what an earlier stretch saw ends.
func (b *Builder) markEnd(covered *timeline.Coverage, s *seen, end int64) {
	if end == 0 {
		for i := range *covered {
			if f := &(*covered)[i]; f.Series == s.series {
				f.Until = min(f.Until, s.p.First())
			}
		}
		return
	}
	value, until := b.samplingOf(s).SeenAt(s.p, end)
	for i := range *covered {
		if f := &(*covered)[i]; f.Series == s.series && f.To == end {
			f.Counter, f.Until = value, until
			return
		}
	}
	covered.Add(timeline.Fragment{From: end, To: end, Series: s.series, Counter: value, Until: until})
}

// begin gives the first cell its beginning, or leaves it out. A counter's goes on from an earlier stretch of the same series; else it began
// at 0 when the container did, if that is known and the series was not there before.
func (l *Worker) begin(c *container, covered timeline.Coverage, s *seen, cells []timeline.Cell) []timeline.Cell {
	l.since = 0
	if len(cells) == 0 {
		return cells
	}
	if s.Signal == signals.ContainerLevel {
		return l.beginLevels(c, cells)
	}
	first := &cells[0]
	run, running := c.runs.Find(first.To)
	for i := len(covered) - 1; i >= 0; i-- {
		f := &covered[i]
		if f.Series != s.series || f.From > first.To || f.Soft && first.To <= f.To {
			continue
		}
		if first.To <= f.To {
			return cells[1:] // an earlier stretch reaches into this one: what came before is charged
		}
		if !l.b.isSameCounter(c, s, f.To, first.To) {
			break
		}
		return l.b.samplingOf(s).GoOn(cells, s.p, f.To, f.Until, f.Counter)
	}
	from, known := c.startBefore(s.p.First())
	if !known && c.alone && running && c.canUse(first.Amount, run.From, first.To) {
		from, known = run.From, true
	}
	if !known || from >= first.To || !l.b.isFirst(c.pod, s, from) {
		return cells[1:]
	}
	most := max(l.b.sampling.Lookback, l.b.sampling.Cell())
	seen := l.b.sampling.Start - 2*l.b.sampling.Step // what begins later was seen to begin: on the grid, two steps more are read
	if cell := l.b.sampling.Cell(); running && run.From > seen && max(from-run.From, run.From-from) <= cell &&
		(!l.b.sampling.Exact() && first.To-from <= most || l.b.sampling.Exact() && len(c.started) > 0) {
		// The run begins where the grid, or the start time, says: what was used belongs into it. One that begins with a
		// sample began before: what was used by the next sample, a moment later, is no measure of what is used on.
		l.since, from = from, run.From
	}
	if f := covered.Before(first.To - 1); f != nil && !f.Soft && f.To > from {
		if first.To-f.To > most {
			return cells[1:] // the start that is known is that of the container before this one
		}
		l.since, from = 0, f.To // that ended only now
	}
	first.From, first.Held = from, first.To-from > most
	cells = l.b.makeRoom(covered, s, cells)
	if cells[0].From != from {
		l.since = 0
	}
	if at := l.b.sampling.Align(from); cells[0].Held && cells[0].From == from && at < from {
		// A window after the start cannot tell where the grid has the run begin: nothing was used before the start itself.
		return slices.Insert(cells, 0, timeline.Cell{From: at, To: from, Held: true})
	}
	return cells
}

// beginLevels has the cells of a gauge reach back to the start of the container's run where that is less than a lookback away: at first,
// and after a gap that no window looks over.
func (l *Worker) beginLevels(c *container, cells []timeline.Cell) []timeline.Cell {
	for i := 0; i < len(cells); i++ {
		first := cells[i]
		if i > 0 && first.From-cells[i-1].To <= l.b.evidence.most {
			continue
		}
		run, running := c.runs.Find(first.To)
		if !running || run.From >= first.From { // one value may last for longer than a run
			run, running = c.runs.Find(first.From + 1)
		}
		if running && run.From < first.From && first.From-run.From <= timeline.Lookback {
			rate := first.Amount / float64(first.To-first.From)
			cells = slices.Insert(cells, i, timeline.Cell{From: run.From, To: first.From, Amount: rate * float64(first.From-run.From), Held: true})
			i++
		}
	}
	l.cells = cells
	return cells
}

// canUse reports whether the container's node has enough CPU for so much to be used in (from, to].
func (c *container) canUse(coreSeconds float64, from, to int64) bool {
	return c.node != nil && coreSeconds <= c.node.amount[allocation.CPU].Value(to)*float64(to-from)/1000
}

// succeed makes room for the first cell of a container that started again: where the one before it was still seen at the
// same point of the grid, the cell's time is covered, and what was used in it counts in the cell after.
func (b *Builder) makeRoom(covered timeline.Coverage, s *seen, cells []timeline.Cell) []timeline.Cell {
	first := &cells[0]
	f := covered.CoveringAt(first.To)
	if f == nil || f.Soft || f.Series == s.series || f.From >= first.From || f.To-first.To > b.sampling.Cell() {
		return cells
	}
	if len(cells) > 1 && cells[1].To > f.To {
		cells[1].Amount += first.Amount
		return cells[1:]
	}
	first.From, first.To = f.To, f.To+b.sampling.Cell()
	return cells
}

// startBefore is the last known start of the container at or before t, reported then or later: cAdvisor may see a restart before
// kube-state-metrics says when it was.
func (c *container) startBefore(t int64) (at int64, known bool) {
	for _, x := range c.reportedStarts(t) {
		if v := int64(x.V * 1000); v <= t && v > at {
			at, known = v, true
		}
	}
	if !known && c.pod.started.Known() {
		return int64(c.pod.started.Value * 1000), true
	}
	return at, known
}

// integrate charges the cells, which follow each other, over (lo, hi] to the container's segments; with a sign of -1 it
// takes back what it charged.
func (l *Worker) integrate(c *container, r allocation.Resource, cells []timeline.Cell, lo, hi int64, sign float64) {
	segs := c.segments
	i := sort.Search(len(segs), func(i int) bool { return segs[i].to > lo })
	j := sort.Search(len(cells), func(j int) bool { return cells[j].To > lo })
	for ; i < len(segs) && segs[i].from < hi; i++ {
		seg := &segs[i]
		from, to := max(seg.from, lo), min(seg.to, hi)
		for j > 0 && cells[j-1].To > from {
			j--
		}
		for j < len(cells) && cells[j].To <= from {
			j++
		}
		charges := l.charged[:0]
		for ; j < len(cells) && cells[j].From < to; j++ {
			cell := &cells[j]
			x := charge{cell.From, cell.To, cell.Amount}
			if x.from < from || x.to > to {
				x.from, x.to = max(x.from, from), min(x.to, to)
				x.amount *= float64(x.to-x.from) / float64(cell.To-cell.From)
			}
			charges = append(charges, x)
		}
		l.charged = charges
		l.charge(c, seg, r, charges, sign)
	}
}

// charge adds usage within one segment to its row: max(request, usage) over each charge, and its cost, times sign.
func (l *Worker) charge(c *container, seg *segment, r allocation.Resource, charges []charge, sign float64) {
	n := c.node
	if l.b.phase == correcting {
		l.b.correct(n, seg, r, charges, sign)
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
				load.burst(x.from, x.to, sign*(x.amount-base))
			}
		} else {
			allocated += base
		}
		if x.amount > most*dt {
			most = x.amount / dt
		}
	}
	rows, row := l.b.rows[seg.ref.set], seg.ref.row
	add := func(column allocation.Column, v float64) { // below 0 by rounding alone
		values := rows.Column(column)
		values[row] = max(0, values[row]+sign*v)
	}
	cost := allocated / 3600 * seg.price[r] / r.PerPriceUnit()
	add(allocation.Hours.Of(r), allocated/3600)
	add(allocation.UsageHours.Of(r), used/3600)
	add(allocation.Cost.Of(r), cost)
	if sign > 0 {
		usage := rows.Column(allocation.UsageMax.Of(r))
		usage[row] = max(usage[row], most*1000)
	}
	if !seg.inside[r] && cost != 0 {
		l.b.outside(n, c.cluster, seg.ref.set, r, sign*cost)
	}
}

// holdUsage charges the time that no usage series covers: the last known usage is held to the end of its run, and
// before the first the request alone is charged.
func (b *Builder) holdUsage() {
	l := b.worker()
	for _, c := range each(b, slices.All(b.pods.order)) {
		var holes timeline.Intervals
		for r := range allocation.NumResources {
			for i := range c.segments {
				seg := &c.segments[i]
				for _, free := range c.covered[r].Uncovered(seg.from, seg.to) {
					if l.hold(c, seg, r, free) && free.To-free.From > timeline.Lookback {
						holes = append(holes, free)
					}
				}
			}
		}
		if b.phase == measuring {
			b.outages.holes.add(c.name.Value(), timeline.Outside(append(holes, c.spread(b.sampling)...), b.outages.silent[c.cluster]))
		}
	}
}

// hold charges a part of a segment that no usage series covers, and reports whether usage was held in some of it.
func (l *Worker) hold(c *container, seg *segment, r allocation.Resource, free timeline.Interval) bool {
	rate, until := l.b.heldRate(c, r, free.From)
	until = min(max(until, free.From), free.To)
	l.charged = l.charged[:0]
	if free.From < until {
		l.charged = append(l.charged, charge{free.From, until, rate * float64(until-free.From) / 1000})
	}
	if until < free.To {
		l.charged = append(l.charged, charge{until, free.To, 0})
		l.b.noteUnknown(c, seg, r, timeline.Interval{From: until, To: free.To})
	}
	l.charge(c, seg, r, l.charged, 1)
	return free.From < until
}

// noteUnknown counts the running time within free, a part of a segment, as one of which usage is not known. What asks for no
// GPU uses none, and what waits to run uses nothing, which counts where something is known of the time in which it runs.
func (b *Builder) noteUnknown(c *container, seg *segment, r allocation.Resource, free timeline.Interval) {
	if b.phase != measuring || r == allocation.GPU && seg.request[allocation.GPU] == 0 {
		return
	}
	rows, row := b.rows[seg.ref.set], seg.ref.row
	spans := c.runs.Clip(free.From, free.To)
	if len(c.covered[r]) == 0 {
		spans = timeline.Intervals{free}
	}
	for _, x := range spans {
		rows.Column(allocation.UnknownSeconds.Of(r))[row] += float64(x.To-x.From) / 1000
		rows.Column(allocation.UnknownRequestHours.Of(r))[row] += seg.request[r] * hours(x.From, x.To)
	}
}

// beginsWithSignals reports whether a run is seen from the first signals on that were read: it may have begun before them.
func (b *Builder) beginsWithSignals(run *timeline.Interval) bool {
	return run.From <= b.sampling.LoadStart()+b.sampling.Cell()
}

// heldRate is the usage last known before t within the same run, per second, and until when it is taken to go on: at most until the
// container is reported to have started again. It is until t or before where there is none.
func (b *Builder) heldRate(c *container, r allocation.Resource, t int64) (rate float64, until int64) {
	run, ok := c.runs.Find(t + 1)
	if b.beginsWithSignals(&run) {
		run.From = timeline.Unborn
	}
	f := c.covered[r].Before(t)
	if !ok || f == nil || f.To <= run.From {
		return 0, t
	}
	return f.Rate, min(f.To+allocation.Evidence.Milliseconds(), c.nextStart(f.To))
}
