package remote

import (
	"slices"
)

// ends joins groups of single selectors that want only the last value: if their ends are at regular distances, they are asked for
// as one grid.
func ends(singles []*group) []*group {
	var out []*group
	for len(singles) > 0 {
		first := singles[0]
		same := slices.DeleteFunc(slices.Clone(singles), func(g *group) bool { return !first.differsInTime(g) })
		singles = slices.DeleteFunc(singles, first.differsInTime)
		if step := distance(same); len(same) > 1 && step > 0 {
			out = append(out, joinEnds(same, step))
			continue
		}
		for _, g := range same {
			out = append(out, joinEnds([]*group{g}, g.span.Grid.Step))
		}
	}
	return out
}

// differsInTime reports whether two groups of one selector each differ only in their times.
func (g *group) differsInTime(o *group) bool {
	a, b := &g.span, &o.span
	return a.Metric == b.Metric && a.Grid.Step == b.Grid.Step && a.Grid.Lookback == b.Grid.Lookback && slices.Equal(a.Matchers, b.Matchers) && slices.Equal(a.Keep, b.Keep)
}

// distance is the step of a grid on which all groups end, 0 if most of its points would be useless.
func distance(groups []*group) int64 {
	const most = 4 // points asked for, for each that is wanted
	from, to := groups[0].span.End, groups[0].span.End
	step := int64(0)
	for _, g := range groups {
		from, to = min(from, g.span.End), max(to, g.span.End)
		a, b := step, max(g.span.End-groups[0].span.End, groups[0].span.End-g.span.End)
		for b > 0 {
			a, b = b, a%b
		}
		step = a
	}
	if step == 0 || (to-from)/step+1 > most*int64(len(groups)) {
		return 0
	}
	return step
}

// joinEnds is one group of groups that differ in time, which asks for the ends of all.
func joinEnds(groups []*group, step int64) *group {
	g := groups[0]
	g.span.Start, g.span.Grid.Step = g.span.End, step
	members := g.members
	g.members = nil
	members[0].at = g.span.End
	for _, o := range groups[1:] {
		g.span.Start, g.span.End = min(g.span.Start, o.span.End), max(g.span.End, o.span.End)
		o.members[0].at = o.span.End
		members = append(members, o.members[0])
	}
	for _, m := range members {
		g.add(m)
	}
	return g
}

// wanted are the points that the member wants.
func (m *member) wanted(points []point) []point {
	if m.at == 0 {
		return points
	}
	i, ok := slices.BinarySearchFunc(points, m.at, func(p point, at int64) int { return int(min(1, max(-1, p.t-at))) })
	if !ok {
		return nil
	}
	return points[i : i+1]
}
