// Package bucket is a promquery.Source over TSDB blocks in an object store, as Thanos, Mimir and Cortex keep them: no server is asked. Of each
// block it reads the parts of the index and of the chunk files that a question needs, by ranges, those that are close to each other at once.
//
// Blocks of one series that overlap in time, as those of ingesters do, are merged as Prometheus merges them. Blocks that are marked for
// deletion, or that a compacted one replaces, are left out. What cannot be read is a loss of the answer, so that hours which lack it are
// incomplete. A store that does not answer is an error.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation/attempts"
	"github.com/promcost/promcost/promquery"
)

// Name is the name of the source in readings, and the value of --source.
const Name = "bucket"

// The defaults of Config.
const (
	DefaultParallel   = 8
	DefaultRefresh    = 5 * time.Minute
	DefaultCacheBytes = 64 << 20
)

// Config says which blocks to read. Bucket is required.
type Config struct {
	// Bucket is the object store. Source does not close it.
	Bucket objstore.Bucket
	// Tenant is the directory that has the blocks, as Mimir and Cortex have one a tenant; "" is the root, as with Thanos.
	Tenant string
	// ReplicaLabels distinguish replicas of one Prometheus. Keys leave them out, so that replicas are series of one key.
	ReplicaLabels []string
	// Requests say how long a request to the store may take, and how often it is repeated. Listing the bucket may take five times as long.
	Requests attempts.Options
	// Parallel is how many reads there are at a time; 0 is DefaultParallel.
	Parallel int
	// Refresh is how long the list of blocks is not looked at again; 0 is DefaultRefresh.
	Refresh time.Duration
	// CacheBytes bounds the memory for parts of indexes that are kept for later reads; 0 is DefaultCacheBytes.
	CacheBytes int64
}

// Source reads blocks. It is safe for concurrent use.
type Source struct {
	cfg   Config
	slots chan struct{} // of reads

	listing chan struct{} // has room for who lists the bucket, which guards what follows
	known   map[ulid.ULID]*block
	listed  time.Time
	view    *view

	outdated atomic.Bool // an object of the view is gone

	indexes cache
}

// New returns a Source. It sends nothing yet.
func New(cfg Config) *Source {
	cfg.Requests = cfg.Requests.WithDefaults()
	cfg.Parallel = cmp.Or(max(cfg.Parallel, 0), DefaultParallel)
	cfg.Refresh = cmp.Or(max(cfg.Refresh, 0), DefaultRefresh)
	return &Source{
		cfg: cfg, slots: make(chan struct{}, cfg.Parallel), listing: make(chan struct{}, 1), known: map[ulid.ULID]*block{},
		indexes: cache{most: cmp.Or(max(cfg.CacheBytes, 0), DefaultCacheBytes)},
	}
}

// Close closes the bucket.
func (s *Source) Close() error { return s.cfg.Bucket.Close() }

// Name implements promquery.Named.
func (*Source) Name(context.Context) string { return Name }

// ExternalLabels returns none: series have those that the metadata of their blocks name.
func (*Source) ExternalLabels(context.Context) (map[string]string, error) {
	return map[string]string{}, nil
}

// DataBegin returns when blocks begin within [from, to), rounded down to whole hours after from; to if there are none. Blocks are not asked
// which metrics they have.
func (s *Source) DataBegin(ctx context.Context, _ []string, from, to time.Time) (time.Time, error) {
	v, err := s.blocks(ctx)
	if err != nil {
		return time.Time{}, err
	}
	begin := to
	for _, b := range v.blocks {
		if b.meta.MaxTime > from.UnixMilli() && b.meta.MinTime < begin.UnixMilli() {
			begin = time.UnixMilli(max(b.meta.MinTime, from.UnixMilli()))
		}
	}
	if begin.Before(to) {
		begin = from.Add(begin.Sub(from).Truncate(time.Hour))
	}
	return begin, nil
}

// settleTime is how long after its end the last of the blocks of a time may be uploaded, of several servers that each upload their own.
const settleTime = 4 * time.Hour

// Settled returns the half-open range of Unix milliseconds from the oldest block's start to where the newest one ends, or to before blocks that may
// still be uploaded. It is empty if there are no blocks.
func (s *Source) Settled(ctx context.Context) (oldest, newest int64, err error) {
	v, err := s.blocks(ctx)
	if err != nil || len(v.blocks) == 0 {
		return 0, 0, err
	}
	oldest = v.blocks[0].meta.MinTime
	for _, b := range v.blocks {
		newest = max(newest, b.meta.MaxTime)
	}
	return oldest, max(oldest, min(newest, time.Now().Add(-settleTime).UnixMilli())), nil
}

// Gaps returns the times within [from, to), in Unix milliseconds, that no block is of.
func (s *Source) Gaps(ctx context.Context, from, to int64) (gaps []promquery.Gap, err error) {
	v, err := s.blocks(ctx)
	if err != nil || from >= to {
		return nil, err
	}
	for _, x := range v.uncovered(from, to, func(*block) bool { return true }) {
		gaps = append(gaps, promquery.Gap{From: x.From, To: x.To})
	}
	return gaps, nil
}

// Select implements promquery.Source. Requests counts reads of the bucket.
func (s *Source) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return s.selectWithout(ctx, nil, rs, stats)
}

func (s *Source) selectWithout(ctx context.Context, external map[string]string, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		r, err := s.newReader(ctx, external, rs, yield)
		if err != nil || len(rs) == 0 {
			return promquery.Stats{}, err
		}
		defer r.release()
		err = r.read(ctx)
		r.account()
		return r.stats, err
	})
}

// without is a Source whose series lack labels.
type without struct {
	*Source
	external map[string]string
}

// Without returns a source of the same blocks that treats labels as absent from series which carry them with these values: those of a server that is
// read beside the blocks, and does not show its external labels.
func (s *Source) Without(external map[string]string) promquery.Source { return &without{s, external} }

// Select implements promquery.Source.
func (w *without) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return w.selectWithout(ctx, w.external, rs, stats)
}

// cache keeps what was read of indexes, the latest last, while it has room.
type cache struct {
	most int64

	mu   sync.Mutex
	held int64
	list []*index
}

// get returns what is kept of a block's index, nil if nothing is.
func (c *cache) get(b *block) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.list, func(x *index) bool { return x.block == b })
	if i < 0 {
		return nil
	}
	x := c.list[i]
	c.list = append(slices.Delete(c.list, i, i+1), x)
	return x
}

// put keeps an index, and drops those that were used the longest ago where there is no room.
func (c *cache) put(x *index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.bytes > c.most || slices.ContainsFunc(c.list, func(o *index) bool { return o.block == x.block }) {
		return
	}
	for c.list, c.held = append(c.list, x), c.held+x.bytes; c.held > c.most; c.list = slices.Delete(c.list, 0, 1) {
		c.held -= c.list[0].bytes
	}
}

// errBroken is the cause of objects that do not hold what their format says.
var errBroken = errors.New("malformed data")
