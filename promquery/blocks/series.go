package blocks

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"unique"

	"github.com/promcost/promcost/promquery"
)

// symbols turns the symbols of blocks into ones of all blocks of a read: a string is looked up once a block.
type symbols struct {
	ids   map[string]uint32
	texts []promquery.Symbol // by id; 0 is ""
	bytes int64              // that they take
}

func newSymbols() *symbols {
	return &symbols{ids: map[string]uint32{"": 0}, texts: []promquery.Symbol{unique.Make("")}}
}

// id is the number of a string. A new string is copied.
func (s *symbols) id(text []byte) uint32 {
	id, ok := s.ids[string(text)]
	if !ok {
		symbol := unique.Make(string(text))
		id = uint32(len(s.texts))
		s.texts, s.ids[symbol.Value()] = append(s.texts, symbol), id
		s.bytes += symbolBytes + int64(len(text))
	}
	return id
}

// view is one block during a read: its files, and its symbols as numbers that all blocks share.
type view struct {
	block *block
	*files
	global []uint32 // number + 1 of each symbol, 0 if it was not looked up yet
	sums   []uint64 // hash of each symbol's text, the same in all blocks; 0 if it was not made yet
}

// seed makes the hashes of symbols.
var seed = maphash.MakeSeed()

// hash is the hash of a symbol's text.
func (v *view) hash(id uint32) (uint64, error) {
	if uint64(id) < uint64(len(v.sums)) && v.sums[id] != 0 {
		return v.sums[id], nil
	}
	text, err := v.index.text(id)
	if err != nil {
		return 0, err
	}
	v.sums[id] = max(1, maphash.Bytes(seed, text))
	return v.sums[id], nil
}

// number is the number, among all blocks' symbols, of a symbol of this one.
func (v *view) number(all *symbols, id uint32) (uint32, error) {
	if uint64(id) >= uint64(len(v.global)) {
		return 0, fmt.Errorf("%w: symbol %d of %d", errMalformed, id, len(v.global))
	}
	if n := v.global[id]; n > 0 {
		return n - 1, nil
	}
	text, err := v.index.text(id)
	if err != nil {
		return 0, err
	}
	n := all.id(text)
	v.global[id] = n + 1
	return n, nil
}

// uid is the number of the pod's UID in a cgroup path, that of "" where there is none.
func (v *view) uid(all *symbols, path uint32) (uint32, error) {
	text, err := v.index.text(path)
	if err != nil {
		return 0, err
	}
	uid, ok := promquery.PodUID(string(text))
	if !ok {
		return 0, nil
	}
	return all.id(uid[:]), nil
}

// role is the use of a label of a selector's series in one block: an element of the key, a matcher, or what tells series apart.
type role struct {
	name    uint32 // symbol in the block
	key     int    // -1: none
	matcher int    // -1: none
	told    bool
}

// match decides one matcher in one block.
type match struct {
	promquery.Matcher
	value  uint32 // symbol of Value in the block
	known  bool   // the block has it
	re     *regexp.Regexp
	seen   map[uint32]bool // what re says of symbols
	absent bool            // whether a series without the label matches
}

// maxMatchers is how many matchers a selector may have: the bits of a word.
const maxMatchers = 64

// compile makes the matchers of a selector. A regular expression that is none is an error.
func compile(sel *promquery.Selector) ([]match, error) {
	if len(sel.Matchers) > maxMatchers {
		return nil, fmt.Errorf("match metric %s: %d matchers, at most %d are allowed", sel.Metric, len(sel.Matchers), maxMatchers)
	}
	out := make([]match, len(sel.Matchers))
	for i, m := range sel.Matchers {
		out[i].Matcher = m
		switch m.Type {
		case promquery.MatchEqual:
			out[i].absent = m.Value == ""
		case promquery.MatchNotEqual:
			out[i].absent = m.Value != ""
		case promquery.MatchRegexp, promquery.MatchNotRegexp:
			re, err := regexp.Compile("^(?s:" + m.Value + ")$")
			if err != nil {
				return nil, fmt.Errorf("match label %s of metric %s: %w", m.Name, sel.Metric, err)
			}
			out[i].re = re
			out[i].absent = re.MatchString("") == (m.Type == promquery.MatchRegexp)
		default:
			return nil, fmt.Errorf("match label %s of metric %s: unknown match type %d", m.Name, sel.Metric, m.Type)
		}
	}
	return out, nil
}

// bind translates the matchers to one block.
func bind(matchers []match, x *index) {
	for i := range matchers {
		m := &matchers[i]
		m.value, m.known = x.find(m.Value)
		m.seen = map[uint32]bool{}
	}
}

// holds reports whether the matcher holds for a value of the block.
func (m *match) holds(x *index, value uint32) (bool, error) {
	switch m.Type {
	case promquery.MatchEqual:
		return m.known && value == m.value, nil
	case promquery.MatchNotEqual:
		return !m.known || value != m.value, nil
	case promquery.MatchRegexp, promquery.MatchNotRegexp:
	}
	ok, known := m.seen[value]
	if !known {
		text, err := x.text(value)
		if err != nil {
			return false, err
		}
		ok = m.re.Match(text) == (m.Type == promquery.MatchRegexp)
		m.seen[value] = ok
	}
	return ok, nil
}

