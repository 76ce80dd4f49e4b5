package bucket

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/chunks"
)

// batchBytes is how many bytes of chunks are held at a time, and as many are read meanwhile.
const batchBytes = 16 << 20

// chunkBytes is what a chunk takes in memory beside its data.
const chunkBytes = 128

// answer is a series that answers a request, with its chunks once these are read.
type answer struct {
	request int
	series
	chunks []chunks.Encoded // those of one block after the other
	ends   []int            // where those of each block end
	bytes  int64            // an estimate
}

// batch is some answers, whose chunks are read at once: those of small metrics are close to each other.
type batch struct {
	answers []answer
	bytes   int64
}

// batches divides the series that answer each request into batches. It lets go of what was found, which is by block and request.
func (r *reader) batches(found [][][]part) iter.Seq[*batch] {
	return func(yield func(*batch) bool) {
		b := &batch{}
		for i := range r.asked {
			var parts []part
			for _, of := range found {
				parts = append(parts, of[i]...)
				of[i] = nil
			}
			for _, x := range gather(parts) {
				a := answer{request: i, series: x}
				for _, p := range x.parts {
					for k := range p.places {
						a.bytes += p.places[k].size + chunkBytes
					}
				}
				b.bytes += a.bytes
				if b.answers = append(b.answers, a); b.bytes < batchBytes {
					continue
				}
				if !yield(b) {
					return
				}
				b = &batch{}
			}
		}
		yield(b)
	}
}

// hand hands over the series that answer each request. While those of a batch are decoded, the next one is read.
func (r *reader) hand(ctx context.Context, found [][][]part) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan *batch)
	var group errgroup.Group
	group.Go(func() error {
		defer close(ready)
		for b := range r.batches(found) {
			if err := r.fetch(within, b); err != nil {
				return err
			}
			select {
			case ready <- b:
			case <-within.Done():
				return within.Err()
			}
		}
		return nil
	})
	skipped := make([]chunks.Skipped, len(r.asked))
	var err error
	for b := range ready {
		if err = r.decode(within, b, skipped); err != nil {
			cancel()
			break
		}
		r.free(b.bytes)
	}
	if ferr := group.Wait(); err == nil {
		err = ferr
	}
	for i := range skipped {
		r.stats.Warnings = append(r.stats.Warnings, skipped[i].Warnings(r.asked[i].Metric)...)
	}
	return err
}

// decode decodes the series of a batch and passes them on.
func (r *reader) decode(ctx context.Context, b *batch, skipped []chunks.Skipped) error {
	for k := range b.answers {
		if err := ctx.Err(); err != nil {
			return err
		}
		a := &b.answers[k]
		q := &r.asked[a.request]
		if len(a.ends) > 1 {
			a.chunks = chunks.Merge(a.chunks, a.ends)
		}
		r.keys.Begin(q.Request)
		a.labels.Range(func(l labels.Label) {
			if !slices.Contains(r.src.cfg.ReplicaLabels, l.Name) {
				r.keys.Label(l.Name, l.Value)
			}
		})
		samples, err := r.dec.Hand(q.number, r.keys.Key(), r.keys.Series(), a.chunks, q.Start, q.End, skipped[a.request].Add, r.yield)
		r.stats.Count(samples)
		if err != nil {
			return err
		}
	}
	return nil
}

// wanted is a chunk that is to be read.
type wanted struct {
	block *block
	place *place
	of    *answer
	at    int // where it goes
}

// fetch reads the chunks of a batch.
func (r *reader) fetch(ctx context.Context, b *batch) error {
	if err := r.draw(b.bytes); err != nil {
		return err
	}
	files := map[string][]wanted{}
	for k := range b.answers {
		a, n := &b.answers[k], 0
		r.weight[r.asked[a.request].number] += a.bytes
		for _, p := range a.parts {
			for at := range p.places {
				name := p.block.segmentName(p.places[at].segment())
				files[name] = append(files[name], wanted{p.block, &p.places[at], a, n})
				n++
			}
			a.ends = append(a.ends, n)
		}
		a.chunks = make([]chunks.Encoded, n)
	}
	group, within := errgroup.WithContext(ctx)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		group.Go(func() error { return r.fetchFile(within, name, files[name]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for k := range b.answers {
		b.answers[k].dropUnread()
	}
	return nil
}

// fetchFile reads chunks of a file. Those that cannot be read are lost.
func (r *reader) fetchFile(ctx context.Context, name string, list []wanted) error {
	slices.SortFunc(list, func(a, b wanted) int { return cmp.Compare(a.place.ref, b.place.ref) })
	spans := make([]span, len(list))
	for k, w := range list {
		spans[k] = span{w.place.at(), w.place.at() + w.place.size}
	}
	read, err := r.src.records(ctx, &r.meter, name, spans, blocks.ChunkSize)
	if err != nil && !isLoss(err) {
		return err
	}
	for k, w := range list {
		lost := err
		if lost == nil {
			lost = w.decode(read[k])
		}
		if lost != nil {
			r.lose(w.block, w.place.mint, w.place.maxt+1, []string{r.asked[w.of.request].Metric}, fmt.Errorf("%s: %w", name, lost))
		}
	}
	return nil
}

// decode reads the chunk from its record.
func (w *wanted) decode(record []byte) error {
	enc, data, err := blocks.DecodeChunk(record)
	if err == nil {
		err = chunks.CheckStart(enc, data, w.place.mint)
	}
	if err != nil {
		return fmt.Errorf("chunk at %d: %w", w.place.at(), err)
	}
	w.of.chunks[w.at] = chunks.Encoded{Encoding: enc, Data: data, MinTime: w.place.mint, MaxTime: w.place.maxt, Padded: true}
	return nil
}

// dropUnread leaves out chunks that could not be read.
func (a *answer) dropUnread() {
	kept, from := a.chunks[:0], 0
	for i, end := range a.ends {
		for _, c := range a.chunks[from:end] {
			if c.Data != nil {
				kept = append(kept, c)
			}
		}
		from, a.ends[i] = end, len(kept)
	}
	a.chunks = kept
}

// segmentName is the name of the object with the block's n-th chunk file.
func (b *block) segmentName(n int) string { return fmt.Sprintf("%schunks/%06d", b.dir, n+1) }
