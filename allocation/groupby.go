package allocation

import "github.com/promcost/promcost/allocation/grouping"

// Groups are the rows of a set, as grouped by GroupBy.
type Groups struct {
	Of    []int32 // group of each row; len(First) for rows that were not kept
	First []int32 // first row of each group

	keys BoundKeys
}

// GroupBy groups the rows of the kinds that keep accepts. A group has one kind, one value of each property and one value of
// each key. It fails with ErrUnread if a property or the input of a key was not read.
func GroupBy(s *Set, keep func(Special) bool, by []Property, keys []Key) (*Groups, error) {
	bound, err := BindKeys(s, keys, true)
	if err != nil {
		return nil, err
	}
	var cols [][]ID
	for _, p := range by {
		ids, err := s.IDs(p)
		if err != nil {
			return nil, err
		}
		cols = append(cols, ids)
	}
	cols = append(cols, bound.Columns()...)
	kinds, kept := make([]ID, s.Len()), make([]bool, s.Len())
	for row, kind := range s.table.Special {
		kinds[row], kept[row] = ID(kind), keep(kind)
	}
	g := &Groups{keys: bound}
	g.Of, g.First = grouping.Rows(kept, s.Len(), append(cols, kinds))
	return g, nil
}

// Name returns the values of the keys for a group, joined by slashes; UnallocatedName stands for a missing value. Several
// groups may have one name, because values may contain slashes.
func (g *Groups) Name(group int) string {
	return string(g.keys.AppendName(nil, int(g.First[group]), '/', true))
}
