package democluster

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

const (
	// blockLength is that of the blocks Prometheus cuts from its head.
	blockLength = 2 * time.Hour
	// chunkSamples is how many samples Prometheus puts into a chunk.
	chunkSamples = 120
)

// Block is a stretch of time, half-open, that WriteBlock writes.
type Block struct{ From, To time.Time }

// Blocks cuts [from, to) at the even hours of UTC, the newest first.
func (*Cluster) Blocks(from, to time.Time) []Block {
	var out []Block
	for to.After(from) {
		cut := to.Truncate(blockLength)
		if !cut.Before(to) {
			cut = cut.Add(-blockLength)
		}
		if cut.Before(from) {
			cut = from
		}
		out = append(out, Block{cut, to})
		to = cut
	}
	return out
}

// WriteBlocks writes the samples in [from, to) as blocks into dir, the newest first and several at a time, and calls progress, if not
// nil, after each, but never twice at the same time. The blocks that stand when it fails are whole.
func (c *Cluster) WriteBlocks(ctx context.Context, dir string, from, to time.Time, progress func(done, total int)) error {
	const most = 4 // each takes some 50 MB
	var (
		blocks  = c.Blocks(from, to)
		writers sync.WaitGroup

		mu         sync.Mutex // guards what follows
		next, done int
		failed     error
	)
	for range min(most, runtime.GOMAXPROCS(0)) {
		writers.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for failed == nil && next < len(blocks) {
				b := blocks[next]
				next++
				mu.Unlock()
				err := c.WriteBlock(ctx, dir, b.From, b.To)
				mu.Lock()
				switch done++; {
				case err != nil:
					failed = cmp.Or(failed, err)
				case progress != nil:
					progress(done, len(blocks))
				}
			}
		})
	}
	writers.Wait()
	return failed
}

// WriteBlock writes the samples in [from, to), in whole milliseconds, as one immutable TSDB block into dir. The block appears
// there once it is whole. The configuration and the bounds determine its id; if a block with that id exists, it is not written
// again. Without samples there is no block.
func (c *Cluster) WriteBlock(ctx context.Context, dir string, from, to time.Time) error {
	w := span{from.UnixMilli(), to.UnixMilli()}
	if w.from >= w.to {
		return fmt.Errorf("write demo block: it ends at %s, not after its start %s", to.Format(time.RFC3339), from.Format(time.RFC3339))
	}
	id := c.blockID(w)
	path := blockPath(dir, id)
	if _, err := os.Stat(filepath.Join(path, "meta.json")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.extend(w.to + minuteMillis)
	c.mu.RLock()
	list := c.collect(w)
	c.mu.RUnlock()
	if len(list) == 0 {
		return nil
	}
	temporary := path + ".tmp-for-creation" // the name the TSDB sweeps up when it opens
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("write demo block %s: %w", path, err)
	}
	err := writeBlock(ctx, temporary, tsdb.BlockMeta{
		ULID: id, MinTime: w.from, MaxTime: w.to, Version: 1,
		Compaction: tsdb.BlockMetaCompaction{Level: 1, Sources: []ulid.ULID{id}},
	}, list)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return fmt.Errorf("write demo block %s: %w", path, errors.Join(err, os.RemoveAll(temporary)))
	}
	return nil
}

func blockPath(dir string, id ulid.ULID) string { return filepath.Join(dir, id.String()) }

// blockID derives the id of a block from all that decides about its content.
func (c *Cluster) blockID(w span) ulid.ULID {
	key := keyOf(c.key, fmt.Sprint(c.cfg.Nodes, c.cfg.Pods, c.start, c.end, c.cfg.ScrapeInterval, c.cfg.Changes.Unix(), w.from, w.to))
	var id ulid.ULID
	binary.BigEndian.PutUint64(id[8:], mix(key+1))
	binary.BigEndian.PutUint16(id[6:], uint16(key))
	t := uint64(w.to)
	for i := range 6 {
		id[5-i] = byte(t >> (8 * i))
	}
	return id
}

