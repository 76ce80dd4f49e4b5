package allocation

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/labelnames"
)

// BoundKeys are keys bound to the rows of a set.
type BoundKeys struct{ keys []boundKey }

// BindKeys binds keys to the rows of s. labelValue names values of labels and annotations `redis` instead of `app=redis`. It
// fails with ErrUnread if an input was not read.
func BindKeys(s *Set, keys []Key, labelValue bool) (BoundKeys, error) {
	bound := BoundKeys{make([]boundKey, len(keys))}
	for i, k := range keys {
		var err error
		if bound.keys[i], err = k.bind(s, labelValue); err != nil {
			return BoundKeys{}, err
		}
	}
	return bound, nil
}

// Columns returns the ids that decide the values of the keys: rows with the same ids have the same values.
func (b BoundKeys) Columns() (cols [][]ID) {
	for i := range b.keys {
		cols = append(cols, b.keys[i].cols...)
	}
	return cols
}

// OfSet reports whether ids of Columns belong to the set only, not to its Dict.
func (b BoundKeys) OfSet() bool {
	return slices.ContainsFunc(b.keys, func(k boundKey) bool { return k.texts != nil })
}

// Any reports whether a row has a value of any of the keys. All rows have one of the key `all`.
func (b BoundKeys) Any(row int) bool {
	return slices.ContainsFunc(b.keys, func(k boundKey) bool { return k.kind == keyAll || k.cols[len(k.cols)-1][row] != 0 })
}

// AppendName appends the values of the keys for a row to dst, with a separator between them. fill writes UnallocatedName for a
// missing value.
func (b BoundKeys) AppendName(dst []byte, row int, separator byte, fill bool) []byte {
	for i := range b.keys {
		if i > 0 {
			dst = append(dst, separator)
		}
		dst = b.keys[i].appendName(dst, row, fill)
	}
	return dst
}

// boundKey is a Key bound to a set: the columns of ids that decide its value, and how the value is written.
type boundKey struct {
	dict   *Dict
	kind   keyKind
	cols   [][]ID
	texts  []string // by id, of keys with ids of their own; nil where the ids are those of dict
	prefix string   // before the value, such as `app=`
	raw    bool     // not a cluster's id: written as it is
}

// bind prepares k for the rows of s. It fails with ErrUnread if an input was not read.
func (k Key) bind(s *Set, labelValue bool) (boundKey, error) {
	if err := s.Require(k.Needs()); err != nil {
		return boundKey{}, err
	}
	b := boundKey{dict: s.table.Dict, kind: k.kind, raw: k.property != Cluster}
	switch k.kind {
	case keyProperty:
		b.cols = [][]ID{s.table.IDs[k.property]}
	case keyController:
		b.cols = [][]ID{s.table.IDs[ControllerKind], s.table.IDs[Controller]}
	case keyWorkload:
		b.cols = [][]ID{s.controllersOf(k.kindName)}
	case keyService:
		b.cols = [][]ID{s.firstServices()}
	case keyLabel, keyAnnotation:
		b.cols = [][]ID{s.lookup(k.property, k.label)}
		if !labelValue {
			b.prefix = labelnames.Sanitize(k.label.String()) + "="
		}
	case keyAlias:
		values, annotations := s.lookup(Labels, k.label), s.lookup(Annotations, k.label)
		for i, v := range values {
			if v == 0 {
				values[i] = annotations[i]
			}
		}
		b.cols = [][]ID{values}
	case keyDerived:
		b.cols = [][]ID{nil}
		b.cols[0], b.texts = k.derived.column(s)
	case keyNodeClass:
		b.cols = [][]ID{s.nodeClasses()}
	case keyNodePool:
		b.cols = [][]ID{nil}
		b.cols[0], b.texts = s.poolColumn()
	case keyBarePod:
		b.cols = [][]ID{s.barePods()}
	case keyAll:
	}
	return b, nil
}

// appendName appends the key's part of a row's name to dst. fill writes a name for a missing value.
func (b *boundKey) appendName(dst []byte, row int, fill bool) []byte {
	if b.kind == keyAll {
		return dst
	}
	id := b.cols[len(b.cols)-1][row]
	if id == 0 {
		if fill {
			dst = append(dst, UnallocatedName...)
		}
		return dst
	}
	if b.texts != nil {
		return append(dst, b.texts[id]...)
	}
	if b.kind == keyController {
		if kind := b.cols[0][row]; kind != 0 {
			dst = append(append(dst, b.dict.Text(kind)...), ':')
		}
	}
	if !b.raw {
		return appendCluster(dst, b.dict.Text(id))
	}
	return append(append(dst, b.prefix...), b.dict.Text(id)...)
}

// ClusterInName returns a cluster's id as it stands in names. Clients count the parts between slashes, so an id such as an
// ARN must not contain slashes or colons.
func ClusterInName(id string) string { return string(appendCluster(nil, id)) }

// appendCluster appends ClusterInName to dst.
func appendCluster(dst []byte, id string) []byte {
	at := len(dst)
	dst = append(dst, id...)
	for i, c := range dst[at:] {
		if c == '/' || c == ':' {
			dst[at+i] = '_'
		}
	}
	return dst
}

// barePods returns the pods without a controller, 0 for rows with one.
func (s *Set) barePods() []ID {
	ids := make([]ID, s.Len())
	for i, controller := range s.table.IDs[Controller] {
		if controller == 0 {
			ids[i] = s.table.IDs[Pod][i]
		}
	}
	return ids
}

// controllersOf returns the controllers of one kind, 0 for rows with another kind or none.
func (s *Set) controllersOf(kind string) []ID {
	ids := make([]ID, s.Len())
	want, ok := s.table.Dict.Find(kind)
	if !ok {
		return ids
	}
	for i, k := range s.table.IDs[ControllerKind] {
		if k == want {
			ids[i] = s.table.IDs[Controller][i]
		}
	}
	return ids
}

// firstServices returns the first service of each row in sorted order, so that a row behind several services counts once.
func (s *Set) firstServices() []ID {
	_, lists, _ := s.table.Dict.Sizes()
	return mapIDs(s.table.IDs[Services], lists, func(list ID) ID {
		ids := s.table.Dict.List(list)
		if len(ids) == 0 {
			return 0
		}
		return slices.MinFunc(ids, func(a, b ID) int { return strings.Compare(s.table.Dict.Text(a), s.table.Dict.Text(b)) })
	})
}

// lookup returns the value of a label or annotation in each row, 0 where it is missing or empty.
func (s *Set) lookup(p Property, name labelnames.Name) []ID {
	_, _, maps := s.table.Dict.Sizes()
	finder := s.labelKeys(p).Finder(name)
	return mapIDs(s.table.IDs[p], maps, func(m ID) ID {
		value, _ := finder.Find(m)
		return value
	})
}

// mapIDs returns f of each id. It calls f once for each distinct id; all are below n.
func mapIDs(ids []ID, n int, f func(ID) ID) []ID {
	const unknown = ^ID(0)
	table, out := slices.Repeat([]ID{unknown}, n), make([]ID, len(ids))
	for i, id := range ids {
		if table[id] == unknown {
			table[id] = f(id)
		}
		out[i] = table[id]
	}
	return out
}
