package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/bucket"
)

// change changes an object of a bucket.
func change(t testing.TB, store *objstore.InMemBucket, name string, f func([]byte) []byte) {
	t.Helper()
	data, ok := store.Objects()[name]
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	put(t, store, name, f(append([]byte(nil), data...)))
}

// TestBroken reads buckets with a broken block among sound ones: these are read, and what is missing is named.
func TestBroken(t *testing.T) {
	t.Parallel()
	remove := func(file string) func(*testing.T, *objstore.InMemBucket, string) {
		return func(t *testing.T, store *objstore.InMemBucket, dir string) {
			if err := store.Delete(t.Context(), dir+file); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit := func(file string, f func([]byte) []byte) func(*testing.T, *objstore.InMemBucket, string) {
		return func(t *testing.T, store *objstore.InMemBucket, dir string) { change(t, store, dir+file, f) }
	}
	half := func(b []byte) []byte { return b[:len(b)/2] }
	flip := func(from, to float64) func([]byte) []byte {
		return func(b []byte) []byte {
			for i := int(from * float64(len(b))); i < int(to*float64(len(b))); i++ {
				b[i] ^= 0x5a
			}
			return b
		}
	}
	for _, tc := range []struct {
		name string
		harm func(t *testing.T, store *objstore.InMemBucket, dir string)
		want []string // in what is missing
	}{
		{"no meta.json", remove("meta.json"), []string{"it has no meta.json: its upload has not ended, or was broken off", "wait until it is whole, or remove"}},
		{"meta.json is no JSON", edit("meta.json", half), []string{"parse meta.json: "}},
		{"meta.json of another version", edit("meta.json", func(b []byte) []byte { return []byte(`{"version":2,"minTime":1,"maxTime":2}`) }), []string{"version 2, want 1"}},
		{"an empty meta.json", edit("meta.json", func([]byte) []byte { return nil }), []string{"meta.json: malformed data: it ends before 0", "wait until it is whole, or remove"}},
		{"no index", remove("index"), []string{"it has no index, or no chunks"}},
		{"no chunks", remove("chunks/000001"), []string{"it has no index, or no chunks"}},
		{"an index that was cut", edit("index", half), []string{"metrics: usage", "it was cut, or its upload was broken off"}},
		{"an empty index", edit("index", func([]byte) []byte { return nil }), []string{"the index has 0 bytes"}},
		{"an index of version 1", edit("index", func(b []byte) []byte { b[4] = 1; return b }), []string{"the index is of version 1, want 2"}},
		{"no index at all", edit("index", func(b []byte) []byte { b[0] = 1; return b }), []string{"no index header"}},
		{"garbage among symbols", edit("index", flip(0.05, 0.1)), []string{"symbols: ", "invalid checksum"}},
		{"garbage throughout the index", edit("index", flip(0.2, 0.7)), []string{"malformed data"}},
		{"a file of chunks that was cut", edit("chunks/000001", half), []string{"chunks/000001: chunk at "}},
		{"an empty file of chunks", edit("chunks/000001", func([]byte) []byte { return nil }), []string{"chunks/000001: chunk at 8: "}},
		{"garbage among chunks", edit("chunks/000001", flip(0.1, 1)), []string{"chunks/000001: chunk at "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := objstore.NewInMemBucket()
			dirs := written(t, 2*time.Hour, used(begin, end, "p1", "p2")...)
			for i, dir := range dirs {
				if i == 1 { // as it is named when it is made
					named := filepath.Join(t.TempDir(), ulid.MustNew(uint64(begin+5*hour), nil).String())
					if err := os.CopyFS(named, os.DirFS(dir)); err != nil {
						t.Fatal(err)
					}
					dirs[1], dir = named, named
				}
				upload(t, store, "shop/", dir, nil)
			}
			bad := "shop/" + filepath.Base(dirs[1]) + "/"
			tc.harm(t, store, bad)
			got, stats, err := ask(t, over(store, bucket.Config{Tenant: "shop"}), usage)
			if err != nil {
				t.Fatal(err)
			}
			for _, pod := range []string{"|p1|", "|p2|"} {
				if n := got[pod]; n < 240 || n > 360 {
					t.Errorf("pod %s: %d samples, want those of the sound blocks, 240", pod, n)
				}
			}
			if len(stats.Losses) != 1 || len(stats.Missing()) != 1 {
				t.Fatalf("missing %q, want one of the block", stats.Missing())
			}
			for _, want := range append(tc.want, "block shop/"+filepath.Base(dirs[1]), bad) {
				if !strings.Contains(stats.Missing()[0], want) {
					t.Errorf("missing %q lacks %q", stats.Missing()[0], want)
				}
			}
			if l := stats.Losses[0]; l.From >= begin+4*hour || l.To <= begin+2*hour {
				t.Errorf("lost from %d to %d, want some of the block's two hours", l.From-begin, l.To-begin)
			}
		})
	}
}

// faulty is a bucket whose reads fail, hang or never end.
type faulty struct {
	objstore.Bucket
	read func(ctx context.Context, name string) error
	iter func(ctx context.Context, f func(string) error) error
}

func (b *faulty) GetRange(ctx context.Context, name string, off, length int64) (io.ReadCloser, error) {
	if b.read != nil {
		if err := b.read(ctx, name); err != nil {
			return nil, err
		}
	}
	return b.Bucket.GetRange(ctx, name, off, length)
}

func (b *faulty) Iter(ctx context.Context, dir string, f func(string) error, o ...objstore.IterOption) error {
	if b.iter != nil {
		return b.iter(ctx, f)
	}
	return b.Bucket.Iter(ctx, dir, f, o...)
}

// TestStore reads stores that do not answer as they should: where asking again does not help, that is an error, and no answer without the data.
func TestStore(t *testing.T) {
	t.Parallel()
	errDown := errors.New("503 slow down")
	hang := func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}
	var first atomic.Int32
	for _, tc := range []struct {
		name string
		harm faulty
		want []string // of the error; none for an answer
	}{
		{"fails twice", faulty{read: func(context.Context, string) error {
			if first.Add(1) <= 2 {
				return errDown
			}
			return nil
		}}, nil},
		{"always fails", faulty{read: func(context.Context, string) error { return errDown }}, []string{"read of bucket inmem: ", "/meta.json: 503 slow down (3 attempts): is the object store there?"}},
		{"fails to read chunks", faulty{read: func(_ context.Context, name string) error {
			if strings.HasSuffix(name, "chunks/000001") {
				return errDown
			}
			return nil
		}}, []string{"/chunks/000001: 503 slow down"}},
		{"hangs", faulty{read: hang}, []string{"/meta.json: context deadline exceeded", "is the object store there?"}},
		{"hangs when it is listed", faulty{iter: func(ctx context.Context, _ func(string) error) error { return hang(ctx, "") }}, []string{"list blocks of bucket inmem: ", "context deadline exceeded"}},
		{"never ends its list", faulty{iter: func(_ context.Context, f func(string) error) (err error) {
			for i := 0; err == nil; i++ {
				err = f(fmt.Sprint("logs/", i))
			}
			return err
		}}, []string{"has more than 1048576 objects: is this a bucket of blocks alone? give its directory as --blocks.tenant"}},
		{"has nothing", faulty{iter: func(context.Context, func(string) error) error { return nil }}, []string{"holds no blocks (directories such as 01K2…/ with a meta.json)"}},
		{"has tenants", faulty{iter: func(_ context.Context, f func(string) error) error {
			return errors.Join(f("anonymous/01K2Z5R0000000000000000000/meta.json"), f("other/markers/x"))
		}}, []string{"but directories that do, such as anonymous: give one of them as --blocks.tenant"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.harm.Bucket = objstore.NewInMemBucket()
			upload(t, tc.harm.Bucket, "", written(t, 6*time.Hour, used(begin, end, "p1")...)[0], nil)
			cfg := bucket.Config{}
			if strings.HasPrefix(tc.name, "hangs") {
				cfg.Requests.Timeout = 300 * time.Millisecond
			}
			got, stats, err := ask(t, over(&tc.harm, cfg), usage)
			if tc.want == nil {
				if diff := cmp.Diff(map[string]int{"|p1|": 360}, got); diff != "" || err != nil || !stats.Whole() {
					t.Errorf("%v, samples (-want +got):\n%s", err, diff)
				}
				return
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
		})
	}
}

// TestSlowlyOpened opens a bucket in several attempts, none of which has time for all blocks: what was read stays.
func TestSlowlyOpened(t *testing.T) {
	t.Parallel()
	var left atomic.Int32
	store := &faulty{Bucket: objstore.NewInMemBucket(), read: func(ctx context.Context, _ string) error {
		if left.Add(-1) >= 0 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	for _, dir := range written(t, time.Hour, used(begin, end, "p1")...) {
		upload(t, store, "", dir, nil)
	}
	src := over(store, bucket.Config{})
	for attempt := 1; attempt <= 3; attempt++ {
		left.Store(2)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, _, err := src.Settled(ctx)
		cancel()
		if open := attempt == 3; (err == nil) != open {
			t.Errorf("attempt %d at six blocks, two of which can be read: %v", attempt, err)
		}
	}
}

// TestVanished reads a block that is deleted after it was listed: its samples are missing, not silently.
func TestVanished(t *testing.T) {
	t.Parallel()
	store := objstore.NewInMemBucket()
	dirs := written(t, 2*time.Hour, used(begin, end, "p1")...)
	for _, dir := range dirs {
		upload(t, store, "", dir, nil)
	}
	src := over(store, bucket.Config{})
	if _, _, err := src.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name := range store.Objects() {
		if strings.HasPrefix(name, filepath.Base(dirs[0])) {
			if err := store.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, stats, err := ask(t, src, usage)
	if diff := cmp.Diff(map[string]int{"|p1|": 240}, got); diff != "" || err != nil || stats.Whole() {
		t.Errorf("%v, missing %q, samples (-want +got):\n%s", err, stats.Missing(), diff)
	}
}

// TestMemory draws what it holds from the account of the question, and gives it back.
func TestMemory(t *testing.T) {
	t.Parallel()
	store := objstore.NewInMemBucket()
	var pods []string
	for i := range 500 {
		pods = append(pods, fmt.Sprint("pod-", i))
	}
	upload(t, store, "", written(t, 6*time.Hour, used(begin, end, pods...)...)[0], nil)
	src := over(store, bucket.Config{})
	for _, tc := range []struct {
		limit int64
		want  error
	}{{64 << 20, nil}, {100 << 10, allocation.ErrTooMuch}} {
		budget := memory.New(tc.limit)
		ctx, _, done := budget.Within(t.Context(), "ask for less")
		for _, err := range src.Select(ctx, []promquery.Request{usage}, new(promquery.Stats)) {
			if !errors.Is(err, tc.want) {
				t.Errorf("limit %d: %v, want %v", tc.limit, err, tc.want)
			}
		}
		if used := budget.Stats().Used; used != 0 {
			t.Errorf("limit %d: %d bytes are not given back", tc.limit, used)
		}
		done()
	}
}

// TestIndexMemory draws the memory of an index before that is read.
func TestIndexMemory(t *testing.T) {
	t.Parallel()
	store := &counting{Bucket: objstore.NewInMemBucket()}
	var pods []string
	for i := range 2000 {
		pods = append(pods, fmt.Sprint("pod-with-a-long-name-", i))
	}
	upload(t, store, "", written(t, 6*time.Hour, used(begin, end, pods...)...)[0], nil)
	src := over(store, bucket.Config{})
	if _, _, err := src.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := store.bytes.Load()
	ctx, _, done := memory.New(10<<10).Within(t.Context(), "ask for less")
	defer done()
	for _, err := range src.Select(ctx, []promquery.Request{usage}, new(promquery.Stats)) {
		if !errors.Is(err, allocation.ErrTooMuch) {
			t.Errorf("%v, want %v", err, allocation.ErrTooMuch)
		}
	}
	if n := store.bytes.Load() - before; n > 1<<10 {
		t.Errorf("%d bytes are read that there is no memory for", n)
	}
}
