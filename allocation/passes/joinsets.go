package passes

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// Join returns the sets over one Dict, as Apply needs them. Sets of other dictionaries than the first are copied and their
// ids translated. The given sets, which must be as built, do not change.
func Join(sets []*allocation.Set) []*allocation.Set {
	if len(sets) == 0 || !slices.ContainsFunc(sets, func(s *allocation.Set) bool { return s.Table().Dict != sets[0].Table().Dict }) {
		return sets
	}
	to := sets[0].Table().Dict.Clone()
	known := map[*allocation.Dict]*translation{sets[0].Table().Dict: nil}
	out := make([]*allocation.Set, len(sets))
	for i, s := range sets {
		t, ok := known[s.Table().Dict]
		if !ok {
			t = &translation{from: s.Table().Dict, to: to}
			known[s.Table().Dict] = t
		}
		joined := *s
		joined.Table().Dict = to
		if t != nil {
			for p, ids := range joined.Table().IDs {
				joined.Table().IDs[p] = slices.Clone(ids)
			}
			joined.Table().Volumes.List, joined.Table().Balancers.List = slices.Clone(joined.Table().Volumes.List), slices.Clone(joined.Table().Balancers.List)
			t.apply(&joined)
		}
		out[i] = &joined
	}
	return out
}

// WithoutRows returns copies of the sets that have only the assets.
func WithoutRows(sets []*allocation.Set) []*allocation.Set {
	out := make([]*allocation.Set, len(sets))
	for i, s := range sets {
		out[i] = s.Like()
	}
	return out
}
