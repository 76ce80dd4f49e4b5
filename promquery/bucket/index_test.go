package bucket_test

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/promtest"
)

// parts are the parts of the index of a block: its symbols, its table of postings, the postings and the entry of its first series.
func parts(tb testing.TB) (symbols, table, postings, entry []byte) {
	tb.Helper()
	store := objstore.NewInMemBucket()
	upload(tb, store, "", written(tb, 6*time.Hour, used(begin, end, "p1", "p2")...)[0], nil)
	var data []byte
	for name, object := range store.Objects() {
		if name[len(name)-5:] == "index" {
			data = object
		}
	}
	section := func(at uint64) []byte { return data[at+4:][:binary.BigEndian.Uint32(data[at:])] }
	toc := data[len(data)-52:]
	at := func(i int) uint64 { return binary.BigEndian.Uint64(toc[8*i:]) }
	size, n := binary.Uvarint(data[(at(1)+15)/16*16:])
	return section(at(0)), section(at(5)), section((at(4) + 3) / 4 * 4), data[(at(1)+15)/16*16:][n:][:size]
}

// FuzzIndex decodes parts of an index whose checksums hold, whatever is in them.
func FuzzIndex(f *testing.F) {
	symbols, table, postings, entry := parts(f)
	f.Add(symbols, table, postings, entry)
	f.Add(symbols, table, postings, entry[:len(entry)/2])
	f.Add(symbols[:8], table[:9], postings[:5], []byte{})
	f.Add([]byte("\xff\xff\xff\xff"), []byte("\x00\x00\x00\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), []byte("\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x01"), []byte("\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, symbols, table, postings, entry []byte) {
		entries, chunks, err := bucket.DecodeIndex(symbols, table, postings, entry)
		if !slices.IsSorted(entries) || len(entries) > len(postings)/4 {
			t.Errorf("entries at %v", entries)
		}
		if chunks > len(entry) || err == nil && len(symbols) < 4 {
			t.Errorf("%d chunks in %d bytes, %v", chunks, len(entry), err)
		}
	})
}

// TestIndex decodes the parts of a sound index.
func TestIndex(t *testing.T) {
	t.Parallel()
	entries, chunks, err := bucket.DecodeIndex(parts(t))
	if err != nil || len(entries) != 2 || chunks != 3 {
		t.Errorf("entries at %v, %d chunks, %v", entries, chunks, err)
	}
}

// TestReads reads a day of a block of two weeks, and of several metrics at once: parts that are close to each other are one read.
func TestReads(t *testing.T) {
	t.Parallel()
	var list []promtest.Series
	for _, metric := range []string{"a", "usage", "z"} {
		for i, s := range used(begin-13*24*hour, begin+24*hour, "p1", "p2", "p3") {
			s.Labels = []string{"__name__", metric, "pod", s.Labels[3], "n", string(rune('a' + i))}
			list = append(list, s)
		}
	}
	dir := written(t, 14*24*time.Hour, list...)
	store := &counting{Bucket: objstore.NewInMemBucket()}
	size := 0
	for _, d := range dir {
		upload(t, store, "", d, nil)
	}
	for _, object := range store.Bucket.(*objstore.InMemBucket).Objects() {
		size += len(object)
	}
	src := over(store, bucket.Config{})
	all := []promquery.Request{usage, usage, usage}
	for i, metric := range []string{"a", "usage", "z"} {
		all[i].Metric, all[i].End = metric, begin+24*hour-1
	}
	got, stats, err := ask(t, src, all...)
	if err != nil || !stats.Whole() || got["|p1|"] != 3*24*60 || len(got) != 3 {
		t.Errorf("%v: %v, %+v", err, got, stats)
	}
	if stats.Requests > int64(8*len(dir)) || stats.Bytes > int64(size)/2 {
		t.Errorf("%d reads of %d bytes, of %d blocks of %d bytes", stats.Requests, stats.Bytes, len(dir), size)
	}
	before := store.reads.Load()
	if _, _, err := ask(t, src, all...); err != nil {
		t.Fatal(err)
	}
	if again := store.reads.Load() - before; again >= before-int64(len(dir)) {
		t.Errorf("%d reads where much was read before by %d", again, before)
	}
}

// TestLong reads a series whose entry in the index is longer than is read of one at first.
func TestLong(t *testing.T) {
	t.Parallel()
	const second, seconds = 1000, 4 * 86400
	long := promtest.Series{Labels: []string{"__name__", "usage", "pod", "p1"}, Samples: promtest.Regular(begin, begin+seconds*second-1, second, func(t int64) float64 { return float64(t-begin) / 1e3 })}
	store := objstore.NewInMemBucket()
	upload(t, store, "", written(t, 1000*24*time.Hour, long)[0], nil)
	whole := usage
	whole.End = begin + seconds*second
	got, stats, err := ask(t, over(store, bucket.Config{}), whole)
	if err != nil || !stats.Whole() || got["|p1|"] != seconds {
		t.Errorf("%v: %v, missing %q", err, got, stats.Missing())
	}
}

// TestConcurrent asks for the same at the same time.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	store := objstore.NewInMemBucket()
	for _, dir := range written(t, 2*time.Hour, used(begin, end, "p1", "p2")...) {
		upload(t, store, "", dir, nil)
	}
	src := over(store, bucket.Config{CacheBytes: 1, Refresh: 1})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			got, _, err := ask(t, src, usage)
			if diff := cmp.Diff(map[string]int{"|p1|": 360, "|p2|": 360}, got); diff != "" || err != nil {
				t.Errorf("%v, samples (-want +got):\n%s", err, diff)
			}
		})
	}
	all.Wait()
}
