package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/attempts"
	objects "github.com/promcost/promcost/cmd/promcost/internal/bucket"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/remote"
)

// sourceBucket is the value of --source for blocks in an object store.
const sourceBucket = bucket.Name

// bucketFlags name blocks in an object store.
type bucketFlags struct {
	config string
	tenant string
}

func (f *bucketFlags) add(g flagGroup) {
	g.Flag("blocks.config", "YAML file with an object store that has TSDB blocks, as Thanos, Mimir and Cortex upload them: type (S3, GCS, AZURE, FILESYSTEM), config, prefix. Blocks are read from there, without asking a server. With --prometheus.url, that is read for the time that it has itself, and the blocks for what was before.").
		PlaceHolder("FILE").StringVar(&f.config)
	g.Flag("blocks.tenant", "Tenant whose blocks to read, for stores of Mimir and Cortex, which have a directory for each: anonymous, where there are no tenants. Empty is the root, as Thanos has it.").
		PlaceHolder("TENANT").StringVar(&f.tenant)
}

// validateBucket checks the flags where --blocks.config names a source. done says that nothing else is to be checked.
func (f *sourceFlags) validateBucket(cost *costFlags) (done bool, err error) {
	switch {
	case f.bucket.config == "" && f.kind == sourceBucket:
		return false, usageErrorf("--source=bucket has no blocks to read: give --blocks.config=FILE of an object store")
	case f.bucket.config == "" && f.bucket.tenant != "":
		return false, usageErrorf("--blocks.tenant=%s has no effect without --blocks.config: give that, or leave it out", f.bucket.tenant)
	case f.bucket.config == "":
		return false, nil
	case f.kind != sourceBucket && f.kind != sourceAuto:
		return false, usageErrorf("--source=%s does not read --blocks.config: leave one of them out", f.kind)
	case f.tsdbPath != "" || len(f.thanosStores) > 0:
		return false, usageErrorf("--blocks.config is not joined with --tsdb.path or --thanos.store: leave one of them out")
	case f.prometheus.url != "" && f.kind == sourceBucket:
		return false, usageErrorf("--source=bucket reads --blocks.config, not --prometheus.url: leave one of them out, or --source to join both")
	case f.prometheus.url != "":
		return false, nil
	}
	f.kind = sourceBucket
	if name := firstGiven(f.serverFlags()); name != "" {
		return true, usageErrorf("--%s has no effect on --blocks.config, which no server is asked for: leave it out", name)
	}
	return true, f.checkReplicas(cost)
}

// openBucket opens blocks in an object store.
func (f *sourceFlags) openBucket() (*bucket.Source, error) {
	store, err := objects.Open("--blocks.config", f.bucket.config, log.NewNopLogger())
	if err != nil {
		return nil, err
	}
	return bucket.New(bucket.Config{Bucket: store, Tenant: f.bucket.tenant, ReplicaLabels: f.replicas, Requests: attempts.Options{Timeout: f.timeout}}), nil
}

// openBucketAlone opens blocks in an object store as the only source.
func openBucketAlone(f *sourceFlags) (serverSource, error) {
	src, err := f.openBucket()
	if err != nil {
		return nil, err
	}
	return src, nil
}

// joinBucket joins blocks in an object store with the server that is asked, if both are given.
func (f *sourceFlags) joinBucket(o *opened) (err error) {
	if alone, ok := o.server.(*bucket.Source); ok {
		o.bucket = alone
		return nil
	}
	if f.bucket.config == "" {
		return nil
	}
	if o.bucket, err = f.openBucket(); err != nil {
		return err
	}
	o.Source = promquery.Join(o.bucket, o.server, newBucketCover(o.bucket, o.server, f.timeout).get)
	return nil
}

// boundsTimeout bounds the wait for a list of blocks where only their times are needed.
const boundsTimeout = time.Minute

// lastEnd is the last known end of blocks in an object store. The zero value knows none.
type lastEnd struct {
	mu    sync.Mutex
	end   int64
	err   error     // why it is not known
	again time.Time // when to ask again after an error
}

// of asks for the end, in Unix milliseconds. If the bucket does not answer, it is the last one. For a while it is not asked again then.
func (l *lastEnd) of(blocks blockStore) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().After(l.again) {
		ctx, cancel := context.WithTimeout(context.Background(), boundsTimeout)
		defer cancel()
		_, end, err := blocks.Settled(ctx)
		switch {
		case err == nil && end > 0:
			l.end = end
			return end, nil
		case err == nil:
			err = errors.New("no block in the bucket of --blocks.config can be read: see Thanos' or Mimir's log for uploads")
		}
		l.err, l.again = err, time.Now().Add(retryFor)
	}
	if l.end > 0 {
		return l.end, nil
	}
	return 0, l.err
}

// beginBeside is when the data of a server begin, or those of the blocks beside it. If one of both does not answer, that is not known, and there may
// be some from w's start on.
func (o *opened) beginBeside(ctx context.Context, w allocation.Window) (time.Time, error) {
	begin, err := o.server.DataBegin(ctx, promquery.Evident(), w.Start, w.End)
	if err == nil && begin.After(w.Start) {
		var first time.Time
		if first, err = o.bucket.DataBegin(ctx, promquery.Evident(), w.Start, begin); errors.Is(err, bucket.ErrNoBlocks) {
			return begin, nil
		}
		begin = first
	}
	switch {
	case ctx.Err() != nil:
		return time.Time{}, ctx.Err()
	case err != nil:
		return w.Start, nil
	}
	return begin, nil
}

// coverFor is how long it is not asked again since when a server has samples, and retryFor how long if that failed.
const (
	coverFor = 10 * time.Minute
	retryFor = time.Minute
)

