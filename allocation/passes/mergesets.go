package passes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/grouping"
)

// Merge merges sets as built into one over w: the hours of a day, or the clusters or shards of an installation. Rows are
// sorted by cluster, namespace, pod, UID, container and node. Rows of one container in several sets become one: amounts are
// added, and anything else is the newest known value. Assets are merged in the same way and sorted. The sets must be given
// oldest first and do not change; those of several dictionaries are joined. It fails without sets, and for sets outside of w.
func Merge(w allocation.Window, sets []*allocation.Set) (*allocation.Set, error) {
	if len(sets) == 0 {
		return nil, errors.New("merge sets: there are none")
	}
	for _, s := range sets {
		if !s.Built() {
			return nil, fmt.Errorf("merge sets: passes have made that of %s", s.Window.Text())
		}
		if s.Window.Start.Before(w.Start) || s.Window.End.After(w.End) {
			return nil, fmt.Errorf("merge sets: %s is not within %s", s.Window.Text(), w.Text())
		}
	}
	sets = Join(sets)
	dst := sumHeaders(sets)
	dst.Window = w
	groups, rows := instances(sets)
	from := make([]operand, len(sets))
	for i, s := range sets {
		from[i] = rowsOf(s, groups[i])
	}
	m := newMerger(dst, len(rows), &workspace{}, from...)
	m.sum()
	for p := range allocation.NumProperties {
		if !m.Unread.Properties[p] {
			m.IDs[p] = m.newest(p, nil)
		}
	}
	m.Merged = make([]allocation.Merged, len(rows)) // OneRow
	for _, r := range rows {
		m.Special = append(m.Special, r.Special[r.row])
	}
	return dst, m.space.err
}

// sumHeaders returns an empty set with what the sets say as wholes, and their assets. Its window reaches from the first start to
// the last end.
func sumHeaders(sets []*allocation.Set) *allocation.Set {
	dst := sets[0].Like()
	covered := make([][]allocation.Covered, len(sets))
	for i, s := range sets {
		covered[i] = s.Covered
	}
	dst.Covered = coverage.Join(covered...)
	for _, s := range sets[1:] {
		dst.Reading = nil
		if s.Window.Start.Before(dst.Window.Start) {
			dst.Window.Start = s.Window.Start
		}
		if s.Window.End.After(dst.Window.End) {
			dst.Window.End = s.Window.End
		}
		dst.Resolution, dst.ScrapeInterval = max(dst.Resolution, s.Resolution), max(dst.ScrapeInterval, s.ScrapeInterval)
		dst.Rules = min(dst.Rules, s.Rules)
		dst.Estimated.Add(s.Estimated)
		dst.Incomplete = dst.Incomplete || s.Incomplete
		dst.Unlabeled = dst.Unlabeled && s.Unlabeled
		dst.Warnings = slices.Concat(dst.Warnings, s.Warnings)
	}
	dst.Warnings = allocation.SortWarnings(slices.Clone(dst.Warnings))
	headers := make([]*allocation.Header, len(sets))
	for i, s := range sets {
		headers[i] = &s.Header
	}
	dst.AddPricedBy(headers...)
	sumAssets(dst, sets)
	return dst
}

// instance is the first row of a container.
type instance struct {
	*allocation.Table
	row int
	nth int32 // position among the rows of its set with the same key, from 0
}

// instances numbers the rows of sets, which share a Dict, by container and node: rows of one get one number. It returns the number of
// each row of each set, and the first row of each number, sorted by cluster, namespace, pod, UID, container, node and kind. A
// set may have several rows of one container: the first ones of all sets become one row, then the second ones.
func instances(sets []*allocation.Set) (groups [][]int32, rows []instance) {
	var byKey grouping.Combinations[allocation.ID]
	groups = make([][]int32, len(sets))
	for i, s := range sets {
		t, kinds := s.Table(), make([]allocation.ID, s.Len())
		for row, kind := range t.Special {
			kinds[row] = allocation.ID(kind)
		}
		cols := [][]allocation.ID{t.IDs[allocation.NodeName], kinds}
		for _, p := range allocation.InstanceProperties {
			cols = append(cols, t.IDs[p])
		}
		byKey.Add(nil, s.Len(), cols)
		groups[i] = byKey.Rows(make([]int32, s.Len()), 0)
		for row, g := range groups[i] {
			if int(g) == len(rows) {
				rows = append(rows, instance{Table: t, row: row})
			}
		}
	}
	rows = separate(sets, groups, rows)
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareInstances(&rows[a], &rows[b]) })
	place, sorted := make([]int32, len(rows)), make([]instance, len(rows))
	for to, from := range order {
		place[from], sorted[to] = int32(to), rows[from]
	}
	for _, group := range groups {
		for row, g := range group {
			group[row] = place[g]
		}
	}
	return groups, sorted
}

// separate gives numbers of their own to the second and further rows of a set that have one number.
func separate(sets []*allocation.Set, groups [][]int32, rows []instance) []instance {
	type repeat struct{ number, nth int32 }
	further := map[repeat]int32{}
	for i, group := range groups {
		times := make([]int32, len(rows))
		for row, g := range group {
			if times[g]++; times[g] == 1 {
				continue
			}
			of := repeat{g, times[g] - 1}
			number, ok := further[of]
			if !ok {
				number = int32(len(rows))
				further[of] = number
				rows = append(rows, instance{Table: sets[i].Table(), row: row, nth: of.nth})
			}
			group[row] = number
		}
	}
	return rows
}

// compareInstances orders rows by the texts of their keys.
func compareInstances(a, b *instance) int {
	for _, p := range [...]allocation.Property{allocation.Cluster, allocation.Namespace, allocation.Pod, allocation.PodUID, allocation.Container, allocation.NodeName} {
		if c := a.Dict.Compare(a.IDs[p][a.row], b.IDs[p][b.row]); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.Special[a.row], b.Special[b.row]), cmp.Compare(a.nth, b.nth))
}
