package filter

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// Ends of a program.
const (
	accept = -1
	reject = -2
)

// step is a comparison of a program and where to go from it.
type step struct {
	ids     []allocation.ID // of the rows
	table   bitset          // by id, whether it compares; nil where only one id does
	want    allocation.ID   // that one id
	yes, no int             // next steps, or accept or reject
}

// none is an id that no row has.
const none = ^allocation.ID(0)

// bitset is a set of ids.
type bitset []uint64

func newBitset(n int) bitset                       { return make(bitset, (n+63)/64) }
func (b bitset) has(id allocation.ID) bool         { return b[id>>6]>>(id&63)&1 == 1 }
func (b bitset) set(id allocation.ID)              { b[id>>6] |= 1 << (id & 63) }
func (b bitset) add(id allocation.ID) (fresh bool) { fresh = !b.has(id); b.set(id); return fresh }

// Bind compiles the filter for the rows of s. The function it returns takes an index of a row, allocates nothing and is
// safe for concurrent use; it holds on to s.
func (f *Filter) Bind(s *allocation.Set) func(row int) bool {
	b := binder{set: s, dict: s.Dict()}
	start := b.compile(f.root, accept, reject)
	program := b.steps
	return func(row int) bool {
		for at := start; ; {
			if at < 0 {
				return at == accept
			}
			st := &program[at]
			id := st.ids[row]
			hit := id == st.want
			if st.table != nil {
				hit = st.table.has(id)
			}
			if hit {
				at = st.yes
			} else {
				at = st.no
			}
		}
	}
}

// binder compiles a filter for one set.
type binder struct {
	set      *allocation.Set
	dict     *allocation.Dict
	steps    []step
	distinct [allocation.NumProperties][]allocation.ID // ids of the rows, nil where not collected yet
	keys     [allocation.NumProperties][]allocation.ID // keys of the maps of the rows, likewise
}

// compile adds the steps of e, which go on to yes or no, and returns the first one.
func (b *binder) compile(e Expr, yes, no int) int {
	switch e := e.(type) {
	case And:
		next := yes
		for _, part := range slices.Backward(e) {
			next = b.compile(part, next, no)
		}
		return next
	case Or:
		next := no
		for _, part := range slices.Backward(e) {
			next = b.compile(part, yes, next)
		}
		return next
	case *Comparison:
		if ops[e.Op].negates {
			yes, no = no, yes
		}
		st := b.decide(e)
		st.yes, st.no = yes, no
		b.steps = append(b.steps, st)
		return len(b.steps) - 1
	}
	panic("BUG: filter of an unknown type of Expr")
}

// decide finds the ids that compare with c, its operator taken as not negated.
func (b *binder) decide(c *Comparison) step {
	property := fields[c.Field].property
	st := step{ids: b.set.IDs(property)}
	if id, ok := b.single(c); ok {
		st.want = id
		return st
	}
	strs, lists, maps := b.dict.Sizes()
	var size int
	var test func(allocation.ID) bool
	switch {
	default:
		size, test = strs, b.testText(c)
	case property.IsList():
		size, test = lists, b.testList(c)
	case property.IsMap() && c.Key == "":
		size, test = maps, b.testKeys(c)
	case property.IsMap():
		size, test = maps, b.testValue(c)
	}
	st.table = newBitset(size)
	for _, id := range b.distinctIDs(property) {
		if test(id) {
			st.table.set(id)
		}
	}
	return st
}

// single is the one id that can compare with c, where that is known without looking at the ids.
func (b *binder) single(c *Comparison) (allocation.ID, bool) {
	f := fields[c.Field]
	if f.anyCase || f.property.IsList() || f.property.IsMap() || len(c.Values) != 1 || c.Op > NotEqual {
		return 0, false
	}
	if missing(c.Values[0]) {
		return 0, true
	}
	if id, ok := b.dict.Find(c.Values[0]); ok {
		return id, true
	}
	return none, true
}

// missing reports whether an equal comparison with value means that something is missing.
func missing(value string) bool { return value == "" || value == allocation.UnallocatedName }

