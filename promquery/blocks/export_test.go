package blocks

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// Slow returns a source over the same blocks that reads them by Prometheus' own readers.
func (db *DB) Slow() promquery.Source { return chunks.New(db, chunks.Options{}) }

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
	snap, err := db.acquire(math.MinInt64, math.MaxInt64, (*block).openFiles)
	if err != nil {
		return nil, nil, err
	}
	s := newSymbols(snap.blocks, promquery.SymbolsOf(context.Background()))
	for n := range s.places {
		texts = append(texts, strings.Clone(s.text(uint32(n))))
	}
	for _, v := range s.views {
		numbers := map[string]uint32{}
		for id, n := range v.numbers {
			text, err := v.index.text(uint32(id))
			if err != nil {
				return nil, nil, err
			}
			numbers[string(text)] = n
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
