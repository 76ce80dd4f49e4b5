package bucket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/promtest"
)

const (
	minute = int64(60_000)
	hour   = 60 * minute
	begin  = int64(1_767_571_200_000) // 2026-01-05T00:00:00Z
	end    = begin + 6*hour
)

// counting counts the reads of a bucket and their bytes.
type counting struct {
	objstore.Bucket
	reads, bytes atomic.Int64
}

func (c *counting) GetRange(ctx context.Context, name string, off, length int64) (io.ReadCloser, error) {
	c.reads.Add(1)
	r, err := c.Bucket.GetRange(ctx, name, off, length)
	if err != nil {
		return nil, err
	}
	return &countingReader{r, c}, nil
}

func (c *counting) Attributes(ctx context.Context, name string) (objstore.ObjectAttributes, error) {
	c.reads.Add(1)
	return c.Bucket.Attributes(ctx, name)
}

type countingReader struct {
	io.ReadCloser
	of *counting
}

func (r *countingReader) Read(p []byte) (n int, err error) {
	n, err = r.ReadCloser.Read(p)
	r.of.bytes.Add(int64(n))
	return n, err
}

// used are the series of some pods within [from, to).
func used(from, to int64, pods ...string) (list []promtest.Series) {
	for i, pod := range pods {
		list = append(list, promtest.Series{
			Labels:  []string{"__name__", "usage", "pod", pod},
			Samples: promtest.Regular(from, to-1, minute, func(t int64) float64 { return float64(i+1) * float64(t-begin) / 1e3 }),
		})
	}
	return list
}

// written writes series as blocks of a length, and returns their directories, oldest first.
func written(t testing.TB, length time.Duration, list ...promtest.Series) []string {
	t.Helper()
	return promtest.WriteBlocks(t, t.TempDir(), length, list...)
}

// thanos is what Thanos adds to a meta.json.
func thanos(resolution int64, external ...string) map[string]any {
	labels := map[string]string{}
	for i := 0; i < len(external); i += 2 {
		labels[external[i]] = external[i+1]
	}
	return map[string]any{"thanos": map[string]any{"labels": labels, "downsample": map[string]any{"resolution": resolution}}}
}

// upload uploads a block into a directory of a bucket, with more in its meta.json.
func upload(t testing.TB, to objstore.Bucket, prefix, dir string, more map[string]any) {
	t.Helper()
	for _, name := range []string{"index", "chunks/000001", "meta.json"} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if name == "meta.json" {
			meta := map[string]any{}
			if err := json.Unmarshal(data, &meta); err != nil {
				t.Fatal(err)
			}
			maps.Copy(meta, more)
			if data, err = json.Marshal(meta); err != nil {
				t.Fatal(err)
			}
		}
		put(t, to, prefix+filepath.Base(dir)+"/"+name, data)
	}
}

func put(t testing.TB, to objstore.Bucket, name string, data []byte) {
	t.Helper()
	if err := to.Upload(context.Background(), name, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
}

// over is a source over a bucket that soon asks again.
func over(store objstore.Bucket, cfg bucket.Config) *bucket.Source {
	cfg.Bucket, cfg.Requests.Attempts, cfg.Requests.Backoff = store, 3, time.Millisecond
	return bucket.New(cfg)
}

// usage asks for all of it.
var usage = promquery.Request{Metric: "usage", Keep: promquery.Labels("cluster", "pod", "replica"), Start: begin, End: end - 1}

// ask counts the samples of each series, by its key, and checks their values.
func ask(t testing.TB, src promquery.Source, rs ...promquery.Request) (map[string]int, promquery.Stats, error) {
	t.Helper()
	got := map[string]int{}
	stats, err := promtest.Select(t.Context(), src, rs, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
		var parts []string
		for _, s := range key {
			parts = append(parts, s.Value())
		}
		for at, v := range p.All() {
			if factor := v * 1e3 / float64(at-begin); at > begin && factor != float64(int(factor+0.5)) {
				t.Errorf("%v at %d", v, at)
			}
			got[strings.Join(parts, "|")]++
		}
		return nil
	})
	return got, stats, err
}

