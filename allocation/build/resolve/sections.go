package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// cuts is scratch of ResolveContainer, and what it remembers of containers before.
type cuts struct {
	edges    []int64
	sections []observe.Section
	terms    map[observe.Terms]*observe.Terms
	joined   joinedLabels
	services []string // scratch of servicesAt
}

// ResolveContainer cuts the time that is charged for a container into sections.
func (rs *Resolver) ResolveContainer(c *observe.Container) {
	found, waits, inside := rs.findRuns(c)
	if len(inside) == 0 {
		return
	}
	if c.Node != nil {
		for _, run := range inside {
			c.Node.ExtendLife(run.From)
		}
	}
	rs.Outages.Bridged.Add(c.Pod.Name.Value(), rs.Asked(found.Bridged))
	n := c.Node
	resolveDevices(c, n, rs.Dict)
	var request, limit [allocation.NumResources]timeline.Steps
	edges := append(rs.cuts.edges[:0], rs.Borders...)
	for r := range allocation.NumResources {
		request[r], limit[r] = rs.FillGaps(c.Request[r].Best()), rs.FillGaps(c.Limit[r].Best())
		edges = limit[r].Edges(request[r].Edges(edges))
		rs.noteRequest(c, r, request[r], limit[r], inside)
	}
	unknown := rs.pricesWithoutNode(c, inside)
	if n != nil {
		edges = n.Edges(edges)
	} else if unknown != nil {
		edges = append(edges, unknown.Changes...)
	}
	rs.cuts.edges, rs.cuts.sections = edges, rs.cuts.sections[:0]
	edges = timeline.SortedEdges(edges)
	for _, run := range inside {
		for from := run.From; from < run.To; {
			to := timeline.NextEdge(edges, from, run.To)
			ref := rs.row(c, from, to)
			var of observe.Terms
			for r := range allocation.NumResources {
				of.Request[r] = max(0, request[r].Value(to))
				switch {
				case n != nil && n.Charged(to):
					of.Price[r], of.Inside[r] = n.PriceAt(r, to), n.Has(r, to)
				case unknown != nil:
					of.Price[r] = unknown.At(to, false).Price[r]
				}
				rs.AddTo(ref, allocation.RequestHours.Of(r), of.Request[r]*observe.Hours(from, to))
				rs.AddTo(ref, allocation.LimitHours.Of(r), max(0, limit[r].Value(to))*observe.Hours(from, to))
			}
			rs.cuts.add(observe.Section{From: from, To: to, Ref: ref, Terms: rs.cuts.shared(&of)})
			from = to
		}
	}
	c.Sections = slices.Clone(rs.cuts.sections)
	for _, ref := range c.Rows {
		if ref.Row != observe.NoRow {
			rs.describe(c, rs.Rows[ref.Set], ref.Row)
		}
	}
	rs.bound(c, &found, waits)
}

// pricesWithoutNode returns the prices of a container whose node is not known, nil if it is known, or none of those that the cluster has.
func (rs *Resolver) pricesWithoutNode(c *observe.Container, inside timeline.Intervals) *prices.Node {
	lost := rs.isLost(c)
	rs.noteNodeless(c, lost, inside)
	if c.Node != nil || lost {
		return nil
	}
	unknown := rs.Sheet().Node(rates.NodeAttributes{Cluster: c.Pod.Cluster.Value()}, &prices.Known{})
	if len(rs.Asked(inside)) > 0 {
		rs.noteUnplaced(c, &unknown)
	}
	return &unknown
}

// add appends a section. It joins it with the section before if nothing changed between them.
func (x *cuts) add(section observe.Section) {
	if n := len(x.sections); n > 0 {
		if last := &x.sections[n-1]; last.To == section.From && last.Ref == section.Ref && last.Terms == section.Terms {
			last.To = section.To
			return
		}
	}
	x.sections = append(x.sections, section)
}

// shared returns terms that are equal to t, the same ones each time.
func (x *cuts) shared(t *observe.Terms) *observe.Terms {
	if n := len(x.sections); n > 0 && *x.sections[n-1].Terms == *t {
		return x.sections[n-1].Terms // mostly
	}
	of := x.terms[*t]
	if of == nil {
		of = &observe.Terms{}
		*of = *t
		x.terms[*t] = of
	}
	return of
}
