// Package blocks reads the TSDB blocks of a Prometheus from its directory, as a promquery.Source. It never writes: the
// directory may belong to a running Prometheus that compacts and deletes blocks
// meanwhile. Only blocks are read, not the write-ahead log: the newest two to three hours of a running server are not in
// them. A block that cannot be read is left out with a warning and the others answer.
package blocks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/promcost/promcost/promquery"
)

// remedy ends the errors about a wrong directory.
const remedy = `give the directory that Prometheus has as --storage.tsdb.path, or write one with "promcost demo --write=DIR"`

// Info describes a block. Times are Unix milliseconds, the range half-open.
type Info struct {
	ID               string
	MinTime, MaxTime int64
	Series, Samples  uint64
}

// DB is a directory of blocks. It looks for new and vanished blocks at each read and keeps the present ones open between
// reads. It is safe for concurrent use.
type DB struct {
	dir    string
	beside bool // a server beside it has what no block has

	mu     sync.Mutex
	known  map[ulid.ULID]*block
	closed bool
}

// block is a block directory. DB.mu guards its fields. A snapshot that holds the block reads its id, dir and meta, and what acquire has
// opened, without the lock: these do not change until the block is released.
type block struct {
	id      ulid.ULID
	dir     string
	meta    tsdb.BlockMeta
	files   *files              // nil until first needed, and if our own reader cannot read the block
	deleted tombstones.Interval // of all samples that were deleted: it begins after it ends if none were
	library bool                // our own reader cannot read the block
	b       *tsdb.Block         // by Prometheus' reader, nil until first needed
	texts   []string            // the symbols of b, ascending; they are views that last as long as b
	refs    int                 // reads going on
	gone    bool                // no longer in the directory: closed with the last read
	lost    bool                // it could not be opened
	damaged []promquery.Gap     // when samples of it could not be read

	tombstones fileState     // the one file of a block that changes
	found      []fs.FileInfo // all others, as they were when the block was found
}

// fileState identifies a version of a file. The zero fileState is a missing file.
type fileState struct {
	size     int64
	modified time.Time
}

func tombstonesOf(dir string) fileState {
	info, err := os.Stat(filepath.Join(dir, "tombstones"))
	if err != nil {
		return fileState{}
	}
	return fileState{info.Size(), info.ModTime()}
}

// filesOf are a block's files. Those of a sound block never change, except for tombstones.
func filesOf(dir string) (files []fs.FileInfo) {
	segments, _ := filepath.Glob(filepath.Join(dir, "chunks", "*")) // its pattern is sound
	for _, name := range append(segments, filepath.Join(dir, "index"), filepath.Join(dir, "meta.json")) {
		if info, err := os.Stat(name); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// current reports whether what is known of the block still holds. Samples of it may have been deleted, or a damaged block restored
// from a copy.
func (b *block) current() bool {
	same := func(x, y fs.FileInfo) bool {
		return os.SameFile(x, y) && x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
	}
	return b.tombstones == tombstonesOf(b.dir) && (len(b.damaged) == 0 || slices.EqualFunc(b.found, filesOf(b.dir), same))
}

// overlaps reports whether the block can have samples in [mint, maxt].
func (b *block) overlaps(mint, maxt int64) bool {
	return b.meta.MinTime <= maxt && mint < b.meta.MaxTime
}

// Open returns the blocks in dir. A directory that is missing, is a file or holds no blocks is an error.
func Open(dir string) (*DB, error) { return open(&DB{dir: dir, known: map[ulid.ULID]*block{}}) }

// OpenBeside is Open for the directory of a server that is asked, too: that of a new Prometheus, which has no blocks yet, is no error.
func OpenBeside(dir string) (*DB, error) {
	return open(&DB{dir: dir, beside: true, known: map[ulid.ULID]*block{}})
}

func open(db *DB) (*DB, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if _, err := db.scan(); err != nil {
		return nil, err
	}
	return db, nil
}

// Close closes all blocks; those being read, when their reading ends. Reads after it fail.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = true
	var errs []error
	for _, b := range db.sorted() {
		errs = append(errs, db.forget(b))
	}
	return errors.Join(errs...)
}

// Blocks returns the readable blocks, oldest first.
func (db *DB) Blocks() ([]Info, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if _, err := db.scan(); err != nil {
		return nil, err
	}
	var infos []Info
	for _, b := range db.sorted() {
		infos = append(infos, Info{b.id.String(), b.meta.MinTime, b.meta.MaxTime, b.meta.Stats.NumSeries, b.meta.Stats.NumSamples})
	}
	return infos, nil
}

// Bounds returns the half-open range of Unix milliseconds from the oldest block's start to the newest one's end.
func (db *DB) Bounds() (oldest, newest int64, err error) {
	infos, err := db.Blocks()
	if err != nil || len(infos) == 0 {
		return 0, 0, err
	}
	oldest, newest = infos[0].MinTime, infos[0].MaxTime
	for _, i := range infos {
		newest = max(newest, i.MaxTime)
	}
	return oldest, newest, nil
}

// Select implements promquery.Source over the blocks present when it begins. Requests counts the blocks read.
func (db *DB) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return (&Session{db: db}).Select(ctx, rs, stats)
}

