package bucket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/thanos-io/objstore"
	"golang.org/x/sync/errgroup"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// Bounds of what a listing and a meta.json may have.
const (
	maxObjects = 1 << 20
	maxMeta    = 16 << 20
)

// meta is what meta.json says of a block, with what Thanos and Mimir add.
type meta struct {
	tsdb.BlockMeta
	Thanos struct {
		Labels     map[string]string `json:"labels"`
		Downsample struct {
			Resolution int64 `json:"resolution"` // milliseconds; 0 for raw samples
		} `json:"downsample"`
	} `json:"thanos"`
}

// block is a block of the bucket. It does not change.
type block struct {
	id       ulid.ULID
	dir      string // its name in the bucket, with a slash at its end
	meta     meta
	external []labels.Label  // those that its series have beside their own
	group    string          // all that its metadata has, in words: the Prometheus that it is of
	pair     string          // likewise without those of replicas
	broken   error           // why meta.json cannot be read
	sources  map[string]bool // the blocks that it was compacted from, itself if from none
}

// named is the block for people.
func (b *block) named() string { return "block " + strings.TrimSuffix(b.dir, "/") }

// overlaps reports whether the block can have samples in [mint, maxt].
func (b *block) overlaps(mint, maxt int64) bool {
	return b.meta.MinTime <= maxt && mint < b.meta.MaxTime
}

// objects are what a listing shows of a block.
type objects struct {
	dir                 string
	meta, index, chunks bool
	marked              bool // for deletion
}

// view is the blocks to read, oldest first, and what is known to be missing.
type view struct {
	blocks []*block
	losses []promquery.Loss
}

// blocks is the current view. It lists the bucket if it was not listed lately.
func (s *Source) blocks(ctx context.Context) (*view, error) {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.view != nil && time.Since(s.listed) < s.cfg.Refresh && !s.outdated.Load() {
		return s.view, nil
	}
	s.outdated.Store(false)
	began := time.Now()
	found, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.readMetas(ctx, found); err != nil {
		return nil, err
	}
	s.view, s.listed = s.look(found), began
	return s.view, nil
}

// prefix is the directory that has the blocks, with a slash at its end unless it is the root.
func (s *Source) prefix() string {
	if tenant := strings.Trim(s.cfg.Tenant, "/"); tenant != "" {
		return tenant + "/"
	}
	return ""
}

// list lists what there is of each block.
func (s *Source) list(ctx context.Context) (map[ulid.ULID]*objects, error) {
	var found map[ulid.ULID]*objects
	var others []string // directories that have blocks
	patient := s.cfg.Requests
	patient.Timeout *= 5
	prefix := s.prefix()
	where, n := cmp.Or(prefix, "/"), 0
	err := patient.Do(ctx, s.cfg.Bucket, "list blocks", where, func(ctx context.Context) error {
		n, found, others = 0, map[ulid.ULID]*objects{}, nil
		err := s.cfg.Bucket.Iter(ctx, prefix, func(name string) error {
			if n++; n > maxObjects {
				return errEndless
			}
			if !add(found, prefix, name) && len(others) < 3 {
				if dir, rest, _ := strings.Cut(strings.TrimPrefix(name, prefix), "/"); isBlock(rest) && !slices.Contains(others, dir) {
					others = append(others, dir)
				}
			}
			return ctx.Err()
		}, objstore.WithRecursiveIter())
		if n > maxObjects { // another attempt would be endless, too
			return nil
		}
		return err
	})
	switch {
	case n > maxObjects:
		return nil, fmt.Errorf("list blocks of bucket %s: %s %w", s.cfg.Bucket.Name(), where, errEndless)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case len(found) == 0 && len(others) > 0:
		return nil, fmt.Errorf("list blocks of bucket %s: %s holds no blocks, but directories that do, such as %s: give one of them as --blocks.tenant", s.cfg.Bucket.Name(), where, strings.Join(others, ", "))
	case len(found) == 0:
		return nil, fmt.Errorf("list blocks of bucket %s: %s %w (directories such as 01K2…/ with a meta.json): give the bucket that Thanos or Mimir uploads to, and for Mimir and Cortex --blocks.tenant", s.cfg.Bucket.Name(), where, ErrNoBlocks)
	}
	return found, nil
}

