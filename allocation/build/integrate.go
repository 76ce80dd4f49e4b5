package build

import (
	"iter"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// addUsage integrates a usage series for the container with the UID in its key, else for the containers with its name, each for
// the time it ran.
func (l *integrator) addUsage(s *incoming) error {
	of := s.pod()
	if c := l.b.pods.find(&of).container(s.key[4]); c != nil {
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
	case ran || l.b.phase != measuring || s.p.Last() <= l.b.sampling.Start || s.p.First() > l.b.sampling.End:
	case !known && s.Signal == signals.ContainerLevel:
		l.measure(l.b.discover(s), s)
	default:
		l.unmatched++
	}
	return nil
}

// instances yields the containers to which usage without a UID may belong: those with its names that run on the node it was scraped
// from. If there are none, it yields all with its names.
func (b *Builder) instances(s *incoming) iter.Seq[*container] {
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

// runningByLevel is the rank of the running signal that is derived from usage.
const runningByLevel = 1

// discover makes a container of which only usage is known, such as an ephemeral one. It runs while usage is seen.
func (b *Builder) discover(s *incoming) *container {
	key := s.pod()
	if pods := b.pods.byName[key.objectKey]; key.uid == none && len(pods) > 0 {
		key = pods[len(pods)-1].podKey
	}
	c := b.podOf(key).newContainer(s.key[4])
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
	b.resolveContainer(c)
	c.pod.findNode()
	if c.node != nil {
		b.layLoad(b.nodeUse(c.node)) // its life may have become longer
	}
	b.dropSignals(c)
	c.index = len(b.pods.order)
	b.pods.order = append(b.pods.order, c)
	b.report.discovered = append(b.report.discovered, c.pod.name.Value()+"/"+c.container.Value())
	return c
}

// measure integrates a usage series for one container. Time that another series covers is not counted again (replicas may
// scrape the same target), unless that series was not seen there and its value was only held or spread.
func (l *integrator) measure(c *container, s *incoming) {
	if len(c.segments) == 0 {
		return
	}
	l.cells = l.used(c, s)
	covered, end := l.b.coverage(c, s.Resource), int64(0)
	if n := len(l.cells); n > 0 {
		end = l.cells[n-1].To
	}
	l.cells = l.withoutLeaps(c, s, l.b.dropUnknown(l.begin(c, *covered, s, l.cells)))
	cells := l.cells
	tail := len(cells)
	if s.p.Sampled() {
		tail = timeline.HeldTail(cells, l.b.sampling.Lookback)
	}
	l.coverAll(c, covered, s, cells, tail)
	if len(cells) > 0 && l.since != 0 {
		covered.Rise(s.series, cells[0], l.since)
	}
	if s.Signal == signals.ContainerUse {
		l.b.markEnd(covered, s, end)
	}
}

// used are the cells of a usage series of a container. They are joined, with their parts, but for those that HeldTail looks at.
func (l *integrator) used(c *container, s *incoming) []timeline.Cell {
	j, sampling := &l.joiner, l.b.samplingOf(s)
	j.Keep, j.Limit, j.Until = true, c.possible()/2, nil // half, to be sure
	if s.p.Sampled() {
		j.Until = func(int64, int64) int64 { return timeline.Unborn }
	}
	if s.Signal == signals.ContainerUse {
		return l.b.attributeHoles(c, s, j.Counter(sampling, l.cells[:0], s.p))
	}
	return j.Gauge(sampling, l.cells[:0], s.p)
}

// coverAll charges the parts of cells that are not covered yet. Cells from tail on are soft.
func (l *integrator) coverAll(c *container, covered *timeline.Coverage, s *incoming, cells []timeline.Cell, tail int) {
	stretch := func(i int) (n int, soft bool) { // of cells that are covered together
		n, soft = 1, i >= tail || cells[i].Held
		for !soft && i+n < tail && cells[i+n].From == cells[i+n-1].To && !cells[i+n].Held {
			n++
		}
		return n, soft
	}
	stretches := 0
	for i := 0; i < len(cells); stretches++ {
		n, _ := stretch(i)
		i += n
	}
	covered.Reserve(stretches)
	for i := 0; i < len(cells); {
		n, soft := stretch(i)
		l.cover(c, covered, s, cells[i:i+n], soft)
		i += n
	}
}

// coverage is the part of a container's time that usage series cover in this phase.
func (b *Builder) coverage(c *container, r allocation.Resource) *timeline.Coverage {
	if b.phase != correcting {
		return &b.containerUse(c).covered[r]
	}
	use := b.containerUse(c)
	if use.again == nil {
		use.again = &[allocation.NumResources]timeline.Coverage{}
	}
	return &use.again[r]
}

// cover charges the parts of consecutive cells that are not covered yet.
func (l *integrator) cover(c *container, covered *timeline.Coverage, s *incoming, cells []timeline.Cell, soft bool) {
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
	l.free = covered.Uncovered(l.free[:0], f.From, f.To)
	for _, free := range l.free {
		l.integrate(c, s.Resource, cells, free.From, free.To, 1)
		part := f
		part.From, part.To = free.From, free.To
		covered.Add(part)
	}
}

// markEnd records a counter's value at the end of its cells, where a later stretch of it goes on. If no fragment of the series ends
// there, it adds one of length 0. An end of 0 says that there are no cells: the points are a staleness marker, which ends an earlier
// stretch.
func (b *Builder) markEnd(covered *timeline.Coverage, s *incoming, end int64) {
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

// begin gives the first cell its beginning, or removes the cell. A counter continues an earlier stretch of its series. Else it began
// at 0 when the container started, if that is known and the series did not exist before.
func (l *integrator) begin(c *container, covered timeline.Coverage, s *incoming, cells []timeline.Cell) []timeline.Cell {
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
			return cells[1:] // an earlier stretch reaches into this one, and is charged already
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
	seen := l.b.sampling.Start - 2*l.b.sampling.Step // the beginning of later runs was seen: on the grid, two more steps are read
	if cell := l.b.sampling.Cell(); running && run.From > seen && max(from-run.From, run.From-from) <= cell &&
		(!l.b.sampling.Exact() && first.To-from <= most || l.b.sampling.Exact() && len(c.started) > 0) {
		// The run begins where the grid, or the start time, says, so the usage since the start belongs to it. A run that begins
		// with a sample began earlier: its first increase says nothing about the rate afterwards.
		l.since, from = from, run.From
	}
	if f := covered.Before(first.To - 1); f != nil && !f.Soft && f.To > from {
		if first.To-f.To > most {
			return cells[1:] // the known start is that of the container before this one
		}
		l.since, from = 0, f.To // the container before this one ended only then
	}
	first.From, first.Held = from, first.To-from > most
	cells = l.b.makeRoom(covered, s, cells)
	if cells[0].From != from {
		l.since = 0
	}
	if at := l.b.sampling.Align(from); cells[0].Held && cells[0].From == from && at < from {
		// Nothing was used before the start. A window that begins later could not see that the run begins earlier on the grid.
		return slices.Insert(cells, 0, timeline.Cell{From: at, To: from, Held: true})
	}
	return cells
}

// beginLevels extends cells of a gauge back to the start of the container's run, if that is less than a lookback away. It does so for the
// first cell, and for cells after a gap that is too long to bridge.
func (l *integrator) beginLevels(c *container, cells []timeline.Cell) []timeline.Cell {
	for i := 0; i < len(cells); i++ {
		first := cells[i]
		if i > 0 && first.From-cells[i-1].To <= l.b.evidence.most {
			continue
		}
		run, running := c.runs.Find(first.To)
		if !running || run.From >= first.From { // a value may last longer than a run
			run, running = c.runs.Find(first.From + 1)
		}
		if running && run.From < first.From && first.From-run.From <= timeline.Lookback {
			rate := first.Amount / float64(first.To-first.From)
			cells = slices.Insert(cells, i, timeline.Cell{From: run.From, To: first.From, Amount: rate * float64(first.From-run.From), Held: true})
			i++
		}
	}
	return cells
}

// canUse reports whether the container's node has enough CPU for this usage in (from, to].
func (c *container) canUse(coreSeconds float64, from, to int64) bool {
	return c.node != nil && coreSeconds <= c.node.amount[allocation.CPU].Value(to)*float64(to-from)/1000
}

// makeRoom makes room for the first cell of a container that restarted. If the container before it was still seen at the same
// point of the grid, the cell's time is covered, and its usage counts in the next cell.
func (b *Builder) makeRoom(covered timeline.Coverage, s *incoming, cells []timeline.Cell) []timeline.Cell {
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

// startBefore is the last known start of the container at or before t, even if it was reported later: cAdvisor may see a restart before
// kube-state-metrics reports its time.
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

// holdUsage charges the time that no usage series covers. The last known usage is held to the end of its run; before the first
// usage, only the request is charged.
func (b *Builder) holdUsage() {
	l := &b.usage
	var holes timeline.Intervals // scratch
	for c := range b.measuredContainers() {
		holes = holes[:0]
		covered := &b.containerUse(c).covered
		for r := range allocation.NumResources {
			for i := range c.segments {
				seg := &c.segments[i]
				if r == allocation.GPU && seg.request[r] == 0 && len(covered[r]) == 0 {
					continue // the container neither requests nor uses one
				}
				l.free = covered[r].Uncovered(l.free[:0], seg.from, seg.to)
				for _, free := range l.free {
					if l.hold(c, seg, r, free) && free.To-free.From > timeline.Lookback {
						holes = append(holes, free)
					}
				}
			}
		}
		if b.phase == measuring {
			b.outages.holes.add(c.pod.name.Value(), timeline.Outside(b.containerUse(c).appendSpread(holes, b.sampling), b.outages.silent[c.pod.cluster]))
		}
	}
}

// hold charges a part of a segment that no usage series covers, and reports whether usage was held in some of it.
func (l *integrator) hold(c *container, seg *segment, r allocation.Resource, free timeline.Interval) bool {
	rate, until := l.b.heldRate(c, r, free.From)
	until = min(max(until, free.From), free.To)
	l.charged = l.charged[:0]
	if free.From < until {
		l.charged = append(l.charged, timeline.Part{From: free.From, To: until, Amount: rate * float64(until-free.From) / 1000})
	}
	if until < free.To {
		l.charged = append(l.charged, timeline.Part{From: until, To: free.To})
		l.b.noteUnknown(c, seg, r, timeline.Interval{From: until, To: free.To})
	}
	t := l.tally(c, seg, r, 1)
	t.add(l.charged)
	t.charge()
	return free.From < until
}

// noteUnknown counts the running time within free, a part of a segment, as time with unknown usage. A container that requests no
// GPU uses none. While a container waits to run its usage is known to be 0, unless none of its usage is known at all.
func (b *Builder) noteUnknown(c *container, seg *segment, r allocation.Resource, free timeline.Interval) {
	if b.phase != measuring || r == allocation.GPU && seg.request[allocation.GPU] == 0 {
		return
	}
	spans := c.runs.Clip(free.From, free.To)
	if len(b.containerUse(c).covered[r]) == 0 {
		spans = timeline.Intervals{free}
	}
	for _, x := range spans {
		b.add(seg.ref, allocation.UnknownSeconds.Of(r), float64(x.To-x.From)/1000)
		b.add(seg.ref, allocation.UnknownRequestHours.Of(r), seg.request[r]*hours(x.From, x.To))
	}
}

// beginsWithSignals reports whether a run is seen from the first signals that were read: it may have begun earlier.
func (b *Builder) beginsWithSignals(run *timeline.Interval) bool {
	return run.From <= b.sampling.LoadStart()+b.sampling.Cell()
}

// heldRate is the last known usage before t within the same run, per second, and until when it is held: at most until the next reported
// start of the container. until is not after t if there is no such usage.
func (b *Builder) heldRate(c *container, r allocation.Resource, t int64) (rate float64, until int64) {
	run, ok := c.runs.Find(t + 1)
	if b.beginsWithSignals(&run) {
		run.From = timeline.Unborn
	}
	f := b.containerUse(c).covered[r].Before(t)
	if !ok || f == nil || f.To <= run.From {
		return 0, t
	}
	return f.Rate, min(f.To+allocation.Evidence.Milliseconds(), c.nextStart(f.To))
}
