package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// pressures are the columns that count what goes wrong with containers, by their signals from the first one on.
var pressures = [...]allocation.Column{allocation.CPUPeriods, allocation.ThrottledPeriods, allocation.OOMKills, allocation.CPUWaitingSeconds}

// addPressure adds the increases of a counter to the containers that it is of. What was counted before its first sample is not known to be of the time that
// is looked at, and left out.
func (l *integrator) addPressure(s *observe.Incoming) error {
	if c := l.ch.PodByUID(s).Container(s.Key[4]); c != nil {
		l.press(c, s)
		return nil
	}
	for c := range l.ch.instances(s) {
		l.press(c, s)
	}
	return nil
}

// press adds a counter to a container, in the time that no other series of the counter covers: replicas may scrape the same target.
func (l *integrator) press(c *observe.Container, s *observe.Incoming) {
	if len(c.Sections) == 0 {
		return
	}
	which := s.Signal - signals.ContainerPeriods
	covered, sampling := &l.ch.containerUse(c).pressed[which], l.ch.SamplingOf(s)
	l.joiner.Keep, l.joiner.Limit, l.joiner.Until = true, 0, nil
	l.cells = l.joiner.Counter(sampling, l.cells[:0], s.Points)
	if len(l.cells) == 0 {
		return
	}
	end := l.cells[len(l.cells)-1].To
	l.cells = l.goOn(c, *covered, s, sampling)
	if s.Signal == signals.ContainerOOMKills {
		l.noteKills(c)
	}
	if len(l.cells) > 0 {
		from, to := l.cells[0].From, l.cells[len(l.cells)-1].To
		l.free = covered.Uncovered(l.free[:0], from, to)
		for _, free := range l.free {
			l.count(c, pressures[which], free)
			covered.Add(timeline.Fragment{From: free.From, To: free.To, Series: s.ID})
		}
	}
	l.ch.markEnd(covered, s, end)
}

// goOn begins the cells of a counter where an earlier stretch of its series ended, else with its second sample.
func (l *integrator) goOn(c *observe.Container, covered timeline.Coverage, s *observe.Incoming, sampling timeline.Sampling) []timeline.Cell {
	first := l.cells[0]
	for i := len(covered) - 1; i >= 0; i-- {
		f := &covered[i]
		switch {
		case f.Series != s.ID || f.From > first.To:
		case first.To <= f.To, !l.ch.isSameCounter(c, s, f.To, first.To):
			return l.cells[1:]
		default:
			return sampling.GoOn(l.cells, s.Points, f.To, f.Until, f.Counter)
		}
	}
	return l.cells[1:]
}

// count adds what the cells at hand counted within a stretch to the rows of a container.
func (l *integrator) count(c *observe.Container, column allocation.Column, x timeline.Interval) {
	for i := range c.Sections {
		section := &c.Sections[i]
		from, to := max(section.From, x.From), min(section.To, x.To)
		if from >= to {
			continue
		}
		sum := 0.0
		for k := range l.cells {
			if cell := &l.cells[k]; cell.From < to && cell.To > from {
				l.joiner.Within(cell, from, to, func(parts []timeline.Part) {
					for i := range parts {
						sum += parts[i].Amount
					}
				})
			}
		}
		l.ch.AddTo(section.Ref, column, sum)
	}
}

// noteKills notes when the cells at hand counted something.
func (l *integrator) noteKills(c *observe.Container) {
	use := l.ch.containerUse(c)
	for i := range l.cells {
		cell := &l.cells[i]
		l.joiner.Within(cell, cell.From, cell.To, func(parts []timeline.Part) {
			for k := range parts {
				if parts[k].Amount > 0 {
					use.killed = append(use.killed, parts[k].To)
				}
			}
		})
	}
}

// addKilled counts a kill where a container starts again after it was killed for its memory, unless one was counted since it started before: the
// counter of its cgroup ends with the container, mostly before a scrape sees its last kill.
func (l *integrator) addKilled(s *observe.Incoming) error {
	c := l.ch.PodByUID(s).Container(s.Key[4])
	if c == nil || len(c.Sections) == 0 {
		return nil
	}
	use, reported, before := l.ch.containerUse(c), l.ch.SamplingOf(s).Reports(s.Points), l.ch.Sampling.LoadStart()
	for _, x := range c.Started {
		started := int64(x.V * 1000)
		counted := func(at int64) bool { return at > before && at <= max(started, x.From+1) }
		within := slices.IndexFunc(c.Sections, func(section observe.Section) bool { return section.To > started })
		if within >= 0 && started >= before && reported.Value(x.From+1) > 0 && !slices.ContainsFunc(use.killed, counted) {
			l.ch.AddTo(c.Sections[within].Ref, allocation.OOMKills, 1)
			use.killed = append(use.killed, started)
		}
		before = max(before, started)
	}
	return nil
}