// ErrNoBlocks is the cause of what fails because a bucket has nothing in it, as before the first upload.
var ErrNoBlocks = errors.New("holds no blocks")

// errEndless ends the listing of a bucket that is not one of blocks.
var errEndless = fmt.Errorf("has more than %d objects: is this a bucket of blocks alone? give its directory as --blocks.tenant", maxObjects)

// isBlock reports whether a path begins with the directory of a block.
func isBlock(path string) bool {
	dir, _, ok := strings.Cut(path, "/")
	_, err := ulid.ParseStrict(dir)
	return ok && err == nil
}

// add adds an object to its block. It is false if the object is not one of a block.
func add(found map[ulid.ULID]*objects, prefix, name string) bool {
	const mark = "deletion-mark.json"
	dir, file, _ := strings.Cut(strings.TrimPrefix(name, prefix), "/")
	if text, isMark := strings.CutSuffix(file, "-"+mark); isMark && dir == "markers" { // as Mimir and Cortex mark blocks, beside what is in the block
		dir, file = text, mark
	}
	id, err := ulid.ParseStrict(dir)
	if err != nil {
		return false
	}
	o := found[id]
	if o == nil {
		o = &objects{dir: prefix + dir + "/"}
		found[id] = o
	}
	switch {
	case file == "meta.json":
		o.meta = true
	case file == "index":
		o.index = true
	case file == mark:
		o.marked = true
	case strings.HasPrefix(file, "chunks/"):
		o.chunks = true
	}
	return true
}

// readMetas brings s.known up to date with a listing. It is for who lists the bucket.
func (s *Source) readMetas(ctx context.Context, found map[ulid.ULID]*objects) error {
	maps.DeleteFunc(s.known, func(id ulid.ULID, b *block) bool { return found[id] == nil || b.broken != nil })
	var fresh []*block
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel)
	for id, o := range found {
		if !o.meta || o.marked || s.known[id] != nil {
			continue
		}
		b := &block{id: id, dir: o.dir}
		fresh = append(fresh, b)
		group.Go(func() error { return s.readMeta(ctx, b) })
	}
	err := group.Wait()
	for _, b := range fresh { // also after an error, so that the next attempt has less to read
		if b.sources != nil { // it was not deleted since it was listed
			s.known[b.id] = b
		}
	}
	return err
}

