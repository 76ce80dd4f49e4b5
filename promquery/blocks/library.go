package blocks

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/chunks"
)

// library walks the series of one block by Prometheus' own reader. That is slower than to read the index, and can do more: it leaves out
// deleted samples, and knows other versions of files.
type library struct {
	querier storage.ChunkQuerier // nil if nothing is walked
	set     storage.ChunkSeriesSet
	list    []chunks.Encoded // of the series at hand
	lost    damage           // series with chunks that cannot be read
}

// open opens the block for Prometheus' reader if it is not open yet.
func (b *block) open() (err error) {
	if b.b != nil {
		return nil
	}
	defer recovered(&err)
	opened, err := tsdb.OpenBlock(nil, b.dir, nil, nil)
	if err != nil {
		return err
	}
	if b.texts, err = textsOf(opened); err != nil {
		return errors.Join(err, opened.Close())
	}
	b.b = opened
	return nil
}

// textsOf are the symbols of a block.
func textsOf(b *tsdb.Block) (texts []string, err error) {
	index, err := b.Index()
	if err != nil {
		return nil, err
	}
	symbols := index.Symbols()
	for symbols.Next() {
		texts = append(texts, symbols.At())
	}
	return texts, errors.Join(symbols.Err(), index.Close())
}

// beginLibrary begins requests that are alike.
func (c *blockWalker) beginLibrary(ctx context.Context, q *query) error {
	matchers, err := chunks.Matchers(q.Request)
	if err != nil {
		return err
	}
	if c.querier, err = tsdb.NewBlockChunkQuerier(c.block.b, q.Start, q.End); err != nil {
		return err
	}
	hints := &storage.SelectHints{Start: q.Start, End: q.End, DisableTrimming: true} // samples are left out when they are decoded
	c.set = c.querier.Select(ctx, true, hints, matchers...)
	return nil
}

// nextOfLibrary goes on to the next series. It is false if there is none, or if it cannot be read.
func (c *blockWalker) nextOfLibrary() bool {
	if c.set == nil || c.err != nil {
		return false
	}
	if !c.set.Next() {
		c.err = c.set.Err()
		return false
	}
	series := c.set.At()
	c.labels = c.labels[:0]
	series.Labels().Range(func(l labels.Label) { c.labels = append(c.labels, c.pair(l)) })
	c.list = nil // the last one is kept where it was found
	if err := c.readList(series); err != nil {
		c.lost.add(err)
	}
	return true
}

// pair is a label of the block.
func (v *view) pair(l labels.Label) pair {
	name, _ := slices.BinarySearch(v.block.texts, l.Name)
	value, _ := slices.BinarySearch(v.block.texts, l.Value)
	return pair(v.numbers[name])<<32 | pair(v.numbers[value])
}

// readList reads the chunks of a series, up to the first one that cannot be read.
func (c *blockWalker) readList(series storage.ChunkSeries) (err error) {
	defer recovered(&err)
	it := series.Iterator(nil)
	for it.Next() {
		m := it.At()
		x := chunks.Encoded{Encoding: m.Chunk.Encoding(), Data: m.Chunk.Bytes(), MinTime: m.MinTime, MaxTime: m.MaxTime}
		if err := chunks.CheckStart(x.Encoding, x.Data, x.MinTime); err != nil {
			return err
		}
		c.list = append(c.list, x)
	}
	return it.Err()
}

// endLibrary ends what beginLibrary has begun: until then, the block cannot be closed.
func (c *blockWalker) endLibrary() {
	if c.querier != nil {
		_ = c.querier.Close() // it only lets go of the block
	}
	c.querier, c.set = nil, nil
}
