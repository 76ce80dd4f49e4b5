package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// leafWriter collects the values of a leaf column, and their levels unless it is required. The values are those of a dictionary if
// encoding is format.RLEDictionary, with idx as the indices of the rows.
type leafWriter struct {
	encoding               format.Encoding
	repetition, definition []byte
	idx                    []int32
	table                  texts
	words                  []int64 // of 8 bytes: instants, or the bits of numbers
	bools                  []bool
	fixed                  []byte // UUIDs, one after another

	dictionary []int64 // scratch of words
	texts      map[string]int32
	numbers    map[int64]int32
	uuids      map[[uuidBytes]byte]int32
}

// reset empties the writer, for a leaf of a kind, and keeps its memory. Strings have a dictionary unless fillTexts decides otherwise.
func (w *leafWriter) reset(kind format.Type) {
	w.encoding = format.Plain
	if kind == format.ByteArray {
		w.encoding = format.RLEDictionary
	}
	w.repetition, w.definition, w.idx = w.repetition[:0], w.definition[:0], w.idx[:0]
	w.table, w.words, w.bools, w.fixed = texts{w.table.data[:0], w.table.ends[:0]}, w.words[:0], w.bools[:0], w.fixed[:0]
	if w.texts == nil {
		w.texts, w.numbers, w.uuids = map[string]int32{}, map[int64]int32{}, map[[uuidBytes]byte]int32{}
	}
	clear(w.texts)
	clear(w.numbers)
	clear(w.uuids)
}

// level adds the levels of a value of a repeated leaf, or of a row without one.
func (w *leafWriter) level(repetition, definition byte) {
	w.repetition, w.definition = append(w.repetition, repetition), append(w.definition, definition)
}

// addText adds a string by its index into the dictionary.
func (w *leafWriter) addText(text string) {
	if n := len(w.idx); n > 0 && string(w.table.at(w.idx[n-1])) == text { // as in sorted rows
		w.idx = append(w.idx, w.idx[n-1])
		return
	}
	i, ok := w.texts[text]
	if !ok {
		i = int32(len(w.table.ends))
		w.table.data = append(w.table.data, text...)
		w.table.ends = append(w.table.ends, int32(len(w.table.data)))
		w.texts[text] = i
	}
	w.idx = append(w.idx, i)
}

// The shares of distinct values among the rows up to which a dictionary is worthwhile, and the least number of them.
const (
	fewValues   = 0.25
	fewUUIDs    = 0.75
	leastValues = 16
)

// sparseValues is the share of distinct values among the rows above which sparse values are mostly distinct.
const sparseValues = 0.02

// share is how many of n values are a share of them.
func share(of float64, n int) int { return max(leastValues, int(of*float64(n))) }

// fillTexts adds a string for each of n rows: with a dictionary if there are few distinct ones.
func (w *leafWriter) fillTexts(n int, text func(row int) string) {
	for row := range n {
		if w.addText(text(row)); len(w.table.ends) <= share(fewValues, n) {
			continue
		}
		w.encoding, w.idx, w.table = format.DeltaByteArray, w.idx[:0], texts{w.table.data[:0], w.table.ends[:0]}
		for row := range n {
			w.table.data = append(w.table.data, text(row)...)
			w.table.ends = append(w.table.ends, int32(len(w.table.data)))
		}
		return
	}
}

// fillNumbers adds a number for each of n rows: with a dictionary if there are few distinct ones, else split into planes of bytes,
// because the high bytes of similar numbers compress well. If most are 0 and the others are whole and mostly distinct, they compress
// better than indices into a dictionary. With nulls, NaN is null.
func (w *leafWriter) fillNumbers(n int, value func(row int) float64, nulls bool) {
	zeros, whole := 0, true
	for row := range n {
		v := value(row)
		whole = whole && v == math.Trunc(v)
		if nulls {
			known := v == v
			w.definition = append(w.definition, levelOf(known))
			if !known {
				continue
			}
		}
		if math.Float64bits(v) == 0 {
			zeros++
		}
		w.addNumber(v)
	}
	most := share(fewValues, n)
	if len(w.words) < n {
		most-- // null is a value, too
	}
	switch ok := w.index(most); {
	case ok && whole && zeros > n*4/5 && len(w.dictionary) > share(sparseValues, n): // sparse
	case ok:
		w.encode()
	default:
		w.encoding = format.ByteStreamSplit
	}
}

// fillTimes adds an instant for each of n rows.
func (w *leafWriter) fillTimes(n int, millis func(row int) int64) {
	for row := range n {
		w.words = append(w.words, millis(row))
	}
	if w.encoding = format.DeltaBinaryPacked; w.index(share(fewValues, n)) {
		w.encode()
	}
}