// serverReach is how far back it is asked since when a server has samples, if the bucket does not say since when it matters.
const serverReach = 3 * 365 * 24 * time.Hour

// leastMargin is how long the oldest samples of a server are read from blocks at least, because it may drop them meanwhile.
const leastMargin = 3 * time.Hour

// blockStore is blocks in an object store.
type blockStore interface {
	Settled(ctx context.Context) (oldest, newest int64, err error)
	Gaps(ctx context.Context, from, to int64) ([]promquery.Gap, error)
	Without(external map[string]string) promquery.Source
}

// bucketCover says which time blocks in an object store are read for where a server is asked, too.
type bucketCover struct {
	blocks  blockStore
	server  serverSource
	timeout time.Duration

	asking chan struct{} // has room for who asks, which guards what follows
	until  time.Time     // when to ask again
	cover  promquery.Cover
	known  bool // cover was found with both
}

func newBucketCover(blocks blockStore, server serverSource, timeout time.Duration) *bucketCover {
	return &bucketCover{blocks: blocks, server: server, timeout: timeout, asking: make(chan struct{}, 1)}
}

// get is the Cover. If the bucket or the server does not answer, it is the last one, or what the other has.
func (c *bucketCover) get(ctx context.Context) (promquery.Cover, error) {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return promquery.Cover{}, ctx.Err()
	}
	if time.Now().Before(c.until) {
		return c.cover, nil
	}
	cover, err := c.find(ctx)
	switch {
	case ctx.Err() != nil:
		return promquery.Cover{}, ctx.Err()
	case err == nil:
		c.cover, c.known, c.until = cover, true, time.Now().Add(coverFor)
		return cover, nil
	case !c.known && cover.Rest == nil: // neither answers
		return promquery.Cover{}, err
	case !c.known:
		c.cover = cover
	}
	c.until = time.Now().Add(retryFor)
	return c.cover, nil
}

// find asks both. With an error, the cover is what one of them allows; its Rest is nil if neither answers.
func (c *bucketCover) find(ctx context.Context) (promquery.Cover, error) {
	within, cancel := context.WithTimeout(ctx, c.timeout/2)
	defer cancel()
	oldest, newest, err := c.blocks.Settled(within)
	if errors.Is(err, bucket.ErrNoBlocks) || err == nil && newest == 0 {
		return promquery.Cover{Rest: c.blocks.Without(nil)}, nil
	}
	from := time.UnixMilli(oldest).UTC()
	if err != nil {
		from = time.Now().Add(-serverReach).UTC().Truncate(time.Hour)
	}
	begin, external, serr := c.askServer(ctx, from)
	switch {
	case err != nil && serr != nil:
		return promquery.Cover{}, errors.Join(err, serr)
	case err != nil:
		return promquery.Cover{Until: begin, Rest: lostBucket{begin, err}}, err
	case serr != nil:
		return promquery.Cover{Until: newest, Rest: c.blocks.Without(nil)}, serr
	}
	return c.divide(ctx, oldest, newest, begin, external)
}

// askServer asks since when the server has samples from a time on, and which labels it does not show.
func (c *bucketCover) askServer(ctx context.Context, from time.Time) (begin int64, external map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout/2)
	defer cancel()
	at, err := c.server.DataBegin(ctx, promquery.Evident(), from, time.Now())
	if err != nil {
		return 0, nil, fmt.Errorf("find since when the server has samples: %w", err)
	}
	external, err = c.server.ExternalLabels(ctx)
	return at.UnixMilli(), external, err
}

// divide lets blocks be read for the time before the server's samples, and a little longer: a Prometheus drops whole blocks of its own, of up to a
// tenth of what it keeps. What the bucket lacks of that time, and what was before it where the server has that, is read from the server.
func (c *bucketCover) divide(ctx context.Context, oldest, newest, begin int64, external map[string]string) (promquery.Cover, error) {
	cut := begin
	if both := newest - begin; both > 0 {
		cut += min(both, max(leastMargin.Milliseconds(), both/10))
	}
	gaps, err := c.blocks.Gaps(ctx, begin, cut)
	if begin <= oldest {
		gaps = append(gaps, promquery.Gap{From: promquery.Ever, To: oldest})
	}
	return promquery.Cover{Until: cut, Gaps: gaps, Rest: c.blocks.Without(external)}, err
}

// lostBucket is in place of blocks that cannot be read for the time before until.
type lostBucket struct {
	until int64
	err   error
}

// Select implements promquery.Source. What nobody waits for fails, because it can be computed later with all samples.
func (l lostBucket) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return func(yield func(promquery.Series, error) bool) {
		if promquery.IsBackground(ctx) {
			yield(promquery.Series{}, l.err)
			return
		}
		from := l.until
		for _, r := range rs {
			from = min(from, r.Start)
		}
		stats.Lose(promquery.Loss{
			Of: "the blocks of --blocks.config", From: from, To: l.until,
			Cause: fmt.Sprintf("what was before %s is missing, where the server's samples begin: %v", time.UnixMilli(l.until).UTC().Format(time.RFC3339), l.err),
		})
	}
}

// serverFlags are the flags that say how to ask a Prometheus, except for those that other sources take, too.
func (f *sourceFlags) serverFlags() []givenFlag {
	return append([]givenFlag{
		{"prometheus.http-config", f.httpConfig != ""},
		{"prometheus.external-labels", f.external != nil},
		{"prometheus.compression", f.compression != string(remote.CompressionAuto)},
		{"query.max-concurrency", f.concurrencyGiven},
	}, f.queryFlags()...)
}
