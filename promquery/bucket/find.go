package bucket

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	tsdbchunks "github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/promcost/promcost/promquery"
)

// Bytes that a series and the place of a chunk take in memory, beside the text of labels.
const (
	partBytes  = 128
	placeBytes = 32
	entryBytes = 100 // of a series' entry in an index, about
)

// place is where a chunk is, and when its samples are.
type place struct {
	ref        uint64
	size       int64 // an estimate
	mint, maxt int64
}

// segment is the number of the chunk's file, and at where it is in it.
func (p *place) segment() int { return int(p.ref >> 32) }
func (p *place) at() int64    { return int64(p.ref & (1<<32 - 1)) }

// endAt notes that the chunk ends before another one.
func (p *place) endAt(ref uint64) {
	if ref > p.ref && ref-p.ref < mostChunk {
		p.size = int64(ref - p.ref)
	}
}

// part is a series in a block.
type part struct {
	block  *block
	labels labels.Labels
	places []place
}

// find finds the series of a block that answer requests, by request. A block whose index cannot be read is lost.
func (r *reader) find(ctx context.Context, b *block) (found [][]part, err error) {
	var metrics []string
	for _, q := range r.asked {
		if b.overlaps(q.Start, q.End) && !slices.Contains(metrics, q.Metric) {
			metrics = append(metrics, q.Metric)
		}
	}
	found = make([][]part, len(r.asked))
	if err = r.findMetrics(ctx, b, metrics, found); err != nil && isLoss(err) {
		r.lose(b, b.meta.MinTime, b.meta.MaxTime, metrics, err)
		return found, nil
	}
	return found, err
}

// lose records what cannot be read of a block.
func (r *reader) lose(b *block, from, to int64, metrics []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Damaged = true
	if errors.Is(err, fs.ErrNotExist) {
		r.src.outdated.Store(true)
	}
	r.stats.Lose(promquery.Loss{
		Of: b.named(), From: from, To: to, Metrics: slices.Sorted(slices.Values(metrics)), Cause: strings.ReplaceAll(err.Error(), "\n", "; "),
		Remedy: "restore the object, or remove " + b.dir + " from the bucket",
	})
}

// findMetrics finds the series of metrics.
func (r *reader) findMetrics(ctx context.Context, b *block, metrics []string, found [][]part) error {
	x, drawn, err := r.index(ctx, b)
	defer func() { r.free(drawn) }()
	if err != nil {
		return err
	}
	entries, err := r.src.refs(ctx, &r.meter, x, metrics)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for _, e := range entries {
		bytes += e.to - e.from
	}
	if err := r.draw(bytes); err != nil {
		return err
	}
	defer r.free(bytes)
	spans := make([]span, len(entries))
	for i := range entries {
		spans[i] = entries[i].span
	}
	read, err := r.src.records(ctx, &r.meter, b.dir+"index", spans, entrySize)
	if err != nil {
		return err
	}
	return r.choose(newDecoder(x), b, metrics, entries, read, found)
}

// choose decodes entries, and finds the requests that they answer.
func (r *reader) choose(d *decoder, b *block, metrics []string, entries []entry, read [][]byte, found [][]part) error {
	wanting := make([][]int, len(metrics)) // the requests of each metric
	for i, q := range r.asked {
		if k := slices.Index(metrics, q.Metric); k >= 0 && b.overlaps(q.Start, q.End) {
			wanting[k] = append(wanting[k], i)
		}
	}
	weights := make([]int64, len(r.asked))
	last := &place{} // the last chunk of the series before
	for k, e := range entries {
		lset, list, err := d.entry(read[k])
		if err != nil {
			return err
		}
		if len(list) > 0 {
			last.endAt(uint64(list[0].Ref))
		}
		lset = b.join(lset)
		for _, i := range wanting[e.metric] {
			weights[i] += entryBytes
			if !r.asked[i].matches(lset, r.external) {
				continue
			}
			p := part{b, lset, placesOf(list, r.asked[i].Start, r.asked[i].End)}
			if len(p.places) == 0 {
				continue
			}
			if err := r.keep(&p); err != nil {
				return err
			}
			found[i] = append(found[i], p)
			last = &p.places[len(p.places)-1]
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, n := range weights {
		r.weight[r.asked[i].number] += n
	}
	return nil
}

// keep draws the memory of a part. Parts of one series share their labels, which are most of it.
func (r *reader) keep(p *part) error {
	r.mu.Lock()
	hash := p.labels.Hash()
	shared, ok := r.labels[hash]
	switch {
	case !ok:
		r.labels[hash] = p.labels
	case labels.Equal(shared, p.labels):
		p.labels = shared
	}
	r.mu.Unlock()
	bytes := partBytes + int64(len(p.places))*placeBytes
	if !ok {
		bytes += int64(p.labels.ByteSize())
	}
	return r.draw(bytes)
}

// matches reports whether all matchers hold for a series without external labels.
func (q *asked) matches(lset labels.Labels, external map[string]string) bool {
	return !slices.ContainsFunc(q.matchers, func(m *labels.Matcher) bool {
		value := lset.Get(m.Name)
		if value == external[m.Name] {
			value = ""
		}
		return !m.Matches(value)
	})
}

// placesOf are the places of the chunks that may have samples in [start, end].
func placesOf(list []tsdbchunks.Meta, start, end int64) (places []place) {
	for k, c := range list {
		if c.MinTime > end || c.MaxTime < start {
			continue
		}
		p := place{uint64(c.Ref), mostChunk, c.MinTime, c.MaxTime}
		if k+1 < len(list) {
			p.endAt(uint64(list[k+1].Ref))
		}
		places = append(places, p)
	}
	return places
}

// join is the labels of a series with those that the block's metadata has, as Thanos joins them.
func (b *block) join(lset labels.Labels) labels.Labels {
	if len(b.external) == 0 {
		return lset
	}
	builder := labels.NewBuilder(lset)
	for _, l := range b.external {
		builder.Set(l.Name, l.Value)
	}
	return builder.Labels()
}

// series is a series with its parts in all blocks, those of the oldest block first.
type series struct {
	labels labels.Labels
	parts  []part
}

// gather joins the parts of each series, in the order in which series come first.
func gather(parts []part) (list []series) {
	at := make(map[uint64]int, len(parts))
	for _, p := range parts {
		hash := p.labels.Hash()
		i, ok := at[hash]
		for ok && !labels.Equal(list[i].labels, p.labels) { // another series has the same hash
			hash++
			i, ok = at[hash]
		}
		if !ok {
			i = len(list)
			at[hash] = i
			list = append(list, series{labels: p.labels})
		}
		list[i].parts = append(list[i].parts, p)
	}
	return list
}

// entry is where the entry of a series is in an index.
type entry struct {
	span
	metric int // the index of its metric
}

// inOrder sorts entries by where they are.
func inOrder(list []entry) {
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.from, b.from) })
}