// levelOf is the definition level of a value that is there or is not.
func levelOf(ok bool) byte {
	if ok {
		return 1
	}
	return 0
}

// index finds the distinct words and the index of each word, and reports whether there are at most so many.
func (w *leafWriter) index(most int) bool {
	w.dictionary, w.idx = w.dictionary[:0], slices.Grow(w.idx[:0], len(w.words))
	for k, v := range w.words {
		if k > 0 && v == w.words[k-1] {
			w.idx = append(w.idx, w.idx[k-1])
			continue
		}
		i, ok := w.numbers[v]
		if !ok {
			if i = int32(len(w.dictionary)); int(i) == most {
				return false
			}
			w.dictionary, w.numbers[v] = append(w.dictionary, v), i
		}
		w.idx = append(w.idx, i)
	}
	return true
}

// encode replaces words by their dictionary.
func (w *leafWriter) encode() {
	w.encoding, w.words, w.dictionary = format.RLEDictionary, w.dictionary, w.words
}

// fillUUIDs adds a UUID for each of n rows, or null for another text: with a dictionary if there are few distinct ones, else as they
// are. BYTE_STREAM_SPLIT would save a twentieth, but DuckDB cannot read it.
func (w *leafWriter) fillUUIDs(n int, text func(row int) string) {
	most := share(fewUUIDs, n)
	others := map[string]struct{}{}
	few := true
	for row := range n {
		t := text(row)
		id, ok := uuidOf(t)
		w.definition = append(w.definition, levelOf(ok))
		if !ok {
			others[t] = struct{}{}
			continue
		}
		if few {
			i, known := w.uuids[id]
			if !known {
				i = int32(len(w.uuids))
				w.uuids[id] = i
			}
			w.idx, few = append(w.idx, i), len(w.uuids)+len(others) <= most
		}
		w.fixed = append(w.fixed, id[:]...)
	}
	if !few || len(w.uuids)+len(others) > most {
		return
	}
	w.encoding = format.RLEDictionary
	distinct := w.fixed[:0]
	for k, i := range w.idx {
		if int(i) == len(distinct)/uuidBytes {
			distinct = append(distinct, w.fixed[k*uuidBytes:(k+1)*uuidBytes]...)
		}
	}
	w.fixed = distinct
}

// values is how many values there are, without nulls.
func (w *leafWriter) values() int {
	if w.encoding == format.RLEDictionary {
		return len(w.idx)
	}
	return w.distinct()
}

// distinct is how many values there are in the dictionary, or if there is none, how many there are.
func (w *leafWriter) distinct() int {
	return max(len(w.table.ends), len(w.words), len(w.bools), len(w.fixed)/uuidBytes)
}

// appendPlain appends the values [from, to), or those of the dictionary, as they are.
func (w *leafWriter) appendPlain(dst []byte, from, to int) []byte {
	switch {
	case len(w.table.ends) > 0:
		for i := from; i < to; i++ {
			text := w.table.at(int32(i))
			dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
		}
	case len(w.words) > 0:
		for _, v := range w.words[from:to] {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	case len(w.bools) > 0:
		for i, v := range w.bools[from:to] {
			if i%8 == 0 {
				dst = append(dst, 0)
			}
			dst[len(dst)-1] |= levelOf(v) << (i % 8)
		}
	default:
		dst = append(dst, w.fixed[from*uuidBytes:to*uuidBytes]...)
	}
	return dst
}

// statistics are the smallest value and the largest one, and the number of nulls.
func (w *leafWriter) statistics() (s format.Statistics) {
	s.NullCount = int64(bytes.Count(w.definition, []byte{0}))
	n := w.distinct()
	if n == 0 {
		return s
	}
	least, most := 0, 0
	for i := range n {
		if w.compare(i, least) < 0 {
			least = i
		}
		if w.compare(i, most) > 0 {
			most = i
		}
	}
	s.MinValue, s.MaxValue = w.value(least), w.value(most)
	return s
}

// compare compares two values, or two of the dictionary.
func (w *leafWriter) compare(i, k int) int {
	switch {
	case len(w.words) > 0:
		return cmp.Compare(w.words[i], w.words[k])
	case len(w.bools) > 0:
		return cmp.Compare(levelOf(w.bools[i]), levelOf(w.bools[k]))
	}
	return bytes.Compare(w.view(i), w.view(k))
}

// view is a string or UUID.
func (w *leafWriter) view(i int) []byte {
	if len(w.table.ends) > 0 {
		return w.table.at(int32(i))
	}
	return w.fixed[i*uuidBytes : (i+1)*uuidBytes]
}

// value is a value as statistics have it.
func (w *leafWriter) value(i int) []byte {
	if len(w.table.ends) > 0 {
		return append([]byte{}, w.view(i)...) // not nil, which would be none
	}
	return w.appendPlain(nil, i, i+1)
}