// readMeta reads meta.json of a block.
func (s *Source) readMeta(ctx context.Context, b *block) error {
	data, err := s.get(ctx, new(meter), b.dir+"meta.json", 0, maxMeta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && !isLoss(err) {
		return err
	}
	b.sources = map[string]bool{}
	if b.broken = err; err != nil {
		return nil
	}
	if b.broken = json.Unmarshal(data, &b.meta); b.broken == nil && (b.meta.Version != 1 || b.meta.MinTime >= b.meta.MaxTime) {
		b.broken = fmt.Errorf("version %d, want 1, times [%d, %d)", b.meta.Version, b.meta.MinTime, b.meta.MaxTime)
	}
	for _, name := range slices.Sorted(maps.Keys(b.meta.Thanos.Labels)) {
		// Mimir has labels of its own here, such as __compactor_shard_id__, which series do not get.
		if !strings.HasPrefix(name, "__") {
			b.external = append(b.external, labels.Label{Name: name, Value: b.meta.Thanos.Labels[name]})
		}
		text := fmt.Sprintf("%q=%q,", name, b.meta.Thanos.Labels[name])
		b.group += text
		if !slices.Contains(s.cfg.ReplicaLabels, name) {
			b.pair += text
		}
	}
	for _, id := range b.meta.Compaction.Sources {
		b.sources[id.String()] = true
	}
	b.meta.Thanos.Labels, b.meta.Compaction = nil, tsdb.BlockMetaCompaction{} // there are many blocks
	return nil
}

// look decides which blocks are read, and what is missing. It is for who lists the bucket.
func (s *Source) look(found map[ulid.ULID]*objects) *view {
	v := &view{}
	var coarse []*block
	for id, o := range found {
		b := s.known[id]
		switch {
		case o.marked || b == nil && o.meta:
		case b == nil || b.broken != nil:
		case b.meta.Thanos.Downsample.Resolution != 0:
			coarse = append(coarse, b)
		case !o.index || !o.chunks && b.meta.Stats.NumChunks > 0:
			v.lose(b.named(), b.meta.MinTime, b.meta.MaxTime, "it has no index, or no chunks: its upload has not ended, or objects of it were removed", "restore it, or remove "+o.dir+" from the bucket")
		default:
			v.blocks = append(v.blocks, b)
		}
	}
	v.dropReplaced()
	slices.SortFunc(v.blocks, older)
	slices.SortFunc(coarse, older)
	for _, b := range coarse {
		same := func(o *block) bool { return o.pair == b.pair }
		for _, x := range v.uncovered(b.meta.MinTime, b.meta.MaxTime, same) {
			v.lose(b.named(), x.From, x.To, "its samples were downsampled, and no block has the raw ones", "let Thanos' compactor keep raw samples for longer")
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(found), ulid.ULID.Compare) {
		if o := found[id]; !o.marked && (!o.meta || s.known[id] != nil && s.known[id].broken != nil) {
			v.loseNameless(id, o, s.known[id])
		}
	}
	slices.SortFunc(v.losses, func(a, b promquery.Loss) int { return strings.Compare(a.Of, b.Of) })
	return v
}

func older(a, b *block) int {
	if a.meta.MinTime != b.meta.MinTime {
		if a.meta.MinTime < b.meta.MinTime {
			return -1
		}
		return 1
	}
	return a.id.Compare(b.id)
}

// lose records that a block cannot be read.
func (v *view) lose(of string, from, to int64, cause, remedy string) {
	v.losses = append(v.losses, promquery.Loss{
		Of: of, From: from, To: to,
		Cause: fmt.Sprintf("%s is left out: %s; its hours are missing from the answer unless another block has them: %s", of, cause, remedy),
	})
}

// uploadTime is how long before its upload begins a block of two hours can have begun: Prometheus writes it an hour after its end.
const uploadTime = 4 * time.Hour

// loseNameless records a block whose time is not known. Its name says when it was made: if other blocks have the hours before that, it is one
// of several that hold them, or is being made of those.
func (v *view) loseNameless(id ulid.ULID, o *objects, b *block) {
	cause := "it has no meta.json: its upload has not ended, or was broken off"
	if b != nil {
		cause = fmt.Sprintf("parse meta.json: %v", b.broken)
	}
	to := ulid.Time(id.Time()).UnixMilli()
	for _, x := range v.uncovered(to-uploadTime.Milliseconds(), to, func(*block) bool { return true }) {
		v.lose("block "+strings.TrimSuffix(o.dir, "/"), x.From, x.To, cause, "wait until it is whole, or remove "+o.dir+" from the bucket")
	}
}

// uncovered is the time within [from, to) that none of the blocks that count is of, except for what is no longer than a lookback.
func (v *view) uncovered(from, to int64, counts func(*block) bool) timeline.Intervals {
	var covered timeline.Intervals // in the order of their begin, which is all that Complement needs
	for _, b := range v.blocks {
		if counts(b) {
			covered = append(covered, timeline.Interval{From: b.meta.MinTime, To: b.meta.MaxTime})
		}
	}
	return slices.DeleteFunc(timeline.Complement(covered, from, to), func(x timeline.Interval) bool { return x.To-x.From <= timeline.Lookback })
}

// dropReplaced leaves out blocks that others were compacted from: they await deletion and hold nothing else.
func (v *view) dropReplaced() {
	holders := map[string][]*block{} // of each source
	for _, b := range v.blocks {
		for id := range b.sources {
			holders[id] = append(holders[id], b)
		}
	}
	v.blocks = slices.DeleteFunc(slices.Clone(v.blocks), func(b *block) bool {
		for id := range b.sources { // any one: what replaces b has all of them
			return slices.ContainsFunc(holders[id], func(o *block) bool { return o.replaces(b) })
		}
		return false
	})
}

// replaces reports whether the block was compacted from another one, or from more than that was.
func (b *block) replaces(o *block) bool {
	if b.group != o.group || len(b.sources) <= len(o.sources) || b.meta.MinTime > o.meta.MinTime || b.meta.MaxTime < o.meta.MaxTime {
		return false
	}
	for id := range o.sources {
		if !b.sources[id] {
			return false
		}
	}
	return true
}
