package blocks

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery"
)

// snapshot is the blocks of one read. They stay open until it is released.
type snapshot struct {
	db       *DB
	blocks   []*block
	nameless []string // warnings about directories that are no blocks
	damaged  bool     // something could not be read
	losses   []promquery.Loss
	notes    bool // losses are reported, instead of warnings of Prometheus' own readers
}

// acquire opens, by the given method, the blocks that can have samples in [mint, maxt] and holds them. Blocks that vanish between listing
// and opening were compacted into others: the directory is listed once more then.
func (db *DB) acquire(mint, maxt int64, open func(*block) error) (*snapshot, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for attempt := 0; ; attempt++ {
		warnings, err := db.scan()
		if err != nil {
			return nil, err
		}
		snap := &snapshot{db: db, nameless: warnings}
		vanished := false
		blocks := slices.DeleteFunc(db.sorted(), func(b *block) bool { return !b.overlaps(mint, maxt) })
		errs := make([]error, len(blocks))
		var opened sync.WaitGroup
		for i, b := range blocks {
			opened.Go(func() {
				defer recovered(&errs[i])
				errs[i] = open(b)
			})
		}
		opened.Wait()
		for i, b := range blocks {
			switch err := errs[i]; {
			case err == nil:
				snap.blocks = append(snap.blocks, b)
			case !isDir(b.dir) && attempt == 0:
				vanished = true
			default:
				snap.lose(b, err)
			}
		}
		if vanished {
			continue
		}
		snap.dropParents()
		for _, b := range snap.blocks {
			b.refs++
		}
		return snap, nil
	}
}

// openFiles maps the files of the block for our own reading. If that does not suit the block, it opens it for Prometheus' own
// readers.
func (b *block) openFiles() (err error) {
	if b.files != nil {
		return nil
	}
	if !b.foreign {
		if !hasTombstones(b.dir) {
			if b.files, err = mapFiles(b.dir); err == nil {
				return nil
			}
		}
		b.foreign = true // once: reads going on look at it
	}
	return b.open()
}

// open opens the block for Prometheus' own readers if it is not open yet.
func (b *block) open() (err error) {
	if b.b != nil {
		return nil
	}
	defer recovered(&err)
	b.b, err = tsdb.OpenBlock(nil, b.dir, nil, nil)
	return err
}

// close closes the files of the block.
func (b *block) close() error {
	var errs []error
	if b.files != nil {
		errs = append(errs, b.files.close())
	}
	if b.b != nil {
		errs = append(errs, b.b.Close())
	}
	b.files, b.b = nil, nil
	return errors.Join(errs...)
}

// open opens all blocks for Prometheus' own readers. It leaves out blocks that cannot be opened, with a warning.
func (s *snapshot) open() {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.blocks = slices.DeleteFunc(s.blocks, func(b *block) bool {
		err := b.open()
		if err != nil {
			s.lose(b, err)
			b.refs--
		}
		return err != nil
	})
}

// lose leaves out a block that cannot be opened. DB.mu is held.
func (s *snapshot) lose(b *block, err error) {
	b.lose()
	s.losses, s.damaged = append(s.losses, promquery.Loss{Of: fmt.Sprintf("block %s", b.id), From: b.meta.MinTime, To: b.meta.MaxTime, Cause: unreadable(b.id, err)}), true
}

// note records the data of a block that could not be read for a metric, if there is any.
func (s *snapshot) note(b *block, d *damage, metric string) (l promquery.Loss, ok bool) {
	if l, ok = d.loss(b, metric); !ok {
		return l, false
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	b.damage(l.From, l.To)
	s.losses, s.damaged = append(s.losses, l), true
	return l, true
}

// dropParents leaves out blocks that another one was compacted from: they await deletion and hold nothing else.
func (s *snapshot) dropParents() {
	parents := map[ulid.ULID]bool{}
	for _, b := range s.blocks {
		for _, p := range b.meta.Compaction.Parents {
			parents[p.ULID] = true
		}
	}
	s.blocks = slices.DeleteFunc(s.blocks, func(b *block) bool { return parents[b.id] })
}

// release lets go of the blocks; those gone meanwhile are closed.
func (s *snapshot) release() error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	var errs []error
	for _, b := range s.blocks {
		if b.refs--; b.refs == 0 && b.gone {
			errs = append(errs, b.close())
		}
	}
	s.blocks = nil
	return errors.Join(errs...)
}

// ChunkQuerier implements storage.ChunkQueryable. Series of several blocks are merged by Prometheus' own code, which
// also applies tombstones and joins overlapping chunks.
func (s *snapshot) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	var qs []storage.ChunkQuerier
	for _, b := range s.blocks {
		if !b.overlaps(mint, maxt) {
			continue
		}
		q, err := tsdb.NewBlockChunkQuerier(b.b, mint, maxt)
		if err != nil {
			for _, q := range qs {
				err = errors.Join(err, q.Close())
			}
			return nil, fmt.Errorf("read block %s: %w", b.id, err)
		}
		qs = append(qs, &tolerant{ChunkQuerier: q, snap: s, block: b})
	}
	return storage.NewMergeChunkQuerier(qs, nil, storage.NewCompactingChunkSeriesMerger(storage.ChainedSeriesMerge)), nil
}

// releasing is a querier that owns its snapshot.
type releasing struct {
	storage.ChunkQuerier
	snap *snapshot
}

// Close implements storage.ChunkQuerier.
func (r *releasing) Close() error { return errors.Join(r.ChunkQuerier.Close(), r.snap.release()) }

// recovered turns a panic into *err: Prometheus' readers trust parts of damaged files.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("malformed data: %v", r)
	}
}