// TestBlocks reads blocks as Thanos, Mimir and Cortex have them.
func TestBlocks(t *testing.T) {
	t.Parallel()
	whole := map[string]int{"|p1|": 360, "|p2|": 360}
	for _, tc := range []struct {
		name string
		cfg  bucket.Config
		fill func(t *testing.T, to objstore.Bucket)
		want map[string]int
		loss string // in what is missing; "" if nothing is
	}{
		{"of Thanos", bucket.Config{}, func(t *testing.T, to objstore.Bucket) {
			for _, dir := range written(t, 2*time.Hour, used(begin, end, "p1", "p2")...) {
				upload(t, to, "", dir, nil)
			}
			put(t, to, "debug/metas/readme.json", nil)
		}, whole, ""},
		{"external labels", bucket.Config{}, func(t *testing.T, to objstore.Bucket) {
			for i, dir := range written(t, 2*time.Hour, used(begin, end, "p1")...) {
				upload(t, to, "", dir, thanos(0, "cluster", "c"+strconv.Itoa(i/2)))
			}
		}, map[string]int{"c0|p1|": 240, "c1|p1|": 120}, ""},
		{"replicas that overlap", bucket.Config{ReplicaLabels: []string{"replica"}}, func(t *testing.T, to objstore.Bucket) {
			for i, list := range [][]promtest.Series{used(begin, begin+4*hour, "p1", "p2"), used(begin+hour, end, "p1", "p2")} {
				for _, dir := range written(t, 2*time.Hour, list...) {
					upload(t, to, "", dir, thanos(0, "cluster", "c", "replica", "r"+strconv.Itoa(i)))
				}
			}
		}, map[string]int{"c|p1|": 240 + 300, "c|p2|": 240 + 300}, ""},
		{"replicas by themselves", bucket.Config{}, func(t *testing.T, to objstore.Bucket) {
			for i, dir := range append(written(t, 6*time.Hour, used(begin, end, "p1")...), written(t, 6*time.Hour, used(begin, end, "p1")...)...) {
				upload(t, to, "", dir, thanos(0, "replica", "r"+strconv.Itoa(i)))
			}
		}, map[string]int{"|p1|r0": 360, "|p1|r1": 360}, ""},
		{"a tenant of Mimir", bucket.Config{Tenant: "shop"}, func(t *testing.T, to objstore.Bucket) {
			for _, tenant := range []string{"shop", "other"} {
				for _, dir := range written(t, 2*time.Hour, used(begin, end, map[string][]string{"shop": {"p1", "p2"}, "other": {"p1", "p3"}}[tenant]...)...) {
					upload(t, to, tenant+"/", dir, thanos(0, "__compactor_shard_id__", "1_of_1"))
				}
			}
			put(t, to, "shop/bucket-index.json.gz", nil)
			put(t, to, "shop/markers/tenant-deletion-mark.json", nil)
		}, whole, ""},
		{"marked for deletion by Mimir", bucket.Config{Tenant: "/shop/"}, func(t *testing.T, to objstore.Bucket) {
			dirs := written(t, 2*time.Hour, used(begin, end, "p1", "p2")...)
			for _, dir := range dirs {
				upload(t, to, "shop/", dir, nil)
			}
			put(t, to, "shop/markers/"+filepath.Base(dirs[2])+"-deletion-mark.json", nil)
			put(t, to, "shop/markers/"+filepath.Base(dirs[1])+"-no-compact-mark.json", nil)
		}, map[string]int{"|p1|": 240, "|p2|": 240}, ""},
		{"marked for deletion by Thanos", bucket.Config{}, func(t *testing.T, to objstore.Bucket) {
			dirs := written(t, 2*time.Hour, used(begin, end, "p1", "p2")...)
			for _, dir := range dirs {
				upload(t, to, "", dir, nil)
			}
			put(t, to, filepath.Base(dirs[0])+"/deletion-mark.json", nil)
			put(t, to, filepath.Base(dirs[1])+"/no-compact-mark.json", nil)
		}, map[string]int{"|p1|": 240, "|p2|": 240}, ""},
		{"downsampled beside raw ones", bucket.Config{}, func(t *testing.T, to objstore.Bucket) {
			for _, dir := range written(t, 2*time.Hour, used(begin, end, "p1", "p2")...) {
				upload(t, to, "", dir, thanos(0))
			}
			upload(t, to, "", written(t, 6*time.Hour, used(begin, end, "p1", "p9")...)[0], thanos(300_000))
		}, whole, ""},
		{"downsampled alone", bucket.Config{}, func(t *testing.T, to objstore.Bucket) {
			dirs := written(t, 2*time.Hour, used(begin, end, "p1", "p2")...)
			upload(t, to, "", dirs[0], thanos(300_000))
			upload(t, to, "", dirs[1], thanos(0))
			upload(t, to, "", dirs[2], thanos(0))
		}, map[string]int{"|p1|": 240, "|p2|": 240}, "its samples were downsampled, and no block has the raw ones"},
		{"downsampled beside a replica's raw ones", bucket.Config{ReplicaLabels: []string{"replica"}}, func(t *testing.T, to objstore.Bucket) {
			for _, dir := range written(t, 2*time.Hour, used(begin, end, "p1", "p2")...) {
				upload(t, to, "", dir, thanos(0, "replica", "a"))
			}
			upload(t, to, "", written(t, 6*time.Hour, used(begin, end, "p1")...)[0], thanos(300_000, "replica", "b"))
		}, whole, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := objstore.NewInMemBucket()
			tc.fill(t, store)
			got, stats, err := ask(t, over(store, tc.cfg), usage)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v, samples (-want +got):\n%s", err, diff)
			}
			if told := strings.Join(stats.Missing(), "\n"); !strings.Contains(told, tc.loss) || stats.Whole() != (tc.loss == "") {
				t.Errorf("missing %q, want %q", told, tc.loss)
			}
		})
	}
}

