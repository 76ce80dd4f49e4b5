package history_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestBitFlips flips bits all over the files of a set: each is found and named, and the set is sound once it is computed
// again.
func TestBitFlips(t *testing.T) {
	s, dir := directory(t, history.Options{})
	stored := write(t, s, soundSet(1, hour(0), 3, "c1"), history.WriteOptions{Complete: true})
	rng := rand.New(rand.NewPCG(1, 1))
	for _, name := range stored.Files() {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := rng.IntN(97); at < len(data); at += 1 + rng.IntN(97) {
			bit := byte(1) << rng.IntN(8)
			data[at] ^= bit
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			findDamage(t, dir, name)
			data[at] ^= bit
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkWhole(t, dir, map[string]bool{"stored hourly 0": true})
	if err := os.Truncate(filepath.Join(dir, stored.Files()[0]), 1000); err != nil {
		t.Fatal(err)
	}
	findDamage(t, dir, stored.Files()[0])
	again := write(t, history.New(open(t, dir), history.Options{}), soundSet(1, hour(0), 3, "c1"), history.WriteOptions{Replace: true, Complete: true})
	if again.Generation != 2 {
		t.Errorf("generation %d", again.Generation)
	}
	l, err := history.New(open(t, dir), history.Options{}).List(t.Context(), history.Hourly, hour(0))
	if err != nil || len(l.Sets) != 1 || l.Sets[0].Generation != 2 {
		t.Fatalf("list %+v, %v", l, err)
	}
	late := history.New(open(t, dir), history.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	if c, err := late.Clean(t.Context()); err != nil || c.Superseded != 1 || c.Orphans != 0 {
		t.Errorf("cleaned %+v, %v", c, err)
	}
	checkWhole(t, dir, map[string]bool{"stored hourly 0": true})
}

func open(t testing.TB, dir string) *history.Directory {
	t.Helper()
	b, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// findDamage reads a directory anew, in which the named file is damaged and no other.
func findDamage(t *testing.T, dir, name string) {
	t.Helper()
	s := history.New(open(t, dir), history.Options{})
	l, err := s.List(t.Context(), history.Hourly, allocation.Window{})
	if err != nil {
		t.Fatal(err)
	}
	found := l.Corrupt
	for i := range l.Sets {
		var corrupt *history.CorruptError
		if _, err := s.Verify(t.Context(), &l.Sets[i]); errors.As(err, &corrupt) {
			found = append(found, corrupt)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) != 1 || found[0].Name != name || !strings.Contains(found[0].Error(), name) || found[0].Window != hour(0) {
		t.Fatalf("%s is damaged, found %v", name, found)
	}
}

// TestMissingFile is a set that lost a file.
func TestMissingFile(t *testing.T) {
	s, dir := directory(t, history.Options{})
	stored := write(t, s, soundSet(1, hour(0), 3, "c1"), history.WriteOptions{})
	if err := os.Remove(filepath.Join(dir, stored.Files()[0])); err != nil {
		t.Fatal(err)
	}
	var corrupt *history.CorruptError
	if _, err := s.Verify(t.Context(), &stored); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), stored.Files()[0]) {
		t.Errorf("got %v", err)
	}
}

// TestTwoWriters has two stores write one directory at once: the same sets, and different ones.
func TestTwoWriters(t *testing.T) {
	for name, different := range map[string]bool{"same": false, "different": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var wg sync.WaitGroup
			for i := range uint64(2) {
				s := history.New(open(t, dir), history.Options{})
				wg.Go(func() {
					for h := range 8 {
						seed := uint64(1)
						if different {
							seed += i
						}
						if _, err := s.Write(t.Context(), soundSet(seed, hour(h), 2, "c1", "c2"), history.WriteOptions{}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			checkWhole(t, dir, map[string]bool{"stored hourly 0": true, "stored hourly 7": true})
			for _, set := range list(t, history.New(open(t, dir), history.Options{}), history.Hourly, allocation.Window{}) {
				if set.Generation > 2 || !different && set.Generation != 1 {
					t.Errorf("%s has generation %d", set.Window.Start, set.Generation)
				}
			}
		})
	}
}

// compactGenerations are how often a set is superseded while it is read.
const compactGenerations = 8

// compact stores generations of a set, one after the other, and removes those before.
func compact(dir string) error {
	b, err := history.OpenDirectory(dir)
	if err != nil {
		return err
	}
	s := history.New(b, history.Options{Keep: 10 * time.Millisecond})
	for g := range uint64(compactGenerations) {
		if _, err := s.Write(context.Background(), soundSet(g, hour(0), 2, "c1", "c2"), history.WriteOptions{Replace: true}); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
		if _, err := s.Clean(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// TestReadersDuringCompaction reads while another process supersedes and removes sets: no reader fails, and what each gets
// is one generation and all of it.
func TestReadersDuringCompaction(t *testing.T) {
	readers := soak.Of(100, 1000)
	dir, cost := t.TempDir(), allocation.Cost.Of(allocation.CPU)
	sum := func(set *allocation.Set) (sum float64) {
		for _, v := range column(set, cost) {
			sum += v
		}
		return sum
	}
	sums := map[float64]bool{}
	for g := range uint64(compactGenerations) {
		sums[sum(canonical(t, soundSet(g, hour(0), 2, "c1", "c2")))] = true
	}
	write(t, history.New(open(t, dir), history.Options{}), soundSet(0, hour(0), 2, "c1", "c2"), history.WriteOptions{})
	cmd, out := child(t, "compact", dir)
	var done atomic.Bool
	var reads atomic.Int64
	var wg sync.WaitGroup
	shared := []*history.Store{history.New(open(t, dir), history.Options{}), history.New(open(t, dir), history.Options{})}
	for i := range readers {
		wg.Go(func() {
			mine := shared[i%len(shared)]
			for first := true; first || !done.Load(); first = false {
				l, err := mine.List(t.Context(), history.Hourly, hour(0))
				if err != nil || len(l.Sets) != 1 {
					t.Errorf("list %+v, %v", l, err)
					return
				}
				got, err := mine.Read(t.Context(), l.Sets, &allocation.Projection{Columns: []allocation.Column{cost}})
				if err != nil {
					t.Error(err)
					return
				}
				if !sums[sum(got[0])] {
					t.Errorf("%d rows of %v", got[0].Len(), sum(got[0]))
				}
				reads.Add(1)
			}
		})
	}
	text, _ := io.ReadAll(out)
	err := cmd.Wait()
	done.Store(true)
	wg.Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if n := len(names(t, open(t, dir))); n != 5 {
		t.Errorf("%d files are left", n)
	}
	t.Logf("%d reads", reads.Load())
}

// faulty is a bucket of which a part of the requests fail, as servers do that answer 500 or not at all.
type faulty struct {
	objstore.Bucket
	mu    sync.Mutex
	rng   *rand.Rand
	every int // one of so many requests fails; 0 is all
}

var errServer = errors.New("503 Slow Down")

func (f *faulty) fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.every == 0 || f.rng.IntN(f.every) == 0 {
		return errServer
	}
	return nil
}

func (f *faulty) Upload(ctx context.Context, name string, r io.Reader, o ...objstore.ObjectUploadOption) error {
	if err := f.fault(); err != nil {
		return err
	}
	if err := f.Bucket.Upload(ctx, name, r, o...); err != nil {
		return err
	}
	return f.fault() // it is there, and the answer was lost
}

func (f *faulty) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	r, err := f.Bucket.Get(ctx, name)
	if err == nil && f.fault() != nil {
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(r, 100), failing{}), r}, nil
	}
	return r, err
}

// failing is a connection that breaks.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errServer }

func (f *faulty) IterWithAttributes(ctx context.Context, dir string, g func(objstore.IterObjectAttributes) error, o ...objstore.IterOption) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.Bucket.IterWithAttributes(ctx, dir, g, o...)
}

func (f *faulty) Exists(ctx context.Context, name string) (bool, error) {
	if err := f.fault(); err != nil {
		return false, err
	}
	return f.Bucket.Exists(ctx, name)
}

func (f *faulty) Delete(ctx context.Context, name string) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.Bucket.Delete(ctx, name)
}

func TestBucketFaults(t *testing.T) {
	f := &faulty{Bucket: objstore.NewInMemBucket(), rng: rand.New(rand.NewPCG(1, 2)), every: 3}
	s := history.New(history.NewBucket(f, history.BucketOptions{Attempts: 30, Backoff: time.Nanosecond}), history.Options{})
	for h := range 5 {
		write(t, s, soundSet(1, hour(h), 3, "c1", "c2"), history.WriteOptions{})
	}
	sets := list(t, s, history.Hourly, allocation.Window{})
	if len(sets) != 5 {
		t.Fatalf("%d sets", len(sets))
	}
	for i := range sets {
		if _, err := s.Verify(t.Context(), &sets[i]); err != nil {
			t.Error(err)
		}
	}
	if err := s.Delete(t.Context(), &sets[0]); err != nil {
		t.Error(err)
	}
	f.every = 0
	_, err := s.List(t.Context(), history.Hourly, allocation.Window{})
	if !errors.Is(err, errServer) || !strings.Contains(err.Error(), "list of bucket inmem: sets_hourly: 503 Slow Down (30 attempts): is the object store there?") {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Error("a server that fails is taken for one that has nothing")
	}
}