// Name implements promquery.Named.
func (*DB) Name(context.Context) string { return "blocks" }

// scan brings db.known up to date with the directory and returns warnings about blocks that are none. db.mu is held.
func (db *DB) scan() ([]string, error) {
	if db.closed {
		return nil, fmt.Errorf("read TSDB directory %q: already closed", db.dir)
	}
	entries, err := os.ReadDir(db.dir)
	if err != nil {
		return nil, db.dirError(err)
	}
	var warnings []string
	present := map[ulid.ULID]bool{}
	blocks := 0
	for _, e := range entries {
		id, err := ulid.ParseStrict(e.Name())
		dir := filepath.Join(db.dir, e.Name())
		if err != nil || !isDir(dir) {
			continue
		}
		if blocks++; db.known[id] != nil && db.known[id].current() {
			present[id] = true
			continue
		}
		meta, err := readMeta(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !isDir(dir):
			blocks-- // deleted since it was listed
		case err != nil:
			warnings = append(warnings, unreadable(id, err))
		default:
			if old := db.known[id]; old != nil { // it is opened anew
				warnings = db.drop(old, warnings)
			}
			db.known[id] = &block{id: id, dir: dir, meta: meta, tombstones: tombstonesOf(dir), found: filesOf(dir)}
			present[id] = true
		}
	}
	for _, b := range db.sorted() {
		if !present[b.id] {
			warnings = db.drop(b, warnings)
		}
	}
	if blocks == 0 && (!db.beside || !isNew(entries)) {
		return nil, fmt.Errorf("read TSDB directory %q: it holds no blocks (directories such as 01K2…/ with a meta.json); %s; a new Prometheus writes its first block after two to three hours", db.dir, remedy)
	}
	return warnings, nil
}

// isNew reports whether these are the entries of a directory that a Prometheus has just begun to write to, or is about to.
func isNew(entries []os.DirEntry) bool {
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "wal" && e.IsDir() })
}

// dirError words why the directory cannot be listed.
func (db *DB) dirError(err error) error {
	if info, serr := os.Stat(db.dir); serr == nil && !info.IsDir() {
		return fmt.Errorf("read TSDB directory %q: it is a file; %s", db.dir, remedy)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read TSDB directory %q: it does not exist; %s: %w", db.dir, remedy, err)
	}
	return fmt.Errorf("read TSDB directory %q: check its permissions, or %s: %w", db.dir, remedy, err)
}

// drop forgets a block, and appends a warning if closing it fails. db.mu is held.
func (db *DB) drop(b *block, warnings []string) []string {
	if err := db.forget(b); err != nil {
		warnings = append(warnings, fmt.Sprintf("close block %s: %v", b.id, err))
	}
	return warnings
}

// forget drops a block and closes it unless it is being read. db.mu is held.
func (db *DB) forget(b *block) error {
	delete(db.known, b.id)
	b.gone = true
	if b.refs == 0 {
		return b.close()
	}
	return nil
}

// sorted returns the known blocks by start, then id. db.mu is held.
func (db *DB) sorted() []*block {
	bs := make([]*block, 0, len(db.known))
	for _, b := range db.known {
		bs = append(bs, b)
	}
	slices.SortFunc(bs, func(x, y *block) int {
		if x.meta.MinTime != y.meta.MinTime {
			if x.meta.MinTime < y.meta.MinTime {
				return -1
			}
			return 1
		}
		return x.id.Compare(y.id)
	})
	return bs
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readMeta reads what meta.json says of the block in dir.
func readMeta(dir string) (tsdb.BlockMeta, error) {
	var meta tsdb.BlockMeta
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return meta, fmt.Errorf("read meta.json: %w", err)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return meta, fmt.Errorf("parse meta.json: %w", err)
	}
	switch {
	case meta.Version != 1:
		return meta, fmt.Errorf("parse meta.json: version %d, want 1", meta.Version)
	case meta.MinTime >= meta.MaxTime:
		return meta, fmt.Errorf("parse meta.json: empty time range [%d, %d)", meta.MinTime, meta.MaxTime)
	}
	return meta, nil
}

// unreadable words the warning about a block that is left out as a whole.
func unreadable(id ulid.ULID, err error) string {
	return fmt.Sprintf("block %s skipped: %v; its hours are missing from the answer unless another block has them: restore the block or remove its directory", id, oneLine(err))
}

// oneLine joins the lines of an error whose cause is several errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
