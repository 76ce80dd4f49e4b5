package filter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// idTest decides a comparison by the id of a row.
type idTest struct {
	ids   []allocation.ID // of the rows
	table bitset          // by id, whether it compares; nil where only one id does
	want  allocation.ID   // that one id
}

// none is an id that no row has.
const none = ^allocation.ID(0)

// bitset is a set of ids.
type bitset []uint64

func newBitset(n int) bitset                       { return make(bitset, (n+63)/64) }
func (b bitset) has(id allocation.ID) bool         { return b[id>>6]>>(id&63)&1 == 1 }
func (b bitset) set(id allocation.ID)              { b[id>>6] |= 1 << (id & 63) }
func (b bitset) add(id allocation.ID) (fresh bool) { fresh = !b.has(id); b.set(id); return fresh }

// Bind compiles the filter for the rows of s: fields that only assets have are missing there. The function it returns takes an index of a row, allocates
// nothing and is safe for concurrent use; it holds on to s.
func (f *Filter) Bind(s *allocation.Set) func(row int) bool {
	v := f.of(false)
	b := binder{vocabulary: &v, set: s, dict: s.Dict(), computed: map[Field]computed{}}
	compiler := compiler[idTest]{vocabulary: &v, compare: b.compare, labels: b.labels}
	p := compiler.compile(f.root)
	program, start := p.branches, p.start
	return func(row int) bool {
		for at := start; ; {
			if at < 0 {
				return at == accept
			}
			br := &program[at]
			id := br.test.ids[row]
			hit := id == br.test.want
			if br.test.table != nil {
				hit = br.test.table.has(id)
			}
			if hit {
				at = br.yes
			} else {
				at = br.no
			}
		}
	}
}

// binder decides comparisons for one set.
type binder struct {
	vocabulary *vocabulary
	set        *allocation.Set
	dict       *allocation.Dict
	distinct   [allocation.NumProperties][]allocation.ID // ids of the rows, nil where not collected yet
	keys       [allocation.NumProperties][]allocation.ID // keys of the maps of the rows, likewise
	computed   map[Field]computed
}

// computed is a field that is no property: ids of its own for the texts of the rows.
type computed struct {
	ids   []allocation.ID
	texts []string // by id
}

// compare decides a comparison once per distinct value.
func (b *binder) compare(c *Comparison) idTest {
	spec := b.vocabulary.spec(c.Field)
	m := newMatcher(c, spec)
	if spec.bind != nil {
		return b.compareRows(spec, m)
	}
	if id, ok := b.single(c, spec); ok {
		return idTest{ids: b.set.IDs(spec.property), want: id}
	}
	switch {
	case spec.of != nil:
		return b.table(spec.property, func(id allocation.ID) bool { return m.text(spec.of(b.dict, id)) })
	case spec.kind == listField:
		return b.table(spec.property, b.testList(m))
	case spec.kind == mapField && c.Key == "":
		return b.table(spec.property, b.testKeys(spec, m))
	case spec.kind == mapField:
		return b.compareValue(spec, c.Key, m)
	}
	return b.table(spec.property, func(id allocation.ID) bool { return m.text(b.dict.Text(id)) })
}

// labels decides a selector once per distinct map.
func (b *binder) labels(l *LabelSelector) idTest {
	found := map[string][]allocation.ID{} // keys, by the selector's
	var id allocation.ID
	view := labelView{func(name string) (string, bool) {
		keys, ok := found[name]
		if !ok {
			keys = b.spellings(allocation.Labels, name)
			found[name] = keys
		}
		value, ok := b.lookup(id, keys)
		return b.dict.Text(value), ok
	}}
	return b.table(allocation.Labels, func(m allocation.ID) bool {
		id = m
		return l.selector.Matches(view)
	})
}

// table is a test of a property's ids.
func (b *binder) table(p allocation.Property, test func(allocation.ID) bool) idTest {
	strs, lists, maps := b.dict.Sizes()
	size := strs
	switch {
	case p.IsList():
		size = lists
	case p.IsMap():
		size = maps
	}
	t := idTest{ids: b.set.IDs(p), table: newBitset(size)}
	for _, id := range b.distinctIDs(p) {
		if test(id) {
			t.table.set(id)
		}
	}
	return t
}

// compareRows is a test of a field that is computed of rows.
func (b *binder) compareRows(spec *fieldSpec, m matcher) idTest {
	column, ok := b.computed[spec.name]
	if !ok {
		column.ids = make([]allocation.ID, b.set.Len())
		known, of := map[string]allocation.ID{}, spec.bind(b.set)
		for row := range column.ids {
			text := of(row)
			id, ok := known[text]
			if !ok {
				id = allocation.ID(len(column.texts))
				known[text], column.texts = id, append(column.texts, text)
			}
			column.ids[row] = id
		}
		b.computed[spec.name] = column
	}
	t := idTest{ids: column.ids, table: newBitset(max(len(column.texts), 1))}
	for id, text := range column.texts {
		if m.text(text) {
			t.table.set(allocation.ID(id))
		}
	}
	return t
}

