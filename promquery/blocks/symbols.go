package blocks

import (
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// symbols are the symbols of several blocks in one table. A string has the same number in all blocks, and a greater string has a
// greater number, so that labels are compared by their numbers alone. Number 0 is "".
type symbols struct {
	table  *promquery.Symbols
	views  []*view
	places []uint32                 // by number, where a string stands: which symbol it is of those of all views, one view after the other
	texts  sparse[promquery.Symbol] // by number; the zero Symbol where none was needed yet
	uids   sparse[promquery.Symbol] // by number of a cgroup path: the pod's UID in it; the zero Symbol where none was needed yet, or there is none
	series sparse[uint64]           // by number: the SeriesID of the text; 0 where none was needed yet
	names  map[string]uint32        // numbers that find has found
	bytes  int64                    // that symbols take beyond these
}

// sparse are values by numbers, few of which have one. Those that have are close to each other: names of pods, say.
type sparse[T any] struct {
	pages []*[sparsePage]T
	made  int // how many pages there are
}

const sparsePage = 256

// newSparse returns a sparse of numbers below n.
func newSparse[T any](n int) sparse[T] {
	return sparse[T]{pages: make([]*[sparsePage]T, n/sparsePage+1)}
}

// slot returns the place of the value of a number.
func (s *sparse[T]) slot(n uint32) *T {
	page := s.pages[n/sparsePage]
	if page == nil {
		page = new([sparsePage]T)
		s.pages[n/sparsePage] = page
		s.made++
	}
	return &page[n%sparsePage]
}

// memory is the bytes that it takes. Its values have the size of a pointer.
func (s *sparse[T]) memory() int64 {
	return int64(len(s.pages)+s.made*sparsePage) * textBytes
}

// view is one block during a read: its files, and its symbols as numbers that all blocks share.
type view struct {
	block   *block
	at      int      // the block's place among those of the read
	*files           // nil where Prometheus' reader reads the block
	first   uint32   // the place of its first symbol
	numbers []uint32 // of each symbol
}

// count is how many symbols the block has.
func (v *view) count() int {
	if v.files == nil {
		return len(v.block.texts)
	}
	return len(v.index.symbols)
}

// text returns one of the block's symbols, a view that must not be kept.
func (v *view) text(id uint32) string {
	if v.files == nil {
		return v.block.texts[id]
	}
	text, _ := v.index.text(id)
	return viewOf(text)
}

// newSymbols numbers the symbols of the blocks of a snapshot. texts will be of table.
func newSymbols(of *snapshot, table *promquery.Symbols) *symbols {
	s := &symbols{table: table, names: map[string]uint32{}}
	most, all := 0, 0
	for i, b := range of.blocks {
		v := &view{block: b, at: i, files: of.files[i], first: uint32(all)}
		v.numbers = make([]uint32, v.count())
		s.views = append(s.views, v)
		most, all = max(most, v.count()), all+v.count()
	}
	room := 1 + min(all, most+most/2) // blocks that follow each other have most symbols in common
	s.places = make([]uint32, 1, room)
	next := make([]nextSymbol, 0, len(s.views))
	for i, v := range s.views {
		if h := (nextSymbol{view: i}); h.read(v) {
			next = append(next, h)
		}
	}
	same := make([]int, 0, len(s.views))
	for len(next) > 1 {
		same = least(same, len(next), func(i, k int) int { return strings.Compare(next[i].text, next[k].text) })
		n := s.number(&next[same[0]])
		for _, i := range slices.Backward(same) {
			h := &next[i]
			v := s.views[h.view]
			v.numbers[h.id] = n
			if h.id++; !h.read(v) {
				next = slices.Delete(next, i, i+1)
			}
		}
	}
	for _, h := range next { // what only one block has left need not be read
		v := s.views[h.view]
		for int(h.id) < len(v.numbers) {
			v.numbers[h.id] = s.number(&h)
			h.id, h.text = h.id+1, "?" // not empty
		}
	}
	s.texts, s.uids, s.series = newSparse[promquery.Symbol](len(s.places)), newSparse[promquery.Symbol](len(s.places)), newSparse[uint64](len(s.places))
	return s
}

// number is the number of the symbol that comes first of those without one.
func (s *symbols) number(h *nextSymbol) uint32 {
	if len(h.text) == 0 {
		return 0
	}
	s.places = append(s.places, s.views[h.view].first+h.id)
	return uint32(len(s.places) - 1)
}

// nextSymbol is the next symbol of a block.
type nextSymbol struct {
	view int
	id   uint32
	text string
}

// read reads the text of the symbol. It is false if the block has no more.
func (h *nextSymbol) read(v *view) bool {
	if int(h.id) >= len(v.numbers) {
		return false
	}
	h.text = v.text(h.id)
	return true
}

// text is the string of a number, a view that must not be kept. The number is one of those of blocks.
func (s *symbols) text(n uint32) string {
	if n == 0 {
		return ""
	}
	place := s.places[n]
	last := len(s.views) - 1
	for s.views[last].first > place {
		last--
	}
	v := s.views[last]
	return v.text(place - v.first)
}

// viewOf is text as a string that must not be kept.
func viewOf(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// find returns the number of a string, and whether a block has the string. It looks for each name of a label once.
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

// symbol is the symbol of a number.
func (s *symbols) symbol(n uint32) promquery.Symbol {
	at := s.texts.slot(n)
	if n > 0 && *at == (promquery.Symbol{}) {
		*at = s.make(s.text(n))
	}
	return *at
}

// uid returns the pod's UID in the cgroup path with a number, or the symbol of "" if the path has none.
func (s *symbols) uid(path uint32) promquery.Symbol {
	at := s.uids.slot(path)
	if *at == (promquery.Symbol{}) {
		if uid, ok := promquery.PodUID(s.text(path)); ok {
			*at = s.make(viewOf(uid[:]))
		}
	}
	return *at
}

// seriesID is the SeriesID of a number's text, 0 for "".
func (s *symbols) seriesID(n uint32) uint64 {
	if n == 0 {
		return 0
	}
	at := s.series.slot(n)
	if *at == 0 {
		*at = timeline.SeriesID(s.text(n))
	}
	return *at
}

// make makes the symbol of a text.
func (s *symbols) make(text string) promquery.Symbol {
	s.bytes += symbolBytes + int64(len(text))
	return s.table.Of(text)
}
