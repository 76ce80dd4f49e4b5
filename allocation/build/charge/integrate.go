package charge

import (
	"iter"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// addUsage integrates a usage series for the container with the UID in its key, else for the containers with its name, each for
// the time it ran.
func (l *integrator) addUsage(s *observe.Incoming) error {
	p := l.ch.PodByUID(s)
	if c := p.Container(s.Key[4]); c != nil {
		l.measureInOrder(c, s, false)
		return nil
	}
	if p != nil && p.ObjectKey != s.Object() { // the names are those of the pod that cAdvisor runs in, and so is the container's
		l.ch.podUse(p).alias = s.Key[2].Value()
		if len(p.Containers) != 1 {
			return nil // which container it is of is not known: the cgroup of its pod counts
		}
		s.Key = slices.Clone(s.Key)
		s.Key[1], s.Key[2], s.Key[4] = p.Namespace, p.Name, p.Containers[0].Name
	}
	known, ran := s.Key[2] == observe.None, false // a series that names no pod makes none
	for c := range l.ch.instances(s) {
		known = true
		if len(c.Sections) > 0 {
			ran = true
			l.measureInOrder(c, s, len(l.ch.Pods.ByName[s.Object()]) > 1)
		}
	}
	switch {
	case ran || l.ch.Phase != observe.Measuring || s.Points.Last() <= l.ch.Sampling.Start || s.Points.First() > l.ch.Sampling.End:
	case !known && s.Signal == signals.ContainerLevel:
		l.measure(l.ch.discover(s), s)
	default:
		l.unmatched++
	}
	return nil
}

// instances yields the containers to which usage without a UID may belong: those with its names that run on the node it was scraped
// from. If there are none, it yields all with its names.
func (ch *Charger) instances(s *observe.Incoming) iter.Seq[*observe.Container] {
	all := ch.Named(s.Object(), s.Key[4])
	at := ch.NodeAt(s.Key[0], s.Key[5])
	here := func(c *observe.Container) bool { return c.Node != nil && c.Node.Name == at }
	for c := range all {
		if here(c) {
			return func(yield func(*observe.Container) bool) {
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
func (ch *Charger) discover(s *observe.Incoming) *observe.Container {
	key := s.Pod()
	if pods := ch.Pods.ByName[key.ObjectKey]; key.UID == observe.None && len(pods) > 0 {
		key = pods[len(pods)-1].PodKey
	}
	c := ch.PodOf(key).NewContainer(s.Key[4])
	c.Init, c.Alone = true, true
	if at := ch.NodeAt(s.Key[0], s.Key[5]); at != observe.None && !c.Pod.Node.Known() {
		c.Pod.Node.Set(at, 0)
	}
	c.Running.Add(runningByLevel, ch.SamplingOf(s).Sights(s.Points))
	for _, p := range ch.Pods.ByName[key.ObjectKey] {
		for _, x := range p.WithoutSignal {
			if x.Name == c.Name {
				c.AddDevices(x.Devices, func(s timeline.Steps) timeline.Steps { return s })
			}
		}
	}
	ch.ResolveContainer(c)
	if c.Node != nil {
		ch.layLoad(ch.nodeUse(c.Node)) // its life may have become longer
	}
	ch.DropSignals(c)
	c.Index = len(ch.Pods.Order)
	ch.Pods.Order = append(ch.Pods.Order, c)
	ch.Report.Discovered = append(ch.Report.Discovered, c.Pod.Name.Name()+"/"+c.Name.Name())
	return c
}

// measure integrates a usage series for one container. Time that another series covers is not counted again (replicas may
// scrape the same target), unless that series was not seen there and its value was only held or spread.
func (l *integrator) measure(c *observe.Container, s *observe.Incoming) {
	if len(c.Sections) == 0 {
		return
	}
	l.cells = l.used(c, s)
	covered, end := l.ch.coverage(c, s.Resource), int64(0)
	if n := len(l.cells); n > 0 {
		end = l.cells[n-1].To
	}
	l.cells = l.withoutLeaps(c, s, l.ch.dropUnknown(l.begin(c, *covered, s, l.cells)))
	cells := l.cells
	tail := len(cells)
	if s.Points.Sampled() {
		tail = timeline.HeldTail(cells, l.ch.Sampling.Lookback)
	}
	l.coverAll(c, covered, s, cells, tail)
	if len(cells) > 0 && l.since != 0 {
		covered.Rise(s.ID, cells[0], l.since)
	}
	if s.Signal == signals.ContainerUse {
		l.ch.markEnd(covered, s, end)
	}
}

// used are the cells of a usage series of a container. They are joined, with their parts, but for those that HeldTail looks at.
func (l *integrator) used(c *observe.Container, s *observe.Incoming) []timeline.Cell {
	j, sampling := &l.joiner, l.ch.SamplingOf(s)
	j.Keep, j.Limit, j.Until = true, possible(c)/2, nil // half, to be sure
	if s.Points.Sampled() {
		j.Until = func(int64, int64) int64 { return timeline.Unborn }
	}
	if s.Signal == signals.ContainerUse {
		return l.ch.attributeHoles(c, s, j.Counter(sampling, l.cells[:0], s.Points))
	}
	return j.Gauge(sampling, l.cells[:0], s.Points)
}

// coverAll charges the parts of cells that are not covered yet. Cells from tail on are soft.
func (l *integrator) coverAll(c *observe.Container, covered *timeline.Coverage, s *observe.Incoming, cells []timeline.Cell, tail int) {
	yields := func(x *timeline.Cell) bool { // what is held, and a counter that does not grow, to one that does
		return x.Held || c.Restarted && s.Signal == signals.ContainerUse && x.Amount == 0
	}
	stretch := func(i int) (n int, soft bool) { // of cells that are covered together
		n, soft = 1, i >= tail || yields(&cells[i])
		for !soft && i+n < tail && cells[i+n].From == cells[i+n-1].To && !yields(&cells[i+n]) {
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
func (ch *Charger) coverage(c *observe.Container, r allocation.Resource) *timeline.Coverage {
	if ch.Phase != observe.Correcting {
		return &ch.containerUse(c).covered[r]
	}
	use := ch.containerUse(c)
	if use.again == nil {
		use.again = &[allocation.NumResources]timeline.Coverage{}
	}
	return &use.again[r]
}

// cover charges the parts of consecutive cells that are not covered yet.
func (l *integrator) cover(c *observe.Container, covered *timeline.Coverage, s *observe.Incoming, cells []timeline.Cell, soft bool) {
	first, last := cells[0], cells[len(cells)-1]
	f := timeline.Fragment{From: first.From, To: last.To, Series: s.ID, Soft: soft}
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
func (ch *Charger) markEnd(covered *timeline.Coverage, s *observe.Incoming, end int64) {
	if end == 0 {
		for i := range *covered {
			if f := &(*covered)[i]; f.Series == s.ID {
				f.Until = min(f.Until, s.Points.First())
			}
		}
		return
	}
	value, until := ch.SamplingOf(s).SeenAt(s.Points, end)
	for i := range *covered {
		if f := &(*covered)[i]; f.Series == s.ID && f.To == end {
			f.Counter, f.Until = value, until
			return
		}
	}
	covered.Add(timeline.Fragment{From: end, To: end, Series: s.ID, Counter: value, Until: until})
}

// begin gives the first cell its beginning, or removes the cell. A counter continues an earlier stretch of its series. Else it began
// at 0 when the container started, if that is known and the series did not exist before.
func (l *integrator) begin(c *observe.Container, covered timeline.Coverage, s *observe.Incoming, cells []timeline.Cell) []timeline.Cell {
	l.since = 0
	if len(cells) == 0 {
		return cells
	}
	if s.Signal == signals.ContainerLevel {
		return l.beginLevels(c, cells)
	}
	first := &cells[0]
	run, running := c.Runs.Find(first.To)
	for i := len(covered) - 1; i >= 0; i-- {
		f := &covered[i]
		if f.Series != s.ID || f.From > first.To || f.Soft && first.To <= f.To {
			continue
		}
		if first.To <= f.To {
			return cells[1:] // an earlier stretch reaches into this one, and is charged already
		}
		if !l.ch.isSameCounter(c, s, f.To, first.To) {
			break
		}
		return l.ch.SamplingOf(s).GoOn(cells, s.Points, f.To, f.Until, f.Counter)
	}
	from, known := c.StartBefore(s.Points.First())
	if !known && c.Alone && running && c.CanUse(first.Amount, run.From, first.To) {
		from, known = run.From, true
	}
	if !known || from >= first.To || !l.ch.isFirst(c.Pod, s, from) {
		return cells[1:]
	}
	most := max(l.ch.Sampling.Lookback, l.ch.Sampling.Cell())
	seen := l.ch.Sampling.Start - 2*l.ch.Sampling.Step // the beginning of later runs was seen: on the grid, two more steps are read
	if cell := l.ch.Sampling.Cell(); running && run.From > seen && max(from-run.From, run.From-from) <= cell &&
		(!l.ch.Sampling.Exact() && first.To-from <= most || l.ch.Sampling.Exact() && len(c.Started) > 0) {
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
	cells = l.ch.makeRoom(covered, s, cells)
	if cells[0].From != from {
		l.since = 0
	}
	if at := l.ch.Sampling.Align(from); cells[0].Held && cells[0].From == from && at < from {
		// Nothing was used before the start. A window that begins later could not see that the run begins earlier on the grid.
		return slices.Insert(cells, 0, timeline.Cell{From: at, To: from, Held: true})
	}
	return cells
}

// beginLevels extends cells of a gauge back to the start of the container's run, if that is less than a lookback away. It does so for the
// first cell, and for cells after a gap that is too long to bridge.
func (l *integrator) beginLevels(c *observe.Container, cells []timeline.Cell) []timeline.Cell {
	for i := 0; i < len(cells); i++ {
		first := cells[i]
		if i > 0 && first.From-cells[i-1].To <= l.ch.Evidence.Most {
			continue
		}
		run, running := c.Runs.Find(first.To)
		if !running || run.From >= first.From { // a value may last longer than a run
			run, running = c.Runs.Find(first.From + 1)
		}
		if running && run.From < first.From && first.From-run.From <= timeline.Lookback {
			rate := first.Amount / float64(first.To-first.From)
			cells = slices.Insert(cells, i, timeline.Cell{From: run.From, To: first.From, Amount: rate * float64(first.From-run.From), Held: true})
			i++
		}
	}
	return cells
}

// makeRoom makes room for the first cell of a container that restarted. If the container before it was still seen at the same
// point of the grid, the cell's time is covered, and its usage counts in the next cell.
func (ch *Charger) makeRoom(covered timeline.Coverage, s *observe.Incoming, cells []timeline.Cell) []timeline.Cell {
	first := &cells[0]
	f := covered.CoveringAt(first.To)
	if f == nil || f.Soft || f.Series == s.ID || f.From >= first.From || f.To-first.To > ch.Sampling.Cell() {
		return cells
	}
	if len(cells) > 1 && cells[1].To > f.To {
		cells[1].Amount += first.Amount
		return cells[1:]
	}
	first.From, first.To = f.To, f.To+ch.Sampling.Cell()
	return cells
}

// holdUsage charges the time that no usage series covers. The last known usage is held to the end of its run; before the first
// usage, only the request is charged.
func (ch *Charger) holdUsage() {
	l := &ch.usage
	var holes timeline.Intervals // scratch
	for c := range ch.measuredContainers() {
		holes = holes[:0]
		covered := &ch.containerUse(c).covered
		for r := range allocation.NumResources {
			for i := range c.Sections {
				section := &c.Sections[i]
				if r == allocation.GPU && section.Request[r] == 0 && len(covered[r]) == 0 {
					continue // the container neither requests nor uses one
				}
				l.free = covered[r].Uncovered(l.free[:0], section.From, section.To)
				for _, free := range l.free {
					if l.hold(c, section, r, free) && free.To-free.From > timeline.Lookback {
						holes = append(holes, free)
					}
				}
			}
		}
		if ch.Phase == observe.Measuring {
			ch.Outages.Holes.Add(c.Pod.Name.Value(), timeline.Outside(ch.containerUse(c).appendSpread(holes, ch.Sampling), ch.Outages.Silent[c.Pod.Cluster]))
		}
	}
}

// hold charges a part of a section that no usage series covers, and reports whether usage was held in some of it.
func (l *integrator) hold(c *observe.Container, section *observe.Section, r allocation.Resource, free timeline.Interval) bool {
	rate, until := l.ch.heldRate(c, r, free.From)
	until = min(max(until, free.From), free.To)
	t := l.tally(c, section, r, 1)
	if free.From < until {
		l.charged = append(l.charged[:0], timeline.Part{From: free.From, To: until, Amount: rate * float64(until-free.From) / 1000})
		t.add(l.charged)
	}
	if until < free.To {
		unknown := l.ch.noteUnknown(c, section, r, timeline.Interval{From: until, To: free.To})
		l.charged = append(l.charged[:0], timeline.Part{From: until, To: free.To})
		t.addUnknown(l.charged, unknown)
	}
	t.charge()
	return free.From < until
}

// noteUnknown counts the running time within free, a part of a section, as time with unknown usage, and returns it in milliseconds. A container that requests no
// GPU uses none. While a container waits to run its usage is known to be 0, unless none of its usage is known at all.
func (ch *Charger) noteUnknown(c *observe.Container, section *observe.Section, r allocation.Resource, free timeline.Interval) (millis int64) {
	if ch.Phase != observe.Measuring || r == allocation.GPU && section.Request[allocation.GPU] == 0 {
		return 0
	}
	spans := c.Runs.Clip(free.From, free.To)
	if len(ch.containerUse(c).covered[r]) == 0 {
		spans = timeline.Intervals{free}
	}
	for _, x := range spans {
		ch.AddTo(section.Ref, allocation.UnknownSeconds.Of(r), float64(x.To-x.From)/1000)
		ch.AddTo(section.Ref, allocation.UnknownRequestHours.Of(r), section.Request[r]*observe.Hours(x.From, x.To))
		millis += x.To - x.From
	}
	return millis
}

// beginsWithSignals reports whether a run is seen from the first signals that were read: it may have begun earlier.
func (ch *Charger) beginsWithSignals(run *timeline.Interval) bool {
	return run.From <= ch.Sampling.LoadStart()+ch.Sampling.Cell()
}

// heldRate is the last known usage before t within the same run, per second, and until when it is held: at most until the next reported
// start of the container. A run of which no usage was seen has the last known usage of the run before it, if that ended shortly before. until is not after t if there is no such usage.
func (ch *Charger) heldRate(c *observe.Container, r allocation.Resource, t int64) (rate float64, until int64) {
	run, ok := c.Runs.Find(t + 1)
	if ch.beginsWithSignals(&run) {
		run.From = timeline.Unborn
	}
	covered := ch.containerUse(c).covered[r]
	f := covered.Before(t)
	switch {
	case !ok || f == nil:
		return 0, t
	case f.To > run.From:
		return f.Rate, min(f.To+allocation.Evidence.Milliseconds(), c.NextStart(f.To))
	case ch.Sampling.Exact() && run.From-f.To <= timeline.Lookback && covered.Before(run.To) == f:
		return f.Rate, min(f.To+allocation.Evidence.Milliseconds(), run.To) // no usage of this run was seen at all
	}
	return 0, t
}

// appendSpread appends when a container ran and its usage was counted, but not seen, for more than a lookback.
func (c *containerUse) appendSpread(dst timeline.Intervals, s timeline.Sampling) timeline.Intervals {
	for r := range allocation.NumResources {
		for _, f := range c.covered[r] {
			if f.Soft && f.To-f.From > timeline.Lookback {
				dst = append(dst, c.Runs.Clip(max(f.From, s.Start), min(f.To, s.End))...)
			}
		}
	}
	return dst
}
