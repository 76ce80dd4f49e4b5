package democluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

const (
	// recent is the least of the history that Open writes before it returns.
	recent = 6 * time.Hour
	// reloadInterval is how soon the TSDB sees a block that was written beside it.
	reloadInterval = time.Second
	// commitLength bounds how much time one transaction of the head spans.
	commitLength = 10 * time.Minute
)

// DB is an embedded Prometheus TSDB that holds a demo cluster's samples. It is a storage.Queryable and a storage.ChunkQueryable.
type DB struct {
	cluster *Cluster
	tsdb    *tsdb.DB
	live    bool
	now     func() time.Time

	mu       sync.Mutex
	progress Progress
	appended time.Time // end of the data in the database
}

// Progress says how much of the history is in a DB.
type Progress struct {
	// Written and Total count blocks; they are written from the newest to the oldest.
	Written, Total int
	// Ready says that all blocks are written and queries see them.
	Ready bool
}

// DBOptions are the optional parts of a DB.
type DBOptions struct {
	// Live lets Run go on appending samples after the cluster's end, up to the clock's time.
	Live bool
	// Recent is how much of the history Open writes before it returns, if that is more than 6 hours.
	Recent time.Duration
	// Now is the clock of a live DB. Default time.Now.
	Now func() time.Time
	// Logger receives what the TSDB logs. Default: nothing is logged.
	Logger *slog.Logger
}

// Open writes the newest of the cluster's history, 6 hours or more, as blocks into dir, which must be empty or not exist yet, and opens
// a TSDB there. It returns as soon as these can be queried; Run does the rest.
func Open(ctx context.Context, dir string, c *Cluster, opts DBOptions) (*DB, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := checkEmpty(dir); err != nil {
		return nil, err
	}
	blocks := c.Blocks(c.Start(), c.End())
	db := &DB{cluster: c, appended: c.End(), progress: Progress{Total: len(blocks)}, live: opts.Live, now: c.End}
	if opts.Live {
		db.now = opts.Now
	}
	since := c.End().Add(-max(recent, opts.Recent))
	for _, b := range blocks {
		if b.To.After(since) {
			db.progress.Written++
		}
	}
	if err := c.WriteBlocks(ctx, dir, blocks[db.progress.Written-1].From, c.End(), nil); err != nil {
		return nil, err
	}
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0 // keep everything
	options.WALSegmentSize = -1   // the samples can be made again
	options.BlockReloadInterval = reloadInterval
	var err error
	if db.tsdb, err = tsdb.Open(dir, opts.Logger, nil, options, nil); err != nil {
		return nil, fmt.Errorf("open demo database %s: %w", dir, err)
	}
	return db, nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create demo database: %w", err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("open demo database: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("open demo database %s: it is not empty (found %s); choose an empty directory or remove this one", dir, entries[0].Name())
	}
	return nil
}

// Run writes the older blocks and, in a live DB, appends what is new twice every scrape interval, until ctx is done,
// which is no error. A DB that is not live is done when all is written. Call it once.
func (db *DB) Run(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	backfilled := make(chan error, 1)
	var writing sync.WaitGroup
	writing.Go(func() { backfilled <- db.backfill(inner) })
	err := db.follow(inner, backfilled)
	cancel()
	writing.Wait() // nothing is written after Run
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follow appends new samples until ctx is done or backfilling failed, whose result comes through backfilled.
func (db *DB) follow(ctx context.Context, backfilled <-chan error) error {
	ticker := time.NewTicker(db.cluster.cfg.ScrapeInterval / 2)
	defer ticker.Stop()
	for {
		if err := db.CatchUp(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-backfilled:
			if err != nil || !db.live {
				return err
			}
			backfilled = nil // never received from again
		case <-ticker.C:
		}
	}
}

// CatchUp appends the samples between what is in and the clock's time.
func (db *DB) CatchUp(ctx context.Context) error {
	now := db.now().Truncate(time.Millisecond)
	db.mu.Lock()
	from := db.appended
	db.mu.Unlock()
	for from.Before(now) {
		to := from.Add(commitLength)
		if to.After(now) {
			to = now
		}
		app := db.tsdb.Appender(ctx)
		if err := db.cluster.Append(ctx, app, from, to); err != nil {
			return errors.Join(err, app.Rollback())
		}
		if err := app.Commit(); err != nil {
			return fmt.Errorf("append demo samples: %w", err)
		}
		from = to
		db.mu.Lock()
		db.appended = to
		db.mu.Unlock()
	}
	return nil
}

// backfill writes the older blocks and waits until queries see them all.
func (db *DB) backfill(ctx context.Context) error {
	dir := db.tsdb.Dir()
	written := map[ulid.ULID]bool{}
	for i, b := range db.cluster.Blocks(db.cluster.Start(), db.cluster.End()) {
		if i >= db.Progress().Written {
			if err := db.cluster.WriteBlock(ctx, dir, b.From, b.To); err != nil {
				return err
			}
			db.mu.Lock()
			db.progress.Written = i + 1
			db.mu.Unlock()
		}
		id := db.cluster.blockID(span{b.From.UnixMilli(), b.To.UnixMilli()})
		if _, err := os.Stat(blockPath(dir, id)); err == nil { // else there was nothing to write
			written[id] = true
		}
	}
	for !db.sees(written) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reloadInterval / 10):
		}
	}
	db.mu.Lock()
	db.progress.Ready = true
	db.mu.Unlock()
	return nil
}

func (db *DB) sees(blocks map[ulid.ULID]bool) bool {
	seen := 0
	for _, m := range db.tsdb.BlockMetas() {
		if blocks[m.ULID] {
			seen++
		}
	}
	return seen == len(blocks)
}

// Progress returns how much of the history is in.
func (db *DB) Progress() Progress {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.progress
}

// Querier returns a querier over [mint, maxt], both inclusive, in unix milliseconds.
func (db *DB) Querier(mint, maxt int64) (storage.Querier, error) { return db.tsdb.Querier(mint, maxt) }

// ChunkQuerier returns a chunk querier over [mint, maxt], both inclusive, in unix milliseconds.
func (db *DB) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	return db.tsdb.ChunkQuerier(mint, maxt)
}

// Close closes the TSDB; its files stay. Run must have returned.
func (db *DB) Close() error { return db.tsdb.Close() }
