package blocks

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/promcost/promcost/promquery"
)

// snapshot is the blocks of one read. They stay open until it is released.
type snapshot struct {
	db       *DB
	blocks   []*block
	nameless []string // warnings about directories that are no blocks
	files    []*files // by block; nil where Prometheus' reader reads the block
	overlap  bool     // of blocks, in time
	damaged  bool     // something could not be read
	losses   []promquery.Loss
}

// acquire opens the blocks that can have samples in [mint, maxt] and holds them. Blocks that vanish between listing and opening were
// compacted into others: the directory is listed once more then.
func (db *DB) acquire(mint, maxt int64) (*snapshot, error) {
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
				debug.SetPanicOnFault(true)
				if errs[i] = b.openFiles(mint, maxt); errs[i] == nil {
					b.touch(mint, maxt)
				}
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
		end := int64(math.MinInt64)
		for _, b := range snap.blocks {
			b.refs++
			snap.files = append(snap.files, b.ownFiles(mint, maxt))
			snap.overlap, end = snap.overlap || b.meta.MinTime < end, max(end, b.meta.MaxTime)
		}
		return snap, nil
	}
}

// openFiles maps the files of the block for our own reader. Where that cannot read [mint, maxt], it opens the block for Prometheus' reader.
func (b *block) openFiles(mint, maxt int64) (err error) {
	if b.files == nil && !b.library {
		if b.deleted, err = deletedOf(b.dir); err == nil {
			b.files, err = mapFiles(b.dir)
		}
		b.library = err != nil
	}
	if b.ownFiles(mint, maxt) != nil {
		return nil
	}
	return b.open()
}

// ownFiles are the files of an opened block, nil if our own reader cannot read [mint, maxt] of it.
func (b *block) ownFiles(mint, maxt int64) *files {
	if d := b.deleted; b.library || d.Mint <= d.Maxt && d.Mint <= maxt && mint <= d.Maxt {
		return nil
	}
	return b.files
}

// deletedOf is the time of the samples of the block in dir that were deleted.
func deletedOf(dir string) (tombstones.Interval, error) {
	of := tombstones.Interval{Mint: math.MaxInt64, Maxt: math.MinInt64}
	r, _, err := tombstones.ReadTombstones(dir)
	if err != nil {
		return of, fmt.Errorf("read tombstones: %w", err)
	}
	err = r.Iter(func(_ storage.SeriesRef, list tombstones.Intervals) error {
		for _, i := range list {
			of.Mint, of.Maxt = min(of.Mint, i.Mint), max(of.Maxt, i.Maxt)
		}
		return nil
	})
	return of, errors.Join(err, r.Close())
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
	b.files, b.b, b.texts = nil, nil, nil
	return errors.Join(errs...)
}

// lose leaves out a block that cannot be opened. DB.mu is held.
func (s *snapshot) lose(b *block, err error) {
	b.lose()
	s.losses, s.damaged = append(s.losses, promquery.Loss{Of: fmt.Sprintf("block %s", b.id), From: b.meta.MinTime, To: b.meta.MaxTime, Cause: unreadable(b.id, err)}), true
}

// recordLoss records the data of a block that could not be read for a metric, if there is any.
func (s *snapshot) recordLoss(b *block, d *damage, metric string) (l promquery.Loss, ok bool) {
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

// touch reads a byte of each page of the symbols that a read of [mint, maxt] needs. Where a file was cut since it was mapped, or its disk
// fails, this panics before anything is read, so that the block can be left out. Later than that, a fault is found by what reads series and
// chunks.
func (b *block) touch(mint, maxt int64) {
	const page = 4 << 10
	sum := byte(0)
	if files := b.ownFiles(mint, maxt); files != nil {
		sum = files.index.touch(page)
	} else {
		for _, text := range b.texts {
			if text != "" {
				sum += text[0]
			}
		}
	}
	runtime.KeepAlive(sum) // so that the reads stay
}

// recovered turns a panic into *err: Prometheus' readers trust parts of damaged files. On goroutines that set debug.SetPanicOnFault it
// also turns the fault of reading a mapped file that was cut, or whose disk fails.
func recovered(err *error) {
	r := recover()
	if _, fault := r.(interface{ Addr() uintptr }); fault {
		*err = errFault
	} else if r != nil {
		*err = fmt.Errorf("malformed data: %v", r)
	}
}

// errFault is the cause of reads that the system refuses.
var errFault = errors.New("the system cannot read its file: it was cut while it was in use, or its disk fails")