// roles are the labels of a block that a selector wants, ascending by symbol as labels are in entries.
func roles(x *index, sel *promquery.Selector) []role {
	var out []role
	for i, name := range sel.Keep {
		if name == sel.Series && name != sel.Cgroup {
			continue
		}
		if id, ok := x.find(name); ok {
			out = append(out, role{name: id, key: i, matcher: -1})
		}
	}
	for i := range sel.Matchers {
		if id, ok := x.find(sel.Matchers[i].Name); ok {
			out = append(out, role{name: id, key: -1, matcher: i})
		}
	}
	if id, ok := x.find(sel.Series); ok && sel.Keep != nil && sel.Series != "" {
		out = append(out, role{name: id, key: -1, matcher: -1, told: true})
	}
	slices.SortStableFunc(out, func(a, b role) int { return cmp.Compare(a.name, b.name) })
	return out
}

// identity identifies a series of a metric: two 64-bit hashes over the hashes of its labels' names and values.
type identity [2]uint64

func (h *identity) add(x uint64) {
	h[0] = (h[0] ^ x) * 0x9e3779b97f4a7c15
	h[0] ^= h[0] >> 29
	h[1] = (h[1] + x) * 0xd6e8feb86659fd93
	h[1] ^= h[1] >> 32
}

// addPair adds a label of a block.
func (h *identity) addPair(v *view, name, value uint32) error {
	x, err := v.hash(name)
	if err != nil {
		return err
	}
	y, err := v.hash(value)
	if err != nil {
		return err
	}
	h.add(x*0xff51afd7ed558ccd + y)
	return nil
}

// labelCount is the number of labels at the head of an entry's content; next is the offset of the first.
func labelCount(content []byte) (count uint64, next int, err error) {
	count, next = uvarint(content)
	if next <= 0 || count > uint64(len(content)) {
		return 0, 0, fmt.Errorf("%w: labels of a series", errMalformed)
	}
	return count, next, nil
}

// short is the varint of at most four bytes that x begins with, the lowest byte first, and its length; 0 where it is longer.
func short(x uint32) (v uint32, size uint) {
	switch {
	case x&0x80 == 0:
		return x & 0x7f, 1
	case x&0x8000 == 0:
		return x&0x7f | x>>1&0x3f80, 2
	case x&0x800000 == 0:
		return x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000, 3
	case x&0x80000000 == 0:
		return x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000 | x>>3&0xfe00000, 4
	}
	return 0, 0
}

// pair reads the next label's name and value.
func pair(content []byte, at int) (name, value uint32, next int, err error) {
	if at+8 <= len(content) { // symbols are numbers of two or three bytes, mostly
		w := binary.LittleEndian.Uint64(content[at:])
		if a, n := short(uint32(w)); n > 0 {
			if b, k := short(uint32(w >> (8 * n))); k > 0 {
				return a, b, at + int(n+k), nil
			}
		}
	}
	a, n := uvarint(content[at:])
	if n > 0 {
		b, k := uvarint(content[at+n:])
		if k > 0 && a < 1<<32 && b < 1<<32 {
			return uint32(a), uint32(b), at + n + k, nil
		}
	}
	return 0, 0, 0, fmt.Errorf("%w: labels of a series", errMalformed)
}

// chunkMeta is the place and the time of a chunk.
type chunkMeta struct {
	ref        uint64
	mint, maxt int64
}

// hasChunk reports whether the chunks listed in content span any of the time from start to end, both inclusive. Where the list cannot be
// read, it may.
func hasChunk(content []byte, start, end int64) (found bool) {
	err := eachChunk(content, func(m chunkMeta) { found = found || m.mint <= end && m.maxt >= start })
	return found || err != nil
}

// eachChunk calls f for the chunks listed in content, which is what follows an entry's labels.
func eachChunk(content []byte, f func(chunkMeta)) error {
	count, at := uvarint(content)
	if at <= 0 {
		return fmt.Errorf("%w: chunks of a series", errMalformed)
	}
	var c chunkMeta
	for i := range count {
		if i > 0 && at+12 <= len(content) {
			rest := content[at:][:12]
			d, n := short(binary.LittleEndian.Uint32(rest))
			length, m := short(binary.LittleEndian.Uint32(rest[n:]))
			r, k := short(binary.LittleEndian.Uint32(rest[n+m:]))
			if n > 0 && m > 0 && k > 0 { // mostly
				start := c.maxt + int64(d)
				c = chunkMeta{uint64(int64(c.ref) + int64(int32(r>>1)^-int32(r&1))), start, start + int64(length)}
				at += int(n + m + k)
				f(c)
				continue
			}
		}
		var start, ref int64
		var n, m, k int
		if i == 0 {
			start, n = binary.Varint(content[at:])
		} else {
			var d uint64
			d, n = uvarint(content[at:])
			start = c.maxt + int64(d)
		}
		if n <= 0 {
			return fmt.Errorf("%w: chunks of a series", errMalformed)
		}
		length, m := uvarint(content[at+n:])
		if m <= 0 {
			return fmt.Errorf("%w: chunks of a series", errMalformed)
		}
		if i == 0 {
			var r uint64
			r, k = uvarint(content[at+n+m:])
			ref = int64(r)
		} else {
			var r uint64
			r, k = uvarint(content[at+n+m:])
			ref = int64(c.ref) + (int64(r>>1) ^ -int64(r&1)) // as binary.Varint
		}
		if k <= 0 {
			return fmt.Errorf("%w: chunks of a series", errMalformed)
		}
		at += n + m + k
		c = chunkMeta{uint64(ref), start, start + int64(length)}
		f(c)
	}
	return nil
}
