package filter

import (
	"context"
	"fmt"

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

// Bind compiles the filter for the rows of s: fields that only assets have are missing there. The function it returns takes
// an index of a row, allocates nothing and is safe for concurrent use; it holds on to s. A filter that would take more than
// MaxSteps is an error that wraps allocation.ErrTooMuch; Within bounds several together.
func (f *Filter) Bind(s *allocation.Set) (func(row int) bool, error) {
	return f.bind(NewSteps(context.Background(), 0), s)
}

func (f *Filter) bind(steps *Steps, s *allocation.Set) (func(row int) bool, error) {
	if !steps.start() {
		return nil, steps.Err()
	}
	v := f.fieldsOf(false)
	b := binder{vocabulary: &v, set: s, dict: s.Dict(), computed: map[Field]*column{}, steps: steps}
	const each = 32 // steps that planning a comparison takes
	plan := newPlan(f.root, &v)
	if !steps.take(each * plan.leaves()) {
		return nil, fmt.Errorf("bind filter: %w", steps.Err())
	}
	tests := growTree(&plan, b.test)
	b.fold(&tests)
	p := compile(&tests, b.final)
	if b.err != nil {
		return nil, fmt.Errorf("bind filter: %w", b.err)
	}
	const together = 16 // branches of a row that are about a step
	if !steps.take(len(p.branches) * s.Len() / together) {
		return nil, fmt.Errorf("bind filter to %d allocations: %w", s.Len(), steps.Err())
	}
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
	}, nil
}

// column is ids of the rows, of a property or computed.
type column struct {
	ids      []allocation.ID // of the rows
	distinct []allocation.ID // each once; nil where not collected yet
	size     int             // all are below
	texts    []string        // by id, for computed fields
}

// collect returns the ids that rows have, each once.
func (c *column) collect() []allocation.ID {
	if c.distinct == nil {
		seen := newBitset(max(c.size, 1))
		for _, id := range c.ids {
			if seen.add(id) {
				c.distinct = append(c.distinct, id)
			}
		}
	}
	return c.distinct
}

// columnTest decides by the id that a row has in a column.
type columnTest struct {
	column *column
	hit    func(allocation.ID) bool
	single bool // only want matches
	want   allocation.ID
}

// binder decides comparisons for one set.
type binder struct {
	vocabulary *vocabulary
	set        *allocation.Set
	dict       *allocation.Dict
	columns    [allocation.NumProperties]*column // nil where not collected yet
	keys       [allocation.NumProperties]*allocation.LabelKeys
	computed   map[Field]*column
	err        error // of a column that was not read

	steps *Steps // after the last step, tests are meaningless
}

// test returns the test of a leaf without its negation.
func (b *binder) test(p *plan) columnTest {
	var t columnTest
	if p.labels != nil {
		t = b.labels(p.labels)
	} else {
		t = b.compare(p.comparison)
	}
	raw := t.hit
	t.hit = func(id allocation.ID) bool { return b.steps.take(1) && raw(id) }
	return t
}

// fold merges the parts of each list that test the same column into one test: once a value decides a part, the others are not
// evaluated for it.
func (b *binder) fold(t *tree[columnTest]) {
	places := map[*column]int{}
	folded := map[int][]tree[columnTest]{}
	kept := t.parts[:0]
	for i := range t.parts {
		part := t.parts[i]
		b.fold(&part)
		at, ok := 0, false
		if part.leaf {
			at, ok = places[part.test.column]
		}
		if ok {
			if folded[at] == nil {
				folded[at] = []tree[columnTest]{kept[at]}
			}
			folded[at] = append(folded[at], part)
			continue
		}
		if part.leaf {
			places[part.test.column] = len(kept)
		}
		kept = append(kept, part)
	}
	for at, tests := range folded {
		all := t.all
		kept[at] = tree[columnTest]{leaf: true, test: columnTest{column: kept[at].test.column, hit: func(id allocation.ID) bool {
			for i := range tests {
				if tests[i].test.hit(id) == tests[i].negated == all {
					return !all
				}
			}
			return all
		}}}
	}
	if t.parts = kept; len(kept) == 1 && !t.leaf {
		*t = kept[0]
	}
}

// final decides about each id of a column that rows have.
func (b *binder) final(t columnTest) idTest {
	if t.single {
		return idTest{ids: t.column.ids, want: t.want}
	}
	const together = 32 // ids of a table that are about a step
	table := idTest{ids: t.column.ids}
	if !b.steps.take(t.column.size / together) {
		return table
	}
	table.table = newBitset(max(t.column.size, 1))
	for _, id := range t.column.collect() {
		if t.hit(id) {
			table.table.set(id)
		}
		if b.steps.over() {
			break
		}
	}
	return table
}

// compare decides a comparison by the values that rows have.
func (b *binder) compare(c *Comparison) columnTest {
	spec := b.vocabulary.spec(c.Field)
	if spec.bind != nil {
		col, m := b.compute(spec), newMatcher(c, spec)
		return columnTest{column: col, hit: func(id allocation.ID) bool { return b.text(&m, col.texts[id]) }}
	}
	t := columnTest{column: b.column(spec.property)}
	if t.want, t.single = b.single(c, spec); t.single {
		t.hit = func(id allocation.ID) bool { return id == t.want }
		return t
	}
	m := newMatcher(c, spec)
	switch {
	case spec.text != nil:
		t.hit = func(id allocation.ID) bool { return b.text(&m, spec.text(b.dict, id)) }
	case spec.kind == listField:
		t.hit = b.testList(&m)
	case spec.kind == mapField && c.Key == "":
		t.hit = b.testKeys(spec, &m)
	case spec.kind == mapField:
		t.hit = b.testValue(spec, c.Key, &m)
		if t.hit == nil {
			t.hit = func(allocation.ID) bool { return false }
			t.want, t.single = none, true
		}
	default:
		t.hit = func(id allocation.ID) bool { return b.text(&m, b.dict.Text(id)) }
	}
	return t
}

