package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/cmd/promcost/internal/bucket"
	"github.com/promcost/promcost/collector"
)

// storageFlags say where the history is stored, and for how long.
type storageFlags struct {
	path      string
	config    string
	retention time.Duration
	backfill  time.Duration
	shard     allocation.Shard
}

// addStorageFlags adds the flags of a history that the program keeps up to date.
func addStorageFlags(clause *kingpin.CmdClause) *storageFlags {
	f := addStoragePlaceFlags(clause)
	durationOf(clause, "storage.retention", "How long hours and days are kept; 0 for ever.", &f.retention, 0).Default("0s")
	durationOf(clause, "history.backfill", "How far back closed hours that the history lacks are computed, newest first; at least to the beginning of the month, which counters need, and not beyond --storage.retention.", &f.backfill, 0).
		Default(recorder.DefaultBackfill.String())
	return f
}

// addShardFlag adds the flag that says which share is computed.
func addShardFlag(clause *kingpin.CmdClause, f *storageFlags) {
	addFlag(clause, "shard", "Compute only the i-th share of n, such as 2/3: the costs of the nodes that are given to it by a hash. Each share reads pods, services and volumes of the whole cluster, and usage of its own nodes only: it takes less memory, and little less time. Others compute the others into the same history; a promcost with --source=none, or without --shard, reads all of them.", func(text string) error {
		index, of, ok := strings.Cut(text, "/")
		i, err := strconv.Atoi(index)
		n, errOf := strconv.Atoi(of)
		if !ok || err != nil || errOf != nil || n < 1 || i < 1 || i > n || n > maxShards {
			return fmt.Errorf("give i/n such as 2/3, where i is 1 to n and n at most %d", maxShards)
		}
		f.shard = allocation.Shard{Index: i, Of: n}
		return nil
	}).PlaceHolder("I/N")
}

// maxShards bounds the shares of a computation.
const maxShards = 1000

// addStoragePlaceFlags adds the flags for the place of a history.
func addStoragePlaceFlags(clause *kingpin.CmdClause) *storageFlags {
	f := &storageFlags{}
	clause.Flag("storage.path", "Directory that the history of closed hours and days is kept in. It is made if it is not there. If it has a history and is on a read-only file system, it is read, nothing is stored, and hours that it lacks are computed for each question. Empty keeps none: every answer is computed, and there are no counters.").
		Default("data").PlaceHolder("DIR").StringVar(&f.path)
	clause.Flag("storage.config", "YAML file with an object store to keep the history in, in place of --storage.path, as Thanos has it: type (S3, GCS, AZURE, FILESYSTEM), config, prefix.").
		PlaceHolder("FILE").StringVar(&f.config)
	return f
}

// open opens the history. A directory must take files, unless it is only to be read.
func (f *storageFlags) open(logger log.Logger, readOnly bool) (keeping, error) {
	k := keeping{flags: *f, readOnly: readOnly, where: f.path}
	switch {
	case f.config != "":
		store, err := bucket.Open("--storage.config", f.config, logger)
		if err != nil {
			return k, err
		}
		k.backend = history.NewBucket(store, history.BucketOptions{})
		k.store, k.closer, k.where = history.New(k.backend, f.options()), store, store.Name()
		return k, nil
	case f.path == "" && readOnly:
		return k, usageErrorf("--source=none has nothing to serve: give --storage.path or --storage.config of a history that others fill")
	case f.path == "":
		k.where = "none"
		return k, nil
	case readOnly:
		if _, err := os.Stat(f.path); err != nil {
			return k, fmt.Errorf("open --storage.path: %w: give the directory of a history, which is only read here", err)
		}
	}
	k.closer = closerFunc(func() error { return nil })
	directory, err := history.OpenDirectory(f.path)
	if err == nil && !readOnly {
		err = directory.Prepare()
	}
	if err != nil {
		return k, fmt.Errorf("open --storage.path=%s: %w: %s", f.path, err, f.writable())
	}
	k.backend, k.store, k.gone = directory, history.New(directory, f.options()), directory.Gone
	return k, nil
}

// openServed opens the history of a server. One on a read-only file system that has something is served all the same, except by a shard,
// which would compute for nobody.
func (f *storageFlags) openServed(logger log.Logger, readOnly bool) (keeping, error) {
	k, err := f.open(logger, readOnly)
	if files, _ := os.ReadDir(f.path); !errors.Is(err, syscall.EROFS) || len(files) == 0 || f.shard.Of > 1 {
		return k, err
	}
	if k, err = f.open(logger, true); err != nil {
		return k, err
	}
	k.readOnly = false
	k.unwritable = fmt.Errorf("%s: %w: nothing is stored there, hours that it lacks are computed for each question, and bills are those that it has: mount it writable, or give --source=none where another promcost fills it", f.path, syscall.EROFS)
	level.Warn(logger).Log("msg", "The history can only be read", "err", k.unwritable)
	return k, nil
}

// writable is the remedy for a directory that cannot be written to. The image's file system is read-only, so a relative path, such as
// the default, needs a volume there.
func (f *storageFlags) writable() string {
	dir, err := os.Getwd()
	if err != nil || filepath.IsAbs(f.path) {
		return "give a directory that this user may write to"
	}
	return "it is below " + dir + ": in a container, mount a volume and name its directory, such as --storage.path=/data; else give a directory that this user may write to; --storage.path= keeps no history"
}

// options are the options of the store.
func (f *storageFlags) options() history.Options {
	return history.Options{Shard: history.Shard(f.shard)}
}

// keeping is how a service keeps history; the zero value keeps none.
type keeping struct {
	store      *history.Store
	backend    history.Backend // of the store
	where      string          // for people
	gone       func() error    // says why what was kept is no longer there; nil if it always is
	closer     io.Closer       // of the storage; nil if it needs none
	flags      storageFlags
	readOnly   bool
	unwritable error       // why nothing can be stored although there is a source; nil if it can
	loaded     func() bool // whether the source has loaded all of its history; nil if it always has
}

// open is a ledger that keeps the history, and the recorder that completes it.
func (k *keeping) open(c ledger.Computer, logger log.Logger, o ledger.Options, r recorder.Options) (*ledger.Ledger, *recorder.Recorder) {
	if k.store == nil {
		l := ledger.New(c, logger, o)
		return l, recorder.New(l, logger, r)
	}
	o.ReadOnly, o.Unwritable, o.Loaded = k.readOnly, k.unwritable, k.loaded
	r.Backfill, r.Retention = orNone(k.flags.backfill), k.flags.retention
	l := ledger.NewKeeping(c, &keeper{k.store, history.Shard(k.flags.shard)}, logger, o)
	return l, recorder.New(l, logger, r)
}

// storeState is the state of the history for metrics.
func (s *service) storeState() collector.StoreState {
	of := s.recorder.Store()
	return collector.StoreState{
		Hours: of.Hours, Days: of.Days, Bytes: of.Bytes, LastWrite: of.LastWrite, Missing: of.Missing, NotCounted: of.NotCounted, Lag: of.Lag, Failing: of.Err != nil,
	}
}

// orNone is a duration to the ledger, for which 0 is a default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
