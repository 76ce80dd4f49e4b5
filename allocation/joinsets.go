package allocation

import "slices"

// Join returns the sets over one Dict, as Apply needs them. Sets of other dictionaries than the first are copied and their
// ids translated. The given sets, which must be as built, do not change.
func Join(sets []*Set) []*Set {
	if len(sets) == 0 || !slices.ContainsFunc(sets, func(s *Set) bool { return s.dict != sets[0].dict }) {
		return sets
	}
	to := sets[0].dict.clone()
	known := map[*Dict]*translation{sets[0].dict: nil}
	out := make([]*Set, len(sets))
	for i, s := range sets {
		t, ok := known[s.dict]
		if !ok {
			t = &translation{from: s.dict, to: to}
			known[s.dict] = t
		}
		joined := *s
		joined.dict = to
		if t != nil {
			for p, ids := range joined.ids {
				joined.ids[p] = slices.Clone(ids)
			}
			joined.volumes.list, joined.balancers.list = slices.Clone(joined.volumes.list), slices.Clone(joined.balancers.list)
			t.apply(&joined)
		}
		out[i] = &joined
	}
	return out
}

// WithoutRows returns copies of the sets that have only the assets.
func WithoutRows(sets []*Set) []*Set {
	out := make([]*Set, len(sets))
	for i, s := range sets {
		out[i] = s.like()
	}
	return out
}