// TestReplaced reads neither twice: a block that was compacted, nor those that it replaces and that are there for a while.
func TestReplaced(t *testing.T) {
	t.Parallel()
	store := &counting{Bucket: objstore.NewInMemBucket()}
	var sources []string
	for _, dir := range written(t, 2*time.Hour, used(begin, end, "p1")...) {
		sources = append(sources, filepath.Base(dir))
		upload(t, store, "", dir, nil)
	}
	compacted := written(t, 6*time.Hour, used(begin, end, "p1")...)[0]
	upload(t, store, "", compacted, map[string]any{"compaction": map[string]any{"level": 2, "sources": sources}})
	got, stats, err := ask(t, over(store, bucket.Config{}), usage)
	if diff := cmp.Diff(map[string]int{"|p1|": 360}, got); diff != "" || err != nil || !stats.Whole() {
		t.Errorf("%v, samples (-want +got):\n%s", err, diff)
	}
	const metas, index, entries, chunks = 4, 4, 2, 1
	if n := store.reads.Load(); n != metas+index+entries+chunks {
		t.Errorf("%d reads, want those of one block", n)
	}
}

// TestTimes checks when data begin and end.
func TestTimes(t *testing.T) {
	t.Parallel()
	store := objstore.NewInMemBucket()
	for _, dir := range written(t, 2*time.Hour, used(begin+90*minute, end, "p1")...) {
		upload(t, store, "", dir, nil)
	}
	src := over(store, bucket.Config{})
	if oldest, newest, err := src.Settled(t.Context()); oldest != begin+90*minute || newest != end-minute+1 || err != nil {
		t.Errorf("blocks of [%d, %d), %v", oldest-begin, newest-begin, err)
	}
	at := func(ms int64) time.Time { return time.UnixMilli(begin + ms).UTC() }
	for _, tc := range []struct{ from, to, want time.Time }{
		{at(-50 * hour), at(6 * hour), at(hour)},
		{at(2 * hour), at(6 * hour), at(2 * hour)},
		{at(-2 * hour), at(0), at(0)},
		{at(7 * hour), at(8 * hour), at(8 * hour)},
	} {
		if got, err := src.DataBegin(t.Context(), []string{"usage"}, tc.from, tc.to); err != nil || !got.Equal(tc.want) {
			t.Errorf("from %s to %s, data begin at %s, %v; want %s", tc.from, tc.to, got, err, tc.want)
		}
	}
}

// TestReplicas reads replicas as series of one key, each by itself: their counters differ, and joined they would seem to reset.
func TestReplicas(t *testing.T) {
	t.Parallel()
	store := objstore.NewInMemBucket()
	for i, name := range []string{"r0", "r1"} {
		late := int64(i) * 20
		for _, dir := range written(t, 2*time.Hour, promtest.Series{
			Labels:  []string{"__name__", "usage", "pod", "p1"},
			Samples: promtest.Regular(begin+late, end-1, minute, func(at int64) float64 { return float64(at - begin - 3*late) }),
		}) {
			upload(t, store, "", dir, thanos(0, "replica", name))
		}
	}
	series := 0
	_, err := promtest.Select(t.Context(), over(store, bucket.Config{ReplicaLabels: []string{"replica"}}), []promquery.Request{usage}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
		series++
		if got := [3]string{key[0].Value(), key[1].Value(), key[2].Value()}; got != [3]string{"", "p1", ""} {
			t.Errorf("key %q", got)
		}
		last := math.Inf(-1)
		for at, v := range p.All() {
			if v < last {
				t.Fatalf("%v after %v at %d", v, last, at-begin)
			}
			last = v
		}
		return nil
	})
	if err != nil || series != 2 {
		t.Errorf("%d series, %v, want one of each replica", series, err)
	}
}

// TestWithout leaves out labels that a server beside the blocks does not show, and matches as if they were not there.
func TestWithout(t *testing.T) {
	t.Parallel()
	store := objstore.NewInMemBucket()
	upload(t, store, "", written(t, 6*time.Hour, used(begin, end, "p1")...)[0], thanos(0, "cluster", "c", "replica", "a"))
	src := over(store, bucket.Config{}).Without(map[string]string{"replica": "a", "cluster": "other"})
	for _, tc := range []struct {
		name    string
		matcher promquery.Matcher
		want    map[string]int
	}{
		{"hidden and absent", promquery.Matcher{Name: "replica", Type: promquery.MatchEqual, Value: ""}, map[string]int{"c|p1|": 360}},
		{"hidden and named", promquery.Matcher{Name: "replica", Type: promquery.MatchEqual, Value: "a"}, map[string]int{}},
		{"of another value", promquery.Matcher{Name: "cluster", Type: promquery.MatchEqual, Value: "c"}, map[string]int{"c|p1|": 360}},
	} {
		q := usage
		q.Matchers = []promquery.Matcher{tc.matcher}
		got, _, err := ask(t, src, q)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, samples (-want +got):\n%s", tc.name, err, diff)
		}
	}
}
