package labelnames

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Name is the name of a label or of an annotation. It finds the label in whatever way an exporter spells its name: as
// Kubernetes does (eks.amazonaws.com/capacityType), with underscores for what a label of Prometheus may not hold
// (eks_amazonaws_com_capacityType), or in kube-state-metrics' snake case (eks_amazonaws_com_capacity_type). The name itself
// may be in any of these spellings, too.
//
// Snake case can make one name of several. kube-state-metrics then exports team_conflict1, team_conflict2 and so on, in the
// byte order of the names in Kubernetes: see Names.
type Name struct {
	text, sanitized, snake string
	place, names           int // among the names that are known to collide
}

// NewName is the name that text spells.
func NewName(text string) Name {
	return Name{text: text, sanitized: Sanitize(text), snake: Snake(text), names: 1}
}

// Aliases are the names that one label has had, the present one first: First finds its value.
func Aliases(texts ...string) []Name {
	names := make([]Name, len(texts))
	for i, text := range texts {
		names[i] = NewName(text)
	}
	return names
}

// String is the name as it was given.
func (n Name) String() string { return n.text }

// Within reports whether the name is a part of key in any spelling and case.
func (n Name) Within(key string) bool {
	has := func(key, part string) bool { return strings.Contains(strings.ToLower(key), strings.ToLower(part)) }
	return has(key, n.text) || has(Sanitize(key), n.sanitized) || has(Snake(key), n.snake)
}

// Names are names of labels that were asked for or configured. Where an object has as many colliding labels as there are
// names here that collide, the labels are taken to have these names, in byte order. None is the zero value.
type Names struct{ bySnake map[string][]string }

// NewNames are the names that texts spell.
func NewNames(texts ...string) Names {
	k := Names{map[string][]string{}}
	for _, text := range texts {
		snake := Snake(text)
		same := k.bySnake[snake]
		if i, found := slices.BinarySearch(same, text); !found {
			k.bySnake[snake] = slices.Insert(same, i, text)
		}
	}
	return k
}

// And are the names of k and texts.
func (k Names) And(texts ...string) Names {
	return NewNames(slices.Concat(append(slices.Collect(maps.Values(k.bySnake)), texts)...)...)
}

// Name returns the name that text spells, as one of k.
func (k Names) Name(text string) Name {
	n := NewName(text)
	if same := k.bySnake[n.snake]; len(same) > 0 {
		i, found := slices.BinarySearch(same, text)
		n.place, n.names = i, len(same)
		if !found {
			n.names++
		}
	}
	return n
}

// Sanitize is the name of a label as Prometheus can hold it: every character of s other than letters, digits and underscores
// becomes an underscore.
func Sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

// Snake is the name of a label as kube-state-metrics writes it: sanitized, with an underscore between a small letter or
// a digit and the capital after it, and in small letters.
func Snake(s string) string {
	s = Sanitize(s)
	capital := func(c byte) bool { return 'A' <= c && c <= 'Z' }
	if !strings.ContainsFunc(s, func(r rune) bool { return capital(byte(r)) }) {
		return s
	}
	b := make([]byte, 0, len(s)+4)
	for i := range len(s) {
		if i > 0 && capital(s[i]) && !capital(s[i-1]) && s[i-1] != '_' {
			b = append(b, '_')
		}
		b = append(b, s[i])
	}
	return strings.ToLower(string(b))
}

// Spellings are the ways in which exporters may spell the name of a label.
func Spellings(text string) []string {
	return slices.Compact([]string{text, Sanitize(text), Snake(text)})
}

// WithoutConflict returns a key without the suffix that distinguishes colliding names.
func WithoutConflict(key string) string {
	snake, _ := CutConflict(key)
	return snake
}

// conflictMark stands before the number of a label whose name collides with another's.
const conflictMark = "_conflict"

// CutConflict is a key without the mark of a collision, and its number; 0 where the key has none.
func CutConflict(key string) (snake string, number int) {
	i := strings.LastIndex(key, conflictMark)
	if i < 0 {
		return key, 0
	}
	number, err := strconv.Atoi(key[i+len(conflictMark):])
	if err != nil || number < 1 {
		return key, 0
	}
	return key[:i], number
}

