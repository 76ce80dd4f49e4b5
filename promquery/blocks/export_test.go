package blocks

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"

	"github.com/promcost/promcost/promquery"
)

// UseLibrary has Prometheus' reader read each n-th block of those that are there; none if n is 0.
func (db *DB) UseLibrary(n int) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for i, b := range db.sorted() {
		b.library = n > 0 && i%n == 0
	}
}

// ByLibrary are the blocks that Prometheus' reader has read, oldest first.
func (db *DB) ByLibrary() (ids []string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, b := range db.sorted() {
		if b.b != nil {
			ids = append(ids, b.id.String())
		}
	}
	return ids
}

// ReadEntry walks what an index entry holds, as a read does, and returns how much it found.
func ReadEntry(content []byte) (labels, chunks int, err error) {
	rest, err := eachLabel(content, func(_, _ uint64) bool { labels++; return true })
	if err != nil {
		return labels, 0, err
	}
	err = eachChunk(rest, func(chunkMeta) bool { chunks++; return true })
	return labels, chunks, err
}

// ReadFiles opens the files of a block directory and reads every series and chunk of a metric.
func ReadFiles(dir, metric string) error {
	f, err := mapFiles(dir)
	if err != nil {
		return err
	}
	defer f.close()
	refs, err := f.index.postings(metric)
	if err != nil {
		return err
	}
	for ; len(refs) >= 4; refs = refs[4:] {
		content, _, err := f.index.entry(uint32(refs[0])<<24 | uint32(refs[1])<<16 | uint32(refs[2])<<8 | uint32(refs[3]))
		if err != nil {
			return err
		}
		rest, err := eachLabel(content, func(_, _ uint64) bool { return true })
		if err != nil {
			return err
		}
		var first error
		err = eachChunk(rest, func(m chunkMeta) bool {
			if _, _, err := f.segments.chunk(m.ref); err != nil && first == nil {
				first = err
			}
			return true
		})
		if err != nil || first != nil {
			return err
		}
	}
	return nil
}

// Numbers are the strings of the blocks below dir by number, and the numbers that each block's symbols have.
func (db *DB) Numbers() (texts []string, of []map[string]uint32, err error) {
	snap, err := db.acquire(math.MinInt64, math.MaxInt64)
	if err != nil {
		return nil, nil, err
	}
	s := newSymbols(snap, promquery.SymbolsOf(context.Background()))
	for n := range s.places {
		texts = append(texts, strings.Clone(s.text(uint32(n))))
	}
	for _, v := range s.views {
		numbers := map[string]uint32{}
		for id, n := range v.numbers {
			numbers[strings.Clone(v.text(uint32(id)))] = n
		}
		of = append(of, numbers)
	}
	return texts, of, snap.release()
}

// ReadTable reads a postings table with a valid checksum, and returns the values of each label.
func ReadTable(table []byte) (map[string][]string, error) {
	data := binary.BigEndian.AppendUint32(nil, uint32(len(table)))
	data = binary.BigEndian.AppendUint32(append(data, table...), crc32.Checksum(table, castagnoli))
	x := &index{data: data, metrics: map[string]uint64{}, labels: map[string]valueTable{}}
	if err := x.readLabels(0); err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for label, values := range x.labels {
		values.each(func(value []byte, _ uint64) bool {
			out[label] = append(out[label], string(value))
			return true
		})
	}
	return out, nil
}

// Listed is listed.
func Listed(re string) []string { return listed(re) }