func writeBlock(ctx context.Context, dir string, meta tsdb.BlockMeta, list []series) (err error) {
	chunkWriter, err := chunks.NewWriter(filepath.Join(dir, "chunks"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chunkWriter.Close()) }()
	indexWriter, err := index.NewWriter(ctx, filepath.Join(dir, "index"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, indexWriter.Close()) }()

	for _, symbol := range symbols(list) {
		if err := indexWriter.AddSymbol(symbol); err != nil {
			return err
		}
	}
	build := chunkBuilder{templates: map[int64]template120{}, from: meta.MinTime}
	for i := range list {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		build.reset()
		if err := list[i].emit(&build); err != nil {
			return err
		}
		if err := chunkWriter.WriteChunks(build.chunks...); err != nil {
			return err
		}
		if err := indexWriter.AddSeries(storage.SeriesRef(i), list[i].labels, build.chunks...); err != nil {
			return err
		}
		meta.Stats.NumChunks += uint64(len(build.chunks))
		meta.Stats.NumSamples += build.samples
	}
	meta.Stats.NumSeries = uint64(len(list))
	meta.Stats.NumFloatSamples = meta.Stats.NumSamples
	text, err := json.MarshalIndent(meta, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "meta.json"), text, 0o644)
}

func symbols(list []series) []string {
	set := map[string]struct{}{}
	for i := range list {
		list[i].labels.Range(func(l labels.Label) {
			set[l.Name] = struct{}{}
			set[l.Value] = struct{}{}
		})
	}
	return slices.Sorted(maps.Keys(set))
}

// chunkBuilder is a sink that cuts the samples of one series into chunks. Its chunks are valid until reset.
type chunkBuilder struct {
	chunks  []chunks.Meta
	pooled  []*chunkenc.XORChunk // of earlier series, reused
	open    chunkenc.Appender    // of the last chunk
	left    int                  // samples that still go into the last chunk
	samples uint64

	from      int64 // start of the block
	templates map[int64]template120
}

// template120 is the encoding of a full chunk of equal values at regular times, and the offset of the value in it. Most chunks of
// a cluster are like that, and copying one is a hundred times faster than encoding it.
type template120 struct {
	bytes    []byte
	value    int
	min, max int64
}

func (b *chunkBuilder) reset() {
	for _, m := range b.chunks {
		b.pooled = append(b.pooled, m.Chunk.(*chunkenc.XORChunk))
	}
	b.chunks, b.left, b.samples = b.chunks[:0], 0, 0
}

// start begins a new chunk with the given encoding so far.
func (b *chunkBuilder) start(content []byte, minTime, maxTime int64) *chunkenc.XORChunk {
	var chunk *chunkenc.XORChunk
	if n := len(b.pooled); n > 0 {
		chunk, b.pooled = b.pooled[n-1], b.pooled[:n-1]
		chunk.Reset(append(chunk.Bytes()[:0], content...))
	} else {
		chunk = chunkenc.NewXORChunk()
		chunk.Reset(append(chunk.Bytes()[:0], content...))
	}
	b.chunks = append(b.chunks, chunks.Meta{Chunk: chunk, MinTime: minTime, MaxTime: maxTime})
	return chunk
}

func (b *chunkBuilder) add(t int64, v float64) error {
	if b.left == 0 {
		var err error
		if b.open, err = b.start([]byte{0, 0}, t, t).Appender(); err != nil {
			return err
		}
		b.left = chunkSamples
	}
	b.open.Append(0, t, v)
	b.chunks[len(b.chunks)-1].MaxTime = t
	b.left--
	b.samples++
	return nil
}

func (b *chunkBuilder) same(g *target, from, to int64, v float64) error {
	for from < to {
		// Only chunks that many series share are worth a template.
		if b.left == 0 && to-from >= chunkSamples && (from-g.first(b.from))%chunkSamples == 0 {
			t, err := b.template(g, from)
			if err != nil {
				return err
			}
			chunk := b.start(t.bytes, t.min, t.max)
			binary.BigEndian.PutUint64(chunk.Bytes()[t.value:], math.Float64bits(v))
			b.samples += chunkSamples
			from += chunkSamples
			continue
		}
		if err := b.add(g.scrapeTime(from), v); err != nil {
			return err
		}
		from++
	}
	return nil
}

func (b *chunkBuilder) template(g *target, from int64) (template120, error) {
	minTime, maxTime := g.scrapeTime(from), g.scrapeTime(from+chunkSamples-1)
	if t, ok := b.templates[minTime]; ok {
		return t, nil
	}
	chunk := chunkenc.NewXORChunk()
	app, err := chunk.Appender()
	if err != nil {
		return template120{}, err
	}
	for k := from; k < from+chunkSamples; k++ {
		app.Append(0, g.scrapeTime(k), 0)
	}
	// An XOR chunk is: the number of samples in two bytes, the first time as a varint, the first value in eight bytes, …
	t := template120{bytes: chunk.Bytes(), value: 2 + len(binary.AppendVarint(nil, minTime)), min: minTime, max: maxTime}
	b.templates[minTime] = t
	return t, nil
}
