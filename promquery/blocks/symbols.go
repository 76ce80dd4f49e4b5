package blocks

import (
	"bytes"
	"slices"
	"sort"
	"unsafe"

	"github.com/promcost/promcost/promquery"
)

// symbols are the symbols of several blocks in one table. A string has the same number in all blocks, and a greater string has a
// greater number, so that labels are compared by their numbers alone. Number 0 is "".
type symbols struct {
	table  *promquery.Symbols
	views  []*view
	places []place            // of a string, by number
	texts  []promquery.Symbol // by number; the zero Symbol where none was needed yet, and of ""; beyond those of places, UIDs found in paths
	uids   []uint32           // by number of a cgroup path: the number of the pod's UID in it, plus 1; 0 if it was not looked for yet
	names  map[string]uint32  // numbers that find has found
	bytes  int64              // that symbols take beyond these
}

// place is where a string stands: a symbol of a block.
type place struct {
	view int32
	id   uint32
}

// view is one block during a read: its files, and its symbols as numbers that all blocks share.
type view struct {
	block *block
	*files
	numbers []uint32 // of each symbol
}

// newSymbols numbers the symbols of blocks. texts will be of table.
func newSymbols(blocks []*block, table *promquery.Symbols) *symbols {
	most := 0
	for _, b := range blocks {
		most = max(most, len(b.files.index.symbols))
	}
	s := &symbols{table: table, places: make([]place, 1, 1+most), names: map[string]uint32{}}
	heads := make([]symbolHead, 0, len(blocks))
	for i, b := range blocks {
		v := &view{block: b, files: b.files, numbers: make([]uint32, len(b.files.index.symbols))}
		s.views = append(s.views, v)
		if h := (symbolHead{place: place{view: int32(i)}}); h.read(v) {
			heads = append(heads, h)
		}
	}
	same := make([]int, 0, len(blocks))
	for len(heads) > 1 {
		same = least(same, len(heads), func(i, k int) int { return bytes.Compare(heads[i].text, heads[k].text) })
		n := s.number(&heads[same[0]])
		for _, i := range slices.Backward(same) {
			h := &heads[i]
			v := s.views[h.view]
			v.numbers[h.id] = n
			if h.id++; !h.read(v) {
				heads = slices.Delete(heads, i, i+1)
			}
		}
	}
	for _, h := range heads { // what only one block has left need not be read
		v := s.views[h.view]
		for int(h.id) < len(v.numbers) {
			v.numbers[h.id] = s.number(&h)
			h.id, h.text = h.id+1, v.index.data // not empty
		}
	}
	s.texts, s.uids = make([]promquery.Symbol, len(s.places), len(s.places)+len(s.places)/8), make([]uint32, len(s.places))
	return s
}

// number is the number of the symbol that comes first of those without one.
func (s *symbols) number(h *symbolHead) uint32 {
	if len(h.text) == 0 {
		return 0
	}
	s.places = append(s.places, h.place)
	return uint32(len(s.places) - 1)
}

// symbolHead is the next symbol of a block.
type symbolHead struct {
	place
	text []byte
}

// read reads the text of the symbol. It is false if the block has no more.
func (h *symbolHead) read(v *view) bool {
	if int(h.id) >= len(v.numbers) {
		return false
	}
	h.text, _ = v.index.text(h.id) // it is one of the symbols
	return true
}

// text is the string of a number, a view that must not be kept. The number is one of those of blocks.
func (s *symbols) text(n uint32) string {
	if n == 0 {
		return ""
	}
	p := s.places[n]
	text, _ := s.views[p.view].index.text(p.id) // places are of symbols
	return viewOf(text)
}

// viewOf is text as a string that must not be kept.
func viewOf(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// find is the number of a string, and whether a block has it. Names of labels are looked for once.
func (s *symbols) find(text string) (uint32, bool) {
	n, known := s.names[text]
	if !known {
		n = uint32(sort.Search(len(s.places), func(n int) bool { return s.text(uint32(n)) >= text }))
		if int(n) == len(s.places) || s.text(n) != text {
			n = unknown
		}
		s.names[text] = n
	}
	return n, n != unknown
}

// symbol makes sure that texts has the symbol of a number, and returns the number.
func (s *symbols) symbol(n uint32) uint32 {
	if n > 0 && s.texts[n] == (promquery.Symbol{}) {
		s.texts[n] = s.table.Of(s.text(n))
		s.bytes += symbolBytes + int64(len(s.text(n)))
	}
	return n
}

// uid is the number of the pod's UID in a cgroup path, that of "" where there is none. texts has its symbol.
func (s *symbols) uid(path uint32) uint32 {
	if s.uids[path] == 0 {
		n := uint32(0)
		if uid, ok := promquery.PodUID(s.text(path)); ok {
			n = uint32(len(s.texts))
			s.texts = append(s.texts, s.table.Of(viewOf(uid[:])))
			s.bytes += symbolBytes + int64(len(uid))
		}
		s.uids[path] = n + 1
	}
	return s.uids[path] - 1
}
