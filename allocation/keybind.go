package allocation

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/labelnames"
)

// boundKey is a Key over the rows of a set: the columns of ids that decide it, and how they read.
type boundKey struct {
	dict   *Dict
	kind   keyKind
	cols   [][]ID
	texts  []string // of a derived property's ids, which are its own
	prefix string   // before the value, such as `app=`
	raw    bool     // as it is, not a cluster's id
}

// bind prepares k for the rows of s: ErrUnread where what it needs was not read.
func (k Key) bind(s *Set, labelValue bool) (boundKey, error) {
	if err := s.Require(k.Needs()); err != nil {
		return boundKey{}, err
	}
	b := boundKey{dict: s.dict, kind: k.kind, raw: k.property != Cluster}
	switch k.kind {
	case keyProperty:
		b.cols = [][]ID{s.ids[k.property]}
	case keyController:
		b.cols = [][]ID{s.ids[ControllerKind], s.ids[Controller]}
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
	case keyAll:
	}
	return b, nil
}

// appendName appends the key's part of a row's name to dst. fill names what is missing.
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
	if b.kind == keyDerived {
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

// ClusterInName is the id of a cluster as it stands in names: clients count the parts between slashes, and an id such as an ARN
// must not add to them.
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

// controllersOf is the controllers of one kind, 0 for rows that have another or none.
func (s *Set) controllersOf(kind string) []ID {
	ids := make([]ID, s.Len())
	want, ok := s.dict.Find(kind)
	if !ok {
		return ids
	}
	for i, k := range s.ids[ControllerKind] {
		if k == want {
			ids[i] = s.ids[Controller][i]
		}
	}
	return ids
}

// firstServices is the first service in sorted order of each row: one behind several counts once.
func (s *Set) firstServices() []ID {
	_, lists, _ := s.dict.Sizes()
	return mapIDs(s.ids[Services], lists, func(list ID) ID {
		ids := s.dict.List(list)
		if len(ids) == 0 {
			return 0
		}
		return slices.MinFunc(ids, func(a, b ID) int { return strings.Compare(s.dict.Text(a), s.dict.Text(b)) })
	})
}

// lookup is the value of a label or annotation in each row, 0 where it is missing or empty.
func (s *Set) lookup(p Property, name labelnames.Name) []ID {
	_, _, maps := s.dict.Sizes()
	finder := s.labelKeys(p).Finder(name)
	return mapIDs(s.ids[p], maps, func(m ID) ID {
		value, _ := finder.Find(m)
		return value
	})
}

// mapIDs is f of each id, which is asked once per distinct id below n.
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
