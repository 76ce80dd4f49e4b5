package bucket

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// blocksAtOnce is how many blocks' indexes are read at a time.
const blocksAtOnce = 2

// requestsAtOnce is how many requests' series are looked for at a time. More take fewer reads, and more memory.
const requestsAtOnce = 16

// asked is a request, and its matchers as those of Prometheus, without that of the metric.
type asked struct {
	*promquery.Request
	number   int // its index in the Select
	matchers []*labels.Matcher
}

// reader is one Select.
type reader struct {
	src      *Source
	yield    promquery.Yield
	keys     *chunks.Keys
	dec      chunks.Decoder
	external map[string]string // labels that series are read without
	all      []asked
	asked    []asked // those of all that are being answered
	began    time.Time
	meter    meter   // of all reads
	weight   []int64 // by request: bytes that are read for it

	mu     sync.Mutex // guards what follows while blocks are read side by side
	stats  promquery.Stats
	from   *memory.Account
	held   int64
	labels map[uint64]labels.Labels // of series, by their hash
}

func (s *Source) newReader(ctx context.Context, external map[string]string, rs []promquery.Request, yield promquery.Yield) (*reader, error) {
	r := &reader{
		src: s, yield: yield, external: external, keys: chunks.NewKeys(external, chunks.NewSymbols(promquery.SymbolsOf(ctx))), began: time.Now(),
		weight: make([]int64, len(rs)), from: memory.FromContext(ctx),
	}
	for i := range rs {
		ms, err := chunks.Matchers(&rs[i])
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, asked{&rs[i], i, ms[1:]})
	}
	return r, nil
}

// draw draws memory, which release returns.
func (r *reader) draw(bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.from.Draw(bytes); err != nil {
		return err
	}
	r.held += bytes
	return nil
}

// free returns memory that was drawn.
func (r *reader) free(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from.Return(bytes)
	r.held -= bytes
}

// release returns all of it.
func (r *reader) release() { r.from.Return(r.held) }

// account counts the reads. They are for all requests, by what was read for each.
func (r *reader) account() {
	all := make([]int, len(r.all))
	for i := range all {
		all[i] = i
	}
	bytes := r.meter.bytes.Load()
	r.stats.Ask(promquery.Sent{Bytes: bytes, Of: promquery.NewPortions(bytes, all, r.weight)})
	r.stats.Spread(int(r.meter.reads.Load()), max(time.Since(r.began), 1))
}

// read answers the requests.
func (r *reader) read(ctx context.Context) error {
	v, err := r.src.blocks(ctx)
	if err != nil {
		return err
	}
	mint, maxt := r.all[0].Start, r.all[0].End
	for _, q := range r.all {
		mint, maxt = min(mint, q.Start), max(maxt, q.End)
	}
	for _, l := range v.losses {
		if l.From <= maxt && mint < l.To {
			r.stats.Lose(l)
		}
	}
	list := slices.DeleteFunc(slices.Clone(v.blocks), func(b *block) bool { return !b.overlaps(mint, maxt) })
	for r.asked = range slices.Chunk(r.all, requestsAtOnce) {
		if err := r.answer(ctx, list); err != nil {
			return err
		}
		r.free(r.held)
	}
	return nil
}

// answer answers those requests that are asked now.
func (r *reader) answer(ctx context.Context, list []*block) error {
	r.labels = map[uint64]labels.Labels{}
	found := make([][][]part, len(list)) // by block and request
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(blocksAtOnce)
	for i, b := range list {
		group.Go(func() (err error) {
			found[i], err = r.find(within, b)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	r.labels = nil
	return r.hand(ctx, found)
}
