package charge

import (
	"sort"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// integrate charges consecutive cells over (lo, hi] to the container's sections. With a sign of -1 it takes the charge back.
func (l *integrator) integrate(c *observe.Container, r allocation.Resource, cells []timeline.Cell, lo, hi int64, sign float64) {
	sections := c.Sections
	i := sort.Search(len(sections), func(i int) bool { return sections[i].To > lo })
	j := sort.Search(len(cells), func(j int) bool { return cells[j].To > lo })
	for ; i < len(sections) && sections[i].From < hi; i++ {
		section := &sections[i]
		from, to := max(section.From, lo), min(section.To, hi)
		for j > 0 && cells[j-1].To > from {
			j--
		}
		for j < len(cells) && cells[j].To <= from {
			j++
		}
		t := l.tally(c, section, r, sign)
		for ; j < len(cells) && cells[j].From < to; j++ {
			l.joiner.Within(&cells[j], from, to, t.add)
		}
		t.charge()
	}
}

// tally is the usage of a container within one section.
type tally struct {
	ch      *Charger
	of      *observe.Container
	section *observe.Section
	r       allocation.Resource
	load    *load   // of the node, nil if it does not have the resource
	sign    float64 // -1 takes the charge back
	request float64 // in a millisecond
	pod     []reserve
	levels  *levelCount // nil where nobody wants them

	allocated, used, most float64 // most is the highest usage in a millisecond
}

func (l *integrator) tally(c *observe.Container, section *observe.Section, r allocation.Resource, sign float64) tally {
	t := tally{ch: l.ch, of: c, section: section, r: r, sign: sign, request: section.Request[r] / 1000}
	if c.Pod.Reserve != nil {
		t.pod = l.ch.podUse(c.Pod).reserves[r]
	}
	if c.Node != nil && section.Inside[r] {
		t.load = l.ch.nodeUse(c.Node).load[r]
	}
	if r != allocation.GPU && section.Ref.Row != observe.NoRow {
		t.levels = l.levels
	}
	return t
}

// add adds usage within the section: max(request, usage) over each part.
func (t *tally) add(parts []timeline.Part) {
	if t.ch.Phase == observe.Correcting {
		t.ch.correct(t.of.Node, t.section, t.r, parts, t.sign)
		return
	}
	request, allocated, used, most := t.request, t.allocated, t.used, t.most
	for k := range parts {
		x := &parts[k]
		dt := float64(x.To - x.From)
		base := request * dt
		used += x.Amount
		if x.Amount > base {
			allocated += x.Amount
			if t.load != nil {
				t.load.Spread(t.load.bursts, x.From, x.To, t.sign*(x.Amount-base))
			}
		} else {
			allocated += base
		}
		if x.Amount > most*dt {
			most = x.Amount / dt
		}
	}
	t.allocated, t.used, t.most = allocated, used, most
	if t.levels != nil {
		t.levels.add(parts)
	}
	if len(t.pod) > 0 {
		t.use(t.pod, parts)
	}
}

// addUnknown adds time without known usage, of which the given milliseconds are unknown: in the rest there was none.
func (t *tally) addUnknown(parts []timeline.Part, unknown int64) {
	levels := t.levels
	t.levels = nil
	t.add(parts)
	if t.levels = levels; levels != nil {
		for _, x := range parts {
			levels.addUnused(x.To - x.From)
		}
		levels.addUnused(-unknown)
	}
}

// charge adds what was tallied to the section's row, and its cost.
func (t *tally) charge() {
	ch, section, r := t.ch, t.section, t.r
	if ch.Phase == observe.Correcting {
		return
	}
	cost := t.allocated / 3600 * section.Price[r] / r.PerPriceUnit()
	if rows, row := ch.Rows[section.Ref.Set], section.Ref.Row; row != observe.NoRow {
		add := func(column allocation.Column, v float64) { // a sum may fall below 0 by rounding
			if v != 0 {
				values := rows.Column(column)
				values[row] = max(0, values[row]+t.sign*v)
			}
		}
		add(allocation.Hours.Of(r), t.allocated/3600)
		add(allocation.UsageHours.Of(r), t.used/3600)
		add(allocation.Cost.Of(r), cost)
		if t.sign > 0 && t.most > 0 {
			usage := rows.Column(allocation.UsageMax.Of(r))
			usage[row] = max(usage[row], t.most*1000)
		}
		if t.levels != nil {
			t.levels.take(rows, r, row, int64(t.sign))
		}
	}
	if !section.Inside[r] && cost != 0 {
		ch.addNodeless(t.of.Node, t.of.Pod.Cluster, section.Ref.Set, r, t.sign*cost)
	}
}
