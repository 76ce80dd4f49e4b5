package history_test

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestManyFiles keeps 10,000 files, or some, lists them, reads and verifies all, cleans up, and removes half of them.
func TestManyFiles(t *testing.T) {
	eachBackend(t, func(t *testing.T, b history.Backend) {
		hours, clusters := soak.Of(6, 50), make([]string, soak.Of(10, 100))
		for i := range clusters {
			clusters[i] = "c" + strconv.Itoa(i)
		}
		s := history.New(b, history.Options{})
		for h := range hours {
			write(t, s, soundSet(1, hour(h), 1, clusters...), history.WriteOptions{Complete: true})
		}
		if files, want := len(names(t, b)), hours*(2*len(clusters)+1); files != want {
			t.Errorf("%d files, want %d", files, want)
		}
		s = history.New(b, history.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
		sets := list(t, s, history.Hourly, allocation.Window{})
		if len(sets) != hours {
			t.Fatalf("%d sets, want %d", len(sets), hours)
		}
		for i, set := range read(t, s, sets...) {
			if set.Len() != sets[i].Rows {
				t.Errorf("set %d has %d rows, want %d", i, set.Len(), sets[i].Rows)
			}
		}
		for i := range sets {
			if _, err := s.Verify(t.Context(), &sets[i]); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := s.Clean(t.Context()); err != nil || c != (history.Cleaned{}) {
			t.Errorf("cleaned %+v, %v", c, err)
		}
		if unreferenced, err := s.Unreferenced(t.Context()); err != nil || len(unreferenced) > 0 {
			t.Errorf("unreferenced %q, %v", unreferenced, err)
		}
		if n, err := s.Retain(t.Context(), history.Hourly, hour(hours/2).Start); err != nil || n != hours/2 {
			t.Errorf("%d sets removed, %v; want %d", n, err, hours/2)
		}
		if files, want := len(names(t, b)), (hours-hours/2)*(2*len(clusters)+1); files != want {
			t.Errorf("%d files are left, want %d", files, want)
		}
	})
}

// lateBucket shows written and deleted objects only some listings later.
type lateBucket struct {
	objstore.Bucket
	mu      sync.Mutex
	after   int // so many listings
	lists   int
	written map[string]int // the listing before which an object was written
	deleted map[string]int
}

// Upload implements objstore.Bucket.
func (b *lateBucket) Upload(ctx context.Context, name string, r io.Reader, o ...objstore.ObjectUploadOption) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written[name] = b.lists
	delete(b.deleted, name)
	return b.Bucket.Upload(ctx, name, r, o...)
}

// Delete implements objstore.Bucket.
func (b *lateBucket) Delete(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deleted[name] = b.lists
	return b.Bucket.Delete(ctx, name)
}

// IterWithAttributes implements objstore.Bucket.
func (b *lateBucket) IterWithAttributes(ctx context.Context, dir string, f func(objstore.IterObjectAttributes) error, o ...objstore.IterOption) error {
	b.mu.Lock()
	b.lists++
	lists, disappeared := b.lists, []string{}
	late := func(of map[string]int, name string) bool {
		at, ok := of[name]
		return ok && lists-at <= b.after
	}
	for name := range b.deleted {
		if late(b.deleted, name) && len(name) > len(dir) && name[:len(dir)] == dir {
			disappeared = append(disappeared, name)
		}
	}
	b.mu.Unlock()
	for _, name := range disappeared {
		if err := f(objstore.IterObjectAttributes{Name: name}); err != nil {
			return err
		}
	}
	return b.Bucket.IterWithAttributes(ctx, dir, func(a objstore.IterObjectAttributes) error {
		b.mu.Lock()
		hidden := late(b.written, a.Name)
		b.mu.Unlock()
		if hidden {
			return nil
		}
		return f(a)
	}, o...)
}

// TestLateListing uses an object store whose listings are late: two writers of equal and of different data write what they do
// not see, clean and remove. Once listings are up to date, every set is there once and sound, or removed.
func TestLateListing(t *testing.T) {
	for seed := range soak.Of[uint64](10, 100) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			b := &lateBucket{Bucket: objstore.NewInMemBucket(), after: rng.IntN(6), written: map[string]int{}, deleted: map[string]int{}}
			stores := [2]*history.Store{}
			for i := range stores {
				stores[i] = history.New(history.NewBucket(b, history.BucketOptions{}), history.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
			}
			there := map[int]bool{}
			for range 30 {
				s, h := stores[rng.IntN(2)], rng.IntN(4)
				switch rng.IntN(6) {
				case 0:
					if _, err := s.Clean(t.Context()); err != nil {
						t.Fatal(err)
					}
				case 1: // what is not seen yet is not removed
					l, err := s.List(t.Context(), history.Hourly, hour(h))
					if err != nil {
						t.Fatal(err)
					}
					for i := range l.Sets {
						_ = s.Delete(t.Context(), &l.Sets[i])
					}
					there[h] = false
				default:
					write(t, s, soundSet(rng.Uint64N(2), hour(h), 2, "c1"), history.WriteOptions{Complete: true, Replace: rng.IntN(2) == 0})
					there[h] = true
				}
			}
			b.after = 0
			s := history.New(history.NewBucket(b, history.BucketOptions{}), history.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
			if _, err := s.Clean(t.Context()); err != nil {
				t.Fatal(err)
			}
			var hours []int
			for _, set := range list(t, s, history.Hourly, allocation.Window{}) {
				if _, err := s.Verify(t.Context(), &set); err != nil {
					t.Error(err)
				}
				hours = append(hours, set.Window.Start.Hour())
			}
			if len(slices.Compact(slices.Clone(hours))) != len(hours) {
				t.Errorf("hours %v are there more than once", hours)
			}
			for h, want := range there {
				if want && !slices.Contains(hours, h) {
					t.Errorf("hour %d was written, and is gone", h)
				}
			}
		})
	}
}