// single is the one id that can compare with c, where that is known without looking at the ids.
func (b *binder) single(c *Comparison, spec *fieldSpec) (allocation.ID, bool) {
	if spec.kind != textField || spec.anyCase || c.AnyCase || spec.of != nil || len(c.Values) != 1 || positive(c.Op) != Equal {
		return 0, false
	}
	switch value := c.Values[0]; {
	case value == "":
		return 0, true
	case missing(value): // is two ids: none, and that of its own
		return 0, false
	default:
		if id, ok := b.dict.Find(value); ok {
			return id, true
		}
	}
	return none, true
}

// testList tests the id of a list: some element compares, or the list is empty and that is looked for.
func (b *binder) testList(m matcher) func(allocation.ID) bool {
	decided := map[allocation.ID]bool{} // by element
	return func(id allocation.ID) bool {
		list := b.dict.List(id)
		for _, e := range list {
			hit, ok := decided[e]
			if !ok {
				hit = m.text(b.dict.Text(e))
				decided[e] = hit
			}
			if hit {
				return true
			}
		}
		return m.none && len(list) == 0
	}
}

// testKeys tests the id of a map: some key compares, or the map is empty and that is looked for.
func (b *binder) testKeys(spec *fieldSpec, m matcher) func(allocation.ID) bool {
	hits := map[allocation.ID]bool{}
	for _, id := range b.mapKeys(spec.property) {
		hits[id] = m.key(b.dict.Text(id))
	}
	return func(id allocation.ID) bool {
		pairs := b.dict.Map(id)
		for _, p := range pairs {
			if hits[p.Key] {
				return true
			}
		}
		return m.none && len(pairs) == 0
	}
}

// compareValue compares the value of a key of a map; a missing key has the value "". Where no map has the key, the maps are
// not looked at.
func (b *binder) compareValue(spec *fieldSpec, key string, m matcher) idTest {
	keys, empty := b.spellings(spec.property, key), m.text("")
	if len(keys) == 0 && !empty {
		return idTest{ids: b.set.IDs(spec.property), want: none}
	}
	decided := map[allocation.ID]bool{0: empty} // by value
	return b.table(spec.property, func(id allocation.ID) bool {
		value, _ := b.lookup(id, keys)
		hit, ok := decided[value]
		if !ok {
			hit = m.text(b.dict.Text(value))
			decided[value] = hit
		}
		return hit
	})
}

// spellings are the keys of the property's maps that are name in one spelling or the other, the best one first.
func (b *binder) spellings(p allocation.Property, name string) []allocation.ID {
	finder := newKeyFinder(name)
	var keys []allocation.ID
	for _, id := range b.mapKeys(p) {
		if finder.rank(b.dict.Text(id)) != noKey {
			keys = append(keys, id)
		}
	}
	slices.SortFunc(keys, func(x, y allocation.ID) int {
		a, b := b.dict.Text(x), b.dict.Text(y)
		return cmp.Or(cmp.Compare(finder.rank(b), finder.rank(a)), strings.Compare(a, b))
	})
	return keys
}

// lookup is the value in a map of the first of keys that it has.
func (b *binder) lookup(id allocation.ID, keys []allocation.ID) (value allocation.ID, ok bool) {
	for _, key := range keys {
		if value, ok := b.dict.Lookup(id, key); ok {
			return value, true
		}
	}
	return 0, false
}

// distinctIDs are the ids that rows have in a property, each once.
func (b *binder) distinctIDs(p allocation.Property) []allocation.ID {
	if b.distinct[p] == nil {
		strs, lists, maps := b.dict.Sizes()
		seen := newBitset(max(strs, lists, maps))
		for _, id := range b.set.IDs(p) {
			if seen.add(id) {
				b.distinct[p] = append(b.distinct[p], id)
			}
		}
	}
	return b.distinct[p]
}

// mapKeys are the keys that the maps of the rows have in a property, each once.
func (b *binder) mapKeys(p allocation.Property) []allocation.ID {
	if b.keys[p] == nil {
		strs, _, _ := b.dict.Sizes()
		seen := newBitset(strs)
		for _, id := range b.distinctIDs(p) {
			for _, pair := range b.dict.Map(id) {
				if seen.add(pair.Key) {
					b.keys[p] = append(b.keys[p], pair.Key)
				}
			}
		}
	}
	return b.keys[p]
}
