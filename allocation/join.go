package allocation

import "slices"

// Join returns the sets over one Dict, as Apply needs them: those of other computations than the first are copied with
// their ids translated. The sets are as a Builder makes them, and those given stay as they are.
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
			t = translate(s.dict, to)
			known[s.dict] = t
		}
		joined := *s
		joined.dict = to
		if t != nil {
			t.apply(&joined)
		}
		out[i] = &joined
	}
	return out
}

// translation is what the ids of one Dict are in another.
type translation struct{ strs, lists, maps []ID }

// translate adds all that from holds to to.
func translate(from, to *Dict) *translation {
	strs, lists, maps := from.Sizes()
	t := &translation{make([]ID, strs), make([]ID, lists), make([]ID, maps)}
	for id := range t.strs {
		t.strs[id] = to.Add(from.Text(ID(id)))
	}
	for id := range t.lists {
		var list []ID
		for _, s := range from.List(ID(id)) {
			list = append(list, t.strs[s])
		}
		t.lists[id] = to.lists.intern(list)
	}
	for id := range t.maps {
		var pairs []Pair
		for _, p := range from.Map(ID(id)) {
			pairs = append(pairs, Pair{t.strs[p.Key], t.strs[p.Value]})
		}
		t.maps[id] = to.pairs.intern(pairs)
	}
	return t
}

// apply gives s, which is a copy, ids of its own.
func (t *translation) apply(s *Set) {
	for p, ids := range s.ids {
		table := t.strs
		switch {
		case Property(p).IsList():
			table = t.lists
		case Property(p).IsMap():
			table = t.maps
		}
		s.ids[p] = make([]ID, len(ids))
		for i, id := range ids {
			s.ids[p][i] = table[id]
		}
	}
	s.volumes.list = slices.Clone(s.volumes.list)
	for i := range s.volumes.list {
		v := &s.volumes.list[i]
		v.Key, v.ProviderID = t.strs[v.Key], t.strs[v.ProviderID]
	}
	s.balancers.list = slices.Clone(s.balancers.list)
	for i := range s.balancers.list {
		b := &s.balancers.list[i]
		b.Key, b.Service, b.IP = t.strs[b.Key], t.strs[b.Service], t.strs[b.IP]
	}
	s.parts.list = slices.Clone(s.parts.list)
	for i := range s.parts.list {
		s.parts.list[i].Name = t.strs[s.parts.list[i].Name]
	}
}

// WithoutRows are copies of the sets with their assets alone.
func WithoutRows(sets []*Set) []*Set {
	out := make([]*Set, len(sets))
	for i, s := range sets {
		out[i] = s.like()
	}
	return out
}