// spelling says how a key spells a name, the best one last.
type spelling uint8

const (
	noSpelling        spelling = iota
	conflictSpelling           // one of several keys whose names collide
	unknownSpelling            // the name is a spelling of the key
	snakeSpelling              // as kube-state-metrics writes it
	sanitizedSpelling          // as Prometheus could always hold it
	exactSpelling              // as it was given
)

// spelling says how key spells the name, and its number among colliding ones.
func (n *Name) spelling(key string) (spelling, int) {
	switch key {
	case n.text:
		return exactSpelling, 0
	case n.sanitized:
		return sanitizedSpelling, 0
	case n.snake:
		return snakeSpelling, 0
	}
	if snake, number := CutConflict(key); number > 0 && snake == n.snake {
		return conflictSpelling, number
	}
	if n.text == n.sanitized && (Sanitize(key) == n.text || Snake(key) == n.text) {
		return unknownSpelling, 0
	}
	return noSpelling, 0
}

// Spells reports whether a key spells the name.
func (n Name) Spells(key string) bool {
	s, _ := n.spelling(key)
	return s != noSpelling
}

// Spelled is a key that spells a name, and its value.
type Spelled[V comparable] struct {
	spelling spelling
	number   int
	Key      string
	Value    V
}

// Spell reports whether a key spells the name, and how. value is the key's value.
func Spell[V comparable](n *Name, key string, value V) (Spelled[V], bool) {
	s, number := n.spelling(key)
	return Spelled[V]{s, number, key, value}, s != noSpelling
}

// Alone reports whether no other key can spell the name as well.
func (s *Spelled[V]) Alone() bool {
	return s.spelling > conflictSpelling && s.spelling != unknownSpelling
}

// Compare orders keys, the best spelling first.
func Compare[V comparable](a, b Spelled[V]) int {
	return cmp.Or(cmp.Compare(b.spelling, a.spelling), cmp.Compare(a.number, b.number), strings.Compare(a.Key, b.Key))
}

// Choose is the value that the name has among keys of one map that spell it, in the order of Compare: that of the best
// spelling. Where several are as good and differ, it is known only where the names are, too; else they clash.
func Choose[V comparable](n *Name, keys []Spelled[V]) (value V, ok, clash bool) {
	if len(keys) == 0 {
		return value, false, false
	}
	same := 1
	for same < len(keys) && keys[same].spelling == keys[0].spelling {
		same++
	}
	if same > 1 && same == n.names && keys[0].spelling == conflictSpelling {
		return keys[n.place].Value, true, false
	}
	for _, k := range keys[1:same] {
		if k.Value != keys[0].Value {
			return value, false, true
		}
	}
	return keys[0].Value, true, false
}

// Find is the value that labels have of the name, and whether they have one: not where the name collides with another
// and their values differ.
func Find[V comparable](n *Name, labels map[string]V) (value V, ok bool) {
	if value, ok := labels[n.text]; ok {
		return value, true
	}
	value, ok, _ = Choose(n, spellings(n, labels))
	return value, ok
}

// Clash are the keys among labels of names that collide with the name and whose values differ, so that Find finds none; nil
// where there are none.
func Clash[V comparable](n *Name, labels map[string]V) (names []string) {
	keys := spellings(n, labels)
	if _, _, clash := Choose(n, keys); clash {
		for _, k := range keys {
			names = append(names, k.Key)
		}
	}
	return names
}

// spellings are the labels whose keys spell the name, the best spelling first.
func spellings[V comparable](n *Name, labels map[string]V) (keys []Spelled[V]) {
	for key, value := range labels {
		if spelled, ok := Spell(n, key, value); ok {
			keys = append(keys, spelled)
		}
	}
	slices.SortFunc(keys, Compare[V])
	return keys
}

// First is the first value that labels have of names, "" where they have none.
func First(labels map[string]string, names []Name) string {
	for i := range names {
		if v, _ := Find(&names[i], labels); v != "" {
			return v
		}
	}
	return ""
}

// RegionLabels are the names of the label that says in which region a node or a volume is, the present one first.
var RegionLabels = Aliases("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")

// Region is the region that labels name, "" where they do not.
func Region(labels map[string]string) string { return First(labels, RegionLabels) }
