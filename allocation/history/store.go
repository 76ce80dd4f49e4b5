package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
)

// Options of a Store. Zero fields take the defaults.
type Options struct {
	// Readers bounds the files that are read and decoded at once by one Read. The default is 4.
	Readers int
	// Keep is how long superseded files stay for readers. The default is an hour.
	Keep time.Duration
	// Shard, where not zero, is the shard of the computing that uses the store. The store then lists the parts of sets that this shard
	// wrote. Of a set that was divided otherwise, it takes what belongs to this shard.
	Shard Shard
	// Now is the clock for ages. The default is time.Now.
	Now func() time.Time
}

// Store keeps sets in a Backend. It is safe for concurrent use, also with others on the same backend.
type Store struct {
	backend Backend
	opts    Options
	names   names
	readers parquet.Readers
	bills   *Bills

	mu        sync.Mutex
	manifests map[string]*manifest // by name, those read so far
}

// New returns a store on a backend.
func New(b Backend, o Options) *Store {
	o.Readers, o.Keep = cmp.Or(max(o.Readers, 0), 4), cmp.Or(max(o.Keep, 0), time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{backend: b, opts: o, names: newNames(), manifests: map[string]*manifest{}}
	s.bills = newBills(s)
	return s
}

// CorruptError says that a file is damaged, and of which set, which has to be computed again (WriteOptions.Replace).
type CorruptError struct {
	Name   string // of the file
	Period Period
	// Window is the window of the set, or a window inside of it if the manifest cannot be read.
	Window allocation.Window
	Err    error
}

// Error names the file, and says what to do.
func (e *CorruptError) Error() string {
	remedy := "the set of " + e.Window.Start.UTC().Format(time.RFC3339) + " has to be computed again"
	if with, ok := errors.AsType[interface {
		error
		remedy() string
	}](e.Err); ok {
		remedy = with.remedy()
	}
	return fmt.Sprintf("history file %s is damaged: %v: %s", e.Name, e.Err, remedy)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// Listing is what a store has.
type Listing struct {
	Sets    []Stored        // oldest first
	Partial []Stored        // of which parts are not there, oldest first; none where Sets has something in their place
	Corrupt []*CorruptError // manifests that cannot be read, unless a later generation of their sets is among Sets
}

// List is what the store has of a period that overlaps w; everything for the zero window. Each slot has one set: of several
// generations the highest that is whole. Manifests are read once. Where the backend fails, the error is its.
func (s *Store) List(ctx context.Context, p Period, w allocation.Window) (*Listing, error) {
	found := &manifestList{}
	for _, folder := range foldersOf(p, w) {
		if err := s.find(ctx, p, folder, found); err != nil {
			return nil, err
		}
	}
	out := &Listing{}
	mended := map[slot]Stored{}
	asked := func(of allocation.Window) bool {
		return w == (allocation.Window{}) || of.Start.Before(w.End) && of.End.After(w.Start)
	}
	for _, manifests := range found.bySlot() {
		best, ok := s.newest(manifests)
		if !ok {
			out.Partial = append(out.Partial, slices.DeleteFunc(partial(manifests), func(of Stored) bool { return !asked(of.Window) })...)
			continue
		}
		mended[best.slot] = best
		if !asked(best.Window) {
			continue
		}
		lost, err := s.lost(ctx, &best)
		switch {
		case err != nil:
			return nil, err
		case lost:
			out.Corrupt = append(out.Corrupt, &CorruptError{Name: best.manifests[0].version.manifest(), Period: p, Window: best.Window, Err: errLost})
		default:
			out.Sets = append(out.Sets, best)
		}
	}
	for i, c := range found.corrupt {
		v := found.damaged[i]
		if slices.ContainsFunc(mended[v.slot].manifests, func(m *manifest) bool { return m.version.Shard == v.Shard && m.version.generation > v.generation }) {
			continue // it was computed again, and Clean will remove it
		}
		if asked(c.Window) {
			out.Corrupt = append(out.Corrupt, c)
		}
	}
	for _, sets := range [...][]Stored{out.Sets, out.Partial} {
		slices.SortStableFunc(sets, func(a, b Stored) int { return a.Window.Start.Compare(b.Window.Start) })
	}
	return out, nil
}

// errLost is the error for a day that names no files although its hours have some.
var errLost = errors.New("it names no files, but hours of the day have some")

// lost reports whether a day has no files although its hours have some.
func (s *Store) lost(ctx context.Context, of *Stored) (bool, error) {
	if of.Period != Daily || len(of.Clusters) > 0 {
		return false, nil
	}
	hours, err := s.List(ctx, Hourly, of.Window)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(hours.Sets, func(h Stored) bool { return len(h.Clusters) > 0 && !h.Window.Start.Before(of.Window.Start) }), nil
}

// manifestList is the manifests of some folders, as they were read.
type manifestList struct {
	sound   []*manifest
	corrupt []*CorruptError
	damaged []version // those of corrupt
}

// bySlot returns the sound manifests of each slot, in the order of slots.
func (f *manifestList) bySlot() [][]*manifest {
	bySlot := func(a, b *manifest) int { return cmp.Compare(a.version.name, b.version.name) }
	slices.SortStableFunc(f.sound, bySlot)
	var out [][]*manifest
	for i, m := range f.sound {
		if i == 0 || bySlot(f.sound[i-1], m) != 0 {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], m)
	}
	return out
}

// find reads the manifests in a folder and below it. If one disappears before it is read, another may have replaced it after
// the listing; find then lists again.
func (s *Store) find(ctx context.Context, p Period, folder string, to *manifestList) error {
	for try := 0; ; try++ {
		in := &manifestList{}
		disappeared, err := s.findOnce(ctx, p, folder, in)
		if err != nil {
			return err
		}
		if !disappeared || try >= maxRetries {
			to.sound, to.corrupt, to.damaged = append(to.sound, in.sound...), append(to.corrupt, in.corrupt...), append(to.damaged, in.damaged...)
			return nil
		}
	}
}

// findOnce reads the listed manifests. disappeared means that some were no longer there.
func (s *Store) findOnce(ctx context.Context, p Period, folder string, to *manifestList) (disappeared bool, err error) {
	var versions []version
	err = s.backend.List(ctx, folder, false, func(o Object) error {
		if v, ok := s.names.manifestVersion(p, o.Name); ok {
			versions = append(versions, v)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	read := make([]*manifest, len(versions))
	errs := make([]error, len(versions))
	parallel(s.opts.Readers, len(versions), func(i int) { read[i], errs[i] = s.manifest(ctx, versions[i]) })
	for i, m := range read {
		var corrupt *CorruptError
		switch err := errs[i]; {
		case errors.As(err, &corrupt):
			to.corrupt, to.damaged = append(to.corrupt, corrupt), append(to.damaged, versions[i])
		case errors.Is(err, fs.ErrNotExist):
			disappeared = true
		case err != nil:
			return false, err
		default:
			to.sound = append(to.sound, m)
		}
	}
	return disappeared, nil
}

// parallel calls f for 0 to n−1 from some goroutines, and waits.
func parallel(goroutines, n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(goroutines, n) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// newest returns what the store lists of a slot: the newest whole set, or the newest part that the store's own shard wrote.
func (s *Store) newest(manifests []*manifest) (best Stored, ok bool) {
	if s.opts.Shard.Of > 1 {
		var own *manifest
		for _, m := range manifests {
			if m.version.Shard == s.opts.Shard && (own == nil || own.version.generation < m.version.generation) {
				own = m
			}
		}
		if own != nil {
			return newStored([]*manifest{own}), true
		}
	}
	return newest(manifests)
}

// newest returns the set of the highest generation whose parts are all there, and whether there is one. manifests are those of one slot.
func newest(manifests []*manifest) (best Stored, ok bool) {
	for _, set := range gather(manifests) {
		if slices.Contains(set, nil) {
			continue
		}
		// The same number of one generation is no accident only where shards changed: the finer cut is the later.
		of := newStored(set)
		if !ok || cmp.Or(cmp.Compare(of.Generation, best.Generation), cmp.Compare(of.Shards, best.Shards), of.Window.Start.Compare(best.Window.Start)) > 0 {
			best, ok = of, true
		}
	}
	return best, ok
}

// partial returns the sets of a slot that lack parts.
func partial(manifests []*manifest) (sets []Stored) {
	for _, set := range gather(manifests) {
		if !slices.Contains(set, nil) {
			continue
		}
		of := newStored(slices.DeleteFunc(slices.Clone(set), func(m *manifest) bool { return m == nil }))
		of.Shards = len(set)
		for i, m := range set {
			if m == nil {
				of.Missing = append(of.Missing, Shard{i + 1, of.Shards})
			}
		}
		sets = append(sets, of)
	}
	return sets
}

// gather sorts the manifests of a slot by set. Of each set it returns the newest manifest of every part, by index, and nil for a part
// that is not there.
func gather(manifests []*manifest) (sets [][]*manifest) {
	type cut struct {
		start, end int64
		of         int
	}
	at := map[cut]int{}
	for _, m := range manifests {
		k := cut{m.Start.UnixMilli(), m.End.UnixMilli(), m.version.Of}
		i, ok := at[k]
		if !ok {
			i, at[k] = len(sets), len(sets)
			sets = append(sets, make([]*manifest, k.of))
		}
		if have := sets[i][m.version.Index-1]; have == nil || have.version.generation < m.version.generation {
			sets[i][m.version.Index-1] = m
		}
	}
	return sets
}
