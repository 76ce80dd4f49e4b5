package allocation

// Groups are the rows of a set, grouped by GroupBy.
type Groups struct {
	Of    []int32 // the group of each row, len(First) for rows that were not kept
	First []int32 // the first row of each group

	keys []boundKey
}

// GroupBy groups the rows of the kinds that keep wants: those of one kind that have the same properties and the same values of
// keys. It fails with ErrUnread where a property or what a key needs was not read.
func GroupBy(s *Set, keep func(Special) bool, by []Property, keys []Key) (*Groups, error) {
	g := &Groups{keys: make([]boundKey, len(keys))}
	var cols [][]ID
	for _, p := range by {
		ids, err := s.IDs(p)
		if err != nil {
			return nil, err
		}
		cols = append(cols, ids)
	}
	for i, k := range keys {
		var err error
		if g.keys[i], err = k.bind(s, true); err != nil {
			return nil, err
		}
		cols = append(cols, g.keys[i].cols...)
	}
	kinds, kept := make([]ID, s.Len()), make([]bool, s.Len())
	for row, kind := range s.special {
		kinds[row], kept[row] = ID(kind), keep(kind)
	}
	g.Of, g.First = groupRows(kept, s.Len(), append(cols, kinds))
	return g, nil
}

// Name is what the keys make of a group, joined by slashes; UnallocatedName stands for what is missing. Groups may share a
// name, as where a value contains a slash.
func (g *Groups) Name(group int) string {
	return string(appendNames(nil, g.keys, int(g.First[group]), true))
}
