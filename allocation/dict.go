package allocation

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/intern"
	"github.com/promcost/promcost/allocation/labelnames"
)

// ID names an interned string, list or map of a Dict. IDs are dense, so that a table indexed by ID can hold a decision for
// each value. 0 is the empty string, list and map: a missing property.
type ID uint32

// Pair is a label or an annotation in an interned map.
type Pair struct{ Key, Value ID }

// Dict interns the strings, lists of strings and string maps of sets. Sets that share a Dict compare ids. Adding is not safe
// for concurrent use; reading is, once nothing is added any more.
type Dict struct {
	strs  []string
	index intern.Index // of strs
	lists intern.Table[ID]
	pairs intern.Table[Pair]
	bytes int64 // of strs
	// collides means that strs has a label key whose name collides with another.
	collides bool
	noID     []ID // ids of a property that is missing in all rows
	zero     []float64

	joined, spare []Pair // scratch of Overlay
}

// passNames are strings that passes may need. They are in every Dict, so that passes need not copy a Dict to add them.
var passNames = [...]string{UnallocatedName, ExternalName, OverheadName, TenancyName, LoadBalancersName}

// NewDict returns a Dict that contains only the strings that passes need.
func NewDict() *Dict {
	d := &Dict{
		strs:  []string{""},
		lists: intern.NewTable(func(key []byte, id ID) []byte { return binary.LittleEndian.AppendUint32(key, uint32(id)) }),
		pairs: intern.NewTable(func(key []byte, p Pair) []byte {
			return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(key, uint32(p.Key)), uint32(p.Value))
		}),
	}
	for _, name := range passNames {
		d.Add(name)
	}
	return d
}

// Add interns s, which is not retained.
func (d *Dict) Add(s string) ID {
	if id, ok := d.Find(s); ok {
		return id
	}
	return d.add(strings.Clone(s))
}

// AddWhole interns s, and retains it: it should not be a part of a longer string.
func (d *Dict) AddWhole(s string) ID {
	if id, ok := d.Find(s); ok {
		return id
	}
	return d.add(s)
}

func (d *Dict) add(s string) ID {
	id := ID(len(d.strs))
	d.bytes += int64(len(s))
	d.strs = append(d.strs, s)
	d.index.Add(intern.Hash(s), uint32(id))
	if _, number := labelnames.CutConflict(s); number > 0 {
		d.collides = true
	}
	return id
}

func (d *Dict) find(hash uint32, s string) ID {
	return ID(d.index.Find(hash, func(id uint32) bool { return d.strs[id] == s }))
}

// AddBytes interns text, which the caller may change afterwards.
func (d *Dict) AddBytes(text []byte) ID {
	id := ID(d.index.Find(intern.HashBytes(text), func(id uint32) bool { return d.strs[id] == string(text) })) // does not allocate
	if id == 0 {
		return d.AddWhole(string(text))
	}
	return id
}

// blank returns columns of n empty values. They are shared: whoever writes to them must copy them.
func (d *Dict) blank(n int) ([]ID, []float64) {
	if n > len(d.noID) {
		d.noID, d.zero = make([]ID, n), make([]float64, n)
	}
	return d.noID[:n:n], d.zero[:n:n]
}

// Find returns the id of s and whether the Dict has it.
func (d *Dict) Find(s string) (ID, bool) {
	id := d.find(intern.Hash(s), s)
	return id, id != 0 || s == ""
}

// AddList interns a list in the order given.
func (d *Dict) AddList(list []string) ID {
	ids := make([]ID, len(list))
	for i, s := range list {
		ids[i] = d.Add(s)
	}
	return ID(d.lists.Intern(ids))
}

// AddMap interns a map.
func (d *Dict) AddMap(m map[string]string) ID {
	pairs := make([]Pair, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, Pair{d.Add(k), d.Add(m[k])})
	}
	return ID(d.pairs.Intern(pairs))
}

// AddPairs interns a map of ids of d. The pairs must be sorted by the keys' texts, each key once.
func (d *Dict) AddPairs(pairs []Pair) ID { return ID(d.pairs.Intern(pairs)) }

// Overlay returns the union of maps. Where several maps have a key, the last one wins. Only the result is interned.
func (d *Dict) Overlay(maps ...ID) (all ID) {
	var out []Pair // all, if it is not interned
	for _, id := range maps {
		if all == 0 || id == 0 {
			all = max(all, id) // one of them is the empty map
			continue
		}
		if len(out) == 0 {
			out = d.pairs.Row(uint32(all))
		}
		pairs := d.pairs.Row(uint32(id))
		if d.collides {
			out = d.withoutCollisions(out, pairs)
		}
		d.joined, d.spare = d.union(d.spare[:0], out, pairs), d.joined
		out = d.joined
	}
	if len(out) == 0 {
		return all
	}
	return ID(d.pairs.Intern(out))
}

// union appends the entries of both maps, sorted, to out. Where both have a key, b wins.
func (d *Dict) union(out, a, b []Pair) []Pair {
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(d.strs[a[0].Key], d.strs[b[0].Key]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, b[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// TextMap returns the map id as texts, nil for an empty map.
func (d *Dict) TextMap(id ID) map[string]string {
	pairs := d.pairs.Row(uint32(id))
	if len(pairs) == 0 {
		return nil
	}
	m := make(map[string]string, len(pairs))
	for _, x := range pairs {
		m[d.strs[x.Key]] = d.strs[x.Value]
	}
	return m
}

// Text returns the string with this id.
func (d *Dict) Text(id ID) string { return d.strs[id] }

// List returns the strings of a list, in order. The slice must not be changed.
func (d *Dict) List(id ID) []ID { return d.lists.Row(uint32(id)) }

// Map returns the entries of a map, sorted by key. The slice must not be changed.
func (d *Dict) Map(id ID) []Pair { return d.pairs.Row(uint32(id)) }

// lookup returns the value of key in a map and whether the map has the key.
func (d *Dict) lookup(id, key ID) (ID, bool) {
	for _, p := range d.pairs.Row(uint32(id)) {
		if p.Key == key {
			return p.Value, true
		}
	}
	return 0, false
}

// Sizes returns the numbers of distinct strings, lists and maps. Every ID is below the number of its kind.
func (d *Dict) Sizes() (strs, lists, maps int) {
	return len(d.strs), d.lists.Len(), d.pairs.Len()
}

// internedMemory is about how many bytes a string, list or map of a Dict takes besides its content, for its entries in slices that
// grow.
const internedMemory = 48

// Memory returns about how many bytes the dictionary takes.
func (d *Dict) Memory() int64 {
	const idBytes, pairBytes = 4, 8
	return int64(len(d.strs)+d.lists.Len()+d.pairs.Len())*internedMemory + d.bytes + int64(d.lists.Cap())*idBytes + int64(d.pairs.Cap())*pairBytes
}

// Intersect returns the map of the pairs that both a and b have.
func (d *Dict) Intersect(a, b ID) ID {
	var both []Pair
	for _, p := range d.Map(a) {
		if v, ok := d.lookup(b, p.Key); ok && v == p.Value {
			both = append(both, p)
		}
	}
	return ID(d.pairs.Intern(both))
}

// Clone returns a copy of d with the same ids. Adding to the copy does not change d.
func (d *Dict) Clone() *Dict {
	out := NewDict()
	out.strs, out.index = slices.Clip(d.strs), d.index.Clone()
	out.lists, out.pairs = d.lists.Clone(), d.pairs.Clone()
	return out
}