// testText tests the id of a string.
func (b *binder) testText(c *Comparison) func(allocation.ID) bool {
	match := c.matcher()
	return func(id allocation.ID) bool { return match(b.dict.Text(id)) }
}

// matcher tests a string with c's operator and values.
func (c *Comparison) matcher() func(string) bool {
	op, anyCase := ops[c.Op], fields[c.Field].anyCase
	values := c.Values
	if anyCase {
		values = make([]string, len(c.Values))
		for i, v := range c.Values {
			values[i] = strings.ToLower(v)
		}
	}
	if c.Op <= NotEqual {
		wanted := make(map[string]bool, len(values))
		for _, v := range values {
			wanted[v] = true
			if missing(v) {
				wanted[""] = true
			}
		}
		return func(s string) bool {
			if anyCase {
				s = strings.ToLower(s)
			}
			return wanted[s]
		}
	}
	return func(s string) bool {
		if anyCase {
			s = strings.ToLower(s)
		}
		for _, v := range values {
			if op.match(s, v) {
				return true
			}
		}
		return false
	}
}

// elements is c as a comparison of the elements of a list or the keys of a map, where containing is being equal.
func (c *Comparison) elements() *Comparison {
	e := *c
	if e.Op == Contains || e.Op == NotContains {
		e.Op = Equal
	}
	return &e
}

// missingAllowed reports whether c holds where a list or map is empty.
func (c *Comparison) missingAllowed() bool {
	return c.Op <= NotContains && slices.ContainsFunc(c.Values, missing)
}

// testList tests the id of a list: some element compares, or the list is empty and that is looked for.
func (b *binder) testList(c *Comparison) func(allocation.ID) bool {
	match, empty := c.elements().matcher(), c.missingAllowed()
	decided := map[allocation.ID]bool{} // by element
	return func(id allocation.ID) bool {
		list := b.dict.List(id)
		for _, e := range list {
			hit, ok := decided[e]
			if !ok {
				hit = match(b.dict.Text(e))
				decided[e] = hit
			}
			if hit {
				return true
			}
		}
		return empty && len(list) == 0
	}
}

// testKeys tests the id of a map: some key compares, or the map is empty and that is looked for.
func (b *binder) testKeys(c *Comparison) func(allocation.ID) bool {
	raw, empty := c.elements(), c.missingAllowed()
	written := *raw
	written.Values = make([]string, len(c.Values))
	for i, v := range c.Values {
		written.Values[i] = sanitize(v)
	}
	matchRaw, matchWritten := raw.matcher(), written.matcher()
	hits := b.matchingKeys(fields[c.Field].property, func(key string) bool {
		return matchRaw(key) || matchRaw(sanitize(key)) || matchWritten(key)
	})
	return func(id allocation.ID) bool {
		pairs := b.dict.Map(id)
		for _, p := range pairs {
			if hits[p.Key] {
				return true
			}
		}
		return empty && len(pairs) == 0
	}
}

// testValue tests the id of a map: the value of the key compares; a missing key has the value "".
func (b *binder) testValue(c *Comparison) func(allocation.ID) bool {
	match, written := c.matcher(), sanitize(c.Key)
	hits := b.matchingKeys(fields[c.Field].property, func(key string) bool {
		return key == c.Key || key == written || sanitize(key) == c.Key
	})
	empty := match("")
	decided := map[allocation.ID]bool{} // by value
	return func(id allocation.ID) bool {
		found := false
		for _, p := range b.dict.Map(id) {
			if !hits[p.Key] {
				continue
			}
			found = true
			hit, ok := decided[p.Value]
			if !ok {
				hit = match(b.dict.Text(p.Value))
				decided[p.Value] = hit
			}
			if hit {
				return true
			}
		}
		return !found && empty
	}
}

// matchingKeys are the keys of the property's maps that match.
func (b *binder) matchingKeys(p allocation.Property, match func(string) bool) map[allocation.ID]bool {
	hits := map[allocation.ID]bool{}
	for _, id := range b.mapKeys(p) {
		if match(b.dict.Text(id)) {
			hits[id] = true
		}
	}
	return hits
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

// sanitize is a label key as Prometheus writes it: _ for all but letters, digits and _.
func sanitize(key string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, key)
}
