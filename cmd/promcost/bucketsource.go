package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-kit/log"

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
	o.Source = promquery.Join(o.bucket, o.server, (&bucketCover{blocks: o.bucket, server: o.server, timeout: f.timeout}).get)
	return nil
}

// boundsTimeout bounds the wait for a list of blocks where only their times are needed.
const boundsTimeout = time.Minute

// coverFor is how long it is not asked again since when a server has samples.
const coverFor = 10 * time.Minute

// bucketCover says which time blocks in an object store are read for where a server is asked, too.
type bucketCover struct {
	blocks  *bucket.Source
	server  serverSource
	timeout time.Duration

	mu    sync.Mutex
	asked time.Time
	cover promquery.Cover
}

// get is the Cover. Blocks are read for the time before the server's samples, and for the older half of that which both have: a server drops its
// oldest samples, and a bucket gets the newest ones late. Series of blocks are without the labels that the server does not show, either.
func (c *bucketCover) get() (promquery.Cover, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && time.Since(c.asked) < coverFor {
		return c.cover, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	oldest, newest, err := c.blocks.Settled(ctx)
	if err != nil {
		return promquery.Cover{}, err
	}
	begin, err := c.server.DataBegin(ctx, promquery.Evident(), time.UnixMilli(oldest).UTC(), time.Now())
	if err != nil {
		return promquery.Cover{}, fmt.Errorf("find since when the server has samples: %w", err)
	}
	external, err := c.server.ExternalLabels(ctx)
	if err != nil {
		return promquery.Cover{}, err
	}
	cut := begin.UnixMilli()
	if both := newest - cut; both > 0 {
		cut = time.UnixMilli(newest - both/2).Truncate(time.Hour).UnixMilli()
	}
	c.cover, c.asked = promquery.Cover{Until: cut, Rest: c.blocks.Without(external)}, time.Now()
	return c.cover, nil
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