// text tests a text. Long ones take longer.
func (b *binder) text(m *matcher, s string) bool {
	const together = 64 // bytes that are about a step
	if len(s) >= together {
		b.steps.take(len(s) / together)
	}
	return m.text(s)
}

// labels decides a selector by the maps that rows have.
func (b *binder) labels(l *LabelSelector) columnTest {
	finders := map[string]*allocation.LabelFinder{}
	var id allocation.ID
	view := labelView{func(name string) (string, bool) {
		finder, ok := finders[name]
		if !ok {
			finder = b.finder(allocation.Labels, name)
			finders[name] = finder
		}
		value, ok := finder.Find(id)
		return b.dict.Text(value), ok
	}}
	weight := l.weight()
	return columnTest{column: b.column(allocation.Labels), hit: func(m allocation.ID) bool {
		b.steps.take(weight)
		id = m
		return l.selector.Matches(view)
	}}
}

// compute is the column of a field that is computed of rows.
func (b *binder) compute(spec *fieldSpec) *column {
	if col := b.computed[spec.name]; col != nil {
		return col
	}
	col := &column{ids: make([]allocation.ID, b.set.Len())}
	known := map[string]allocation.ID{}
	text, err := spec.bind(b.set)
	if err != nil {
		b.err = err
		return &column{ids: col.ids, size: 1, texts: []string{""}}
	}
	b.steps.take(b.set.Len())
	for row := range col.ids {
		text := text(row)
		id, ok := known[text]
		if !ok {
			id = allocation.ID(len(col.texts))
			known[text], col.texts, col.distinct = id, append(col.texts, text), append(col.distinct, id)
		}
		col.ids[row] = id
	}
	col.size = len(col.texts)
	b.computed[spec.name] = col
	return col
}

// single returns the only id that can compare with c, where that is known without looking at the ids.
func (b *binder) single(c *Comparison, spec *fieldSpec) (allocation.ID, bool) {
	if spec.kind != textField || spec.anyCase || c.AnyCase || spec.text != nil || len(c.Values) != 1 || positive(c.Op) != Equal {
		return 0, false
	}
	switch value := c.Values[0]; {
	case value == "":
		return 0, true
	case missing(value): // missing has two ids: none, and the one of the text
		return 0, false
	default:
		if id, ok := b.dict.Find(value); ok {
			return id, true
		}
	}
	return none, true
}

// testList tests the id of a list: some element compares, or the list is empty and that is looked for.
func (b *binder) testList(m *matcher) func(allocation.ID) bool {
	decided := map[allocation.ID]bool{} // by element
	return func(id allocation.ID) bool {
		list := b.dict.List(id)
		b.steps.take(len(list) / 2)
		for _, e := range list {
			hit, ok := decided[e]
			if !ok {
				hit = b.text(m, b.dict.Text(e))
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
func (b *binder) testKeys(spec *fieldSpec, m *matcher) func(allocation.ID) bool {
	var hits map[allocation.ID]bool // made when it is asked for
	return func(id allocation.ID) bool {
		if hits == nil {
			hits = map[allocation.ID]bool{}
			keys := b.mapKeys(spec.property).All()
			b.steps.take(2 * len(keys))
			for _, id := range keys {
				hits[id] = m.key(b.dict.Text(id))
			}
		}
		pairs := b.dict.Map(id)
		b.steps.take(len(pairs) / 2)
		for _, p := range pairs {
			if hits[p.Key] {
				return true
			}
		}
		return m.none && len(pairs) == 0
	}
}

// testValue tests the value of a key of a map; a missing key has the value "". It is nil where no map has the key, and that
// is not looked for.
func (b *binder) testValue(spec *fieldSpec, key string, m *matcher) func(allocation.ID) bool {
	finder, empty := b.finder(spec.property, key), m.text("")
	if !finder.Anywhere() && !empty {
		return nil
	}
	decided := map[allocation.ID]bool{0: empty} // by value
	return func(id allocation.ID) bool {
		value, _ := finder.Find(id)
		hit, ok := decided[value]
		if !ok {
			hit = b.text(m, b.dict.Text(value))
			decided[value] = hit
		}
		return hit
	}
}

// finder finds a name in the maps of a property.
func (b *binder) finder(p allocation.Property, name string) *allocation.LabelFinder {
	return b.mapKeys(p).Finder(b.vocabulary.known.Name(name))
}

// column returns the column of a property.
func (b *binder) column(p allocation.Property) *column {
	if b.columns[p] != nil {
		return b.columns[p]
	}
	strs, lists, maps := b.dict.Sizes()
	ids, err := b.set.IDs(p)
	if err != nil {
		b.err = err
		ids = make([]allocation.ID, b.set.Len())
	}
	col := &column{ids: ids, size: strs}
	switch {
	case p.IsList():
		col.size = lists
	case p.IsMap():
		col.size = maps
	}
	b.columns[p] = col
	return col
}

// mapKeys are the keys that the maps of the rows have in a property.
func (b *binder) mapKeys(p allocation.Property) *allocation.LabelKeys {
	if b.keys[p] == nil {
		b.keys[p] = allocation.NewLabelKeys(b.dict, b.column(p).collect())
	}
	return b.keys[p]
}
