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
		x := joined.Table()
		x.Dict = to
		if t != nil {
			for p, ids := range x.IDs {
				x.IDs[p] = slices.Clone(ids)
			}
			x.Volumes.List, x.Balancers.List = slices.Clone(x.Volumes.List), slices.Clone(x.Balancers.List)
			t.apply(x)
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

// translation maps the ids of one Dict to those of another, and adds to the other only what sets use.
type translation struct {
	from, to          *allocation.Dict
	strs, lists, maps []allocation.ID // 0 where not translated yet
}

// id translates an id by a table, which find fills on first use. 0 stays 0.
func (t *translation) id(table []allocation.ID, id allocation.ID, find func(allocation.ID) allocation.ID) allocation.ID {
	if table[id] == 0 && id != 0 {
		table[id] = find(id)
	}
	return table[id]
}

func (t *translation) str(id allocation.ID) allocation.ID {
	return t.id(t.strs, id, func(id allocation.ID) allocation.ID { return t.to.Add(t.from.Text(id)) })
}

func (t *translation) list(id allocation.ID) allocation.ID {
	return t.id(t.lists, id, func(id allocation.ID) allocation.ID {
		list := make([]string, 0, len(t.from.List(id)))
		for _, s := range t.from.List(id) {
			list = append(list, t.from.Text(s))
		}
		return t.to.AddList(list)
	})
}

func (t *translation) pairs(id allocation.ID) allocation.ID {
	return t.id(t.maps, id, func(id allocation.ID) allocation.ID {
		var pairs []allocation.Pair
		for _, p := range t.from.Map(id) {
			pairs = append(pairs, allocation.Pair{Key: t.str(p.Key), Value: t.str(p.Value)})
		}
		return t.to.AddPairs(pairs)
	})
}

// grow makes room for all ids that exist by now.
func (t *translation) grow() {
	strs, lists, maps := t.from.Sizes()
	for _, of := range [...]struct {
		table *[]allocation.ID
		n     int
	}{{&t.strs, strs}, {&t.lists, lists}, {&t.maps, maps}} {
		*of.table = append(*of.table, make([]allocation.ID, of.n-len(*of.table))...)
	}
}

// apply replaces the ids of a table in place.
func (t *translation) apply(x *allocation.Table) {
	t.grow()
	all := func(ids, table []allocation.ID, translate func(allocation.ID) allocation.ID) {
		for i, id := range ids {
			if id == 0 {
				continue
			}
			if ids[i] = table[id]; ids[i] == 0 {
				ids[i] = translate(id)
			}
		}
	}
	for p, ids := range x.IDs {
		switch p := allocation.Property(p); {
		case p.IsMap():
			all(ids, t.maps, t.pairs)
		case p.IsList():
			all(ids, t.lists, t.list)
		default:
			all(ids, t.strs, t.str)
		}
	}
	for k := range x.Lost.Newest {
		all(x.Lost.Newest[k], t.maps, t.pairs)
		all(x.Lost.Common[k], t.maps, t.pairs)
	}
	for i := range x.Volumes.List {
		v := &x.Volumes.List[i]
		v.Key, v.ProviderID = t.str(v.Key), t.str(v.ProviderID)
	}
	for i := range x.Balancers.List {
		b := &x.Balancers.List[i]
		b.Key, b.Service, b.IP = t.str(b.Key), t.str(b.Service), t.str(b.IP)
	}
	for i := range x.Parts.List {
		part := &x.Parts.List[i]
		part.Name = t.str(part.Name)
	}
}
