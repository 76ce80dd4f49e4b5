package blocks

import (
	"context"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// SelectPlain is Select through Prometheus' own readers.
func (db *DB) SelectPlain(ctx context.Context, sels []promquery.Selector, yield chunks.Yield) (promquery.Stats, error) {
	return chunks.New(db, chunks.Options{}).Select(ctx, sels, yield)
}

// ReadEntry walks what an index entry holds, as a read does, and returns how much it found.
func ReadEntry(content []byte) (labels, chunks int, err error) {
	count, next, err := labelCount(content)
	if err != nil {
		return 0, 0, err
	}
	for range count {
		if _, _, next, err = pair(content, next); err != nil {
			return labels, 0, err
		}
		labels++
	}
	err = eachChunk(content[next:], func(chunkMeta) { chunks++ })
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
		count, next, err := labelCount(content)
		if err != nil {
			return err
		}
		for range count {
			if _, _, next, err = pair(content, next); err != nil {
				return err
			}
		}
		var first error
		err = eachChunk(content[next:], func(m chunkMeta) {
			if _, err := f.segments.chunk(m.ref); err != nil && first == nil {
				first = err
			}
		})
		if err != nil || first != nil {
			return err
		}
	}
	return nil
}
