package allocation

import (
	"slices"

	"github.com/promcost/promcost/allocation/labelnames"
)

// LabelKeys indexes the keys of labels or annotations by the names that they may spell.
type LabelKeys struct {
	dict    *Dict
	all     []ID
	bySnake map[string][]ID
}

// NewLabelKeys indexes the keys of maps of d.
func NewLabelKeys(d *Dict, maps []ID) *LabelKeys {
	k := &LabelKeys{dict: d, bySnake: map[string][]ID{}}
	strs, _, _ := d.Sizes()
	seen := make([]bool, strs)
	for _, m := range maps {
		for _, pair := range d.Map(m) {
			if !seen[pair.Key] {
				seen[pair.Key] = true
				k.add(pair.Key)
			}
		}
	}
	return k
}

func (k *LabelKeys) add(key ID) {
	k.all = append(k.all, key)
	snake := labelnames.Snake(k.dict.Text(key))
	k.bySnake[snake] = append(k.bySnake[snake], key)
	if of, number := labelnames.CutConflict(snake); number > 0 {
		k.bySnake[of] = append(k.bySnake[of], key)
	}
}

// labelKeys returns the keys of the labels or annotations of the rows.
func (s *Set) labelKeys(p Property) *LabelKeys {
	_, _, n := s.table.Dict.Sizes()
	seen := make([]bool, n)
	var maps []ID
	for _, id := range s.table.IDs[p] {
		if !seen[id] {
			seen[id] = true
			maps = append(maps, id)
		}
	}
	return NewLabelKeys(s.table.Dict, maps)
}

// All returns the keys, each once. The slice must not be changed.
func (k *LabelKeys) All() []ID { return k.all }

// Finder returns a finder for a name in the maps that k was made of.
func (k *LabelKeys) Finder(name labelnames.Name) *LabelFinder {
	f := &LabelFinder{dict: k.dict, name: name}
	for _, key := range k.bySnake[labelnames.Snake(name.String())] {
		if spelled, ok := labelnames.Spell(&name, k.dict.Text(key), key); ok {
			f.keys = append(f.keys, spelled)
		}
	}
	slices.SortFunc(f.keys, labelnames.Compare[ID])
	return f
}

// LabelFinder finds a label or an annotation in maps of a Dict, whatever the spelling of its key.
type LabelFinder struct {
	dict *Dict
	name labelnames.Name
	keys []labelnames.Spelled[ID] // the values are ids of keys; sorted by labelnames.Compare
	here []labelnames.Spelled[ID] // scratch space: the keys that a map has, with their values
}

// Anywhere reports whether any of the maps has a key that spells the name.
func (f *LabelFinder) Anywhere() bool { return len(f.keys) > 0 }

// Find returns the value of the name in the map m, and whether m has one: see labelnames.Find. It is not safe for concurrent
// use.
func (f *LabelFinder) Find(m ID) (value ID, ok bool) {
	value, ok, _ = f.find(m)
	return value, ok
}

// find also reports whether the name clashes with others; f.here are then their keys.
func (f *LabelFinder) find(m ID) (value ID, ok, clash bool) {
	f.here = f.here[:0]
	for _, key := range f.keys {
		if value, ok := f.dict.lookup(m, key.Value); ok {
			if len(f.here) == 0 && key.Alone() {
				return value, true, false // no other key spells this name
			}
			here := key
			here.Value = value
			f.here = append(f.here, here)
		}
	}
	return labelnames.Choose(&f.name, f.here)
}

// withoutCollisions returns the entries of a map that stay when another map is laid over it. Colliding names are replaced
// together: if either map has numbered keys for a name, keys of the other map would read as further labels.
func (d *Dict) withoutCollisions(under, over []Pair) []Pair {
	numbered := map[string]bool{} // by name in snake case: whether over has numbered keys for it
	for _, pair := range over {
		snake, number := labelnames.CutConflict(labelnames.Snake(d.Text(pair.Key)))
		numbered[snake] = numbered[snake] || number > 0
	}
	return slices.DeleteFunc(slices.Clone(under), func(pair Pair) bool {
		snake, number := labelnames.CutConflict(labelnames.Snake(d.Text(pair.Key)))
		byOver, replaced := numbered[snake]
		return replaced && (byOver || number > 0)
	})
}
