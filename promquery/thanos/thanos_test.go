package thanos_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/thanos"
)

const (
	minute = int64(60_000)
	hour   = 60 * minute
	begin  = int64(1_767_571_200_000) // 2026-01-05T00:00:00Z
	end    = begin + 6*hour
)

// used are the series of some pods.
func used(replica string, pods ...string) (list []promtest.Series) {
	for i, pod := range pods {
		list = append(list, promtest.Series{
			Labels:  []string{"__name__", "usage", "pod", pod, "replica", replica},
			Samples: promtest.Regular(begin, end, minute, func(t int64) float64 { return float64(i+1) * float64(t-begin) / 1e3 }),
		})
	}
	return list
}

// store is a storage with series.
func store(t testing.TB, series ...promtest.Series) storage.ChunkQueryable {
	t.Helper()
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	opts := tsdb.DefaultOptions()
	opts.RetentionDuration = 1 << 50
	db, err := tsdb.Open(dir, nil, nil, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// over is a source over stores.
func over(t testing.TB, cfg thanos.Config, addresses ...string) *thanos.Source {
	t.Helper()
	cfg.Stores, cfg.Backoff = addresses, time.Millisecond
	src, err := thanos.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

// honest is a store that answers what q has.
func honest(t testing.TB, q storage.ChunkQueryable) func(promtest.StoreQuestion, grpc.ServerStream) error {
	return func(of promtest.StoreQuestion, stream grpc.ServerStream) error {
		return promtest.SendSeries(stream, of, promtest.StoreAnswer(t, q, of))
	}
}

// usage asks for all of it.
var usage = promquery.Request{Metric: "usage", Keep: promquery.Labels("pod"), Start: begin + 30*minute, End: end - 30*minute}

// ask joins the samples of each series, by its key.
func ask(t testing.TB, src promquery.Source) (map[string][]string, promquery.Stats, error) {
	t.Helper()
	got := map[string][]string{}
	stats, err := promtest.Select(t.Context(), src, []promquery.Request{usage}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
		for at, v := range p.All() {
			got[key[0].Value()] = append(got[key[0].Value()], fmt.Sprint((at-begin)/minute, "=", v))
		}
		return nil
	})
	return got, stats, err
}

// want are the samples of pods.
func want(pods ...string) map[string][]string {
	out := map[string][]string{}
	for i, pod := range pods {
		for k := int64(30); k <= 330; k++ {
			out[pod] = append(out[pod], fmt.Sprint(k, "=", float64(i+1)*float64(k*minute)/1e3))
		}
	}
	return out
}

// TestStores reads one store and several, of which some have the same chunks.
func TestStores(t *testing.T) {
	t.Parallel()
	all := store(t, used("a", "p1", "p2", "p3")...)
	first, last := store(t, used("a", "p1", "p2")...), store(t, append(used("a", "p1", "p2", "p3")[1:], promtest.Series{Labels: []string{"__name__", "other"}, Samples: promtest.Regular(begin, end, minute, func(int64) float64 { return 1 })})...)
	for _, tc := range []struct {
		name   string
		stores []storage.ChunkQueryable
	}{
		{"one", []storage.ChunkQueryable{all}},
		{"the same twice", []storage.ChunkQueryable{all, all}},
		{"parts that overlap", []storage.ChunkQueryable{last, first}},
		{"one without data", []storage.ChunkQueryable{store(t, used("a")...), all}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var addresses []string
			for _, q := range tc.stores {
				addresses = append(addresses, promtest.ServeStore(t, honest(t, q)))
			}
			got, stats, err := ask(t, over(t, thanos.Config{}, addresses...))
			if diff := cmp.Diff(want("p1", "p2", "p3"), got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if stats.Series != 3 || stats.Samples != 3*301 || stats.Requests != 1 || stats.Bytes == 0 || !stats.Whole() {
				t.Errorf("%+v", stats)
			}
		})
	}
}

// TestDataBegin finds the first hour of data.
func TestDataBegin(t *testing.T) {
	t.Parallel()
	src := over(t, thanos.Config{}, promtest.ServeStore(t, honest(t, store(t, used("a", "p1")...))))
	from, to := time.UnixMilli(begin).Add(-50*time.Hour).UTC(), time.UnixMilli(end).UTC()
	for _, tc := range []struct {
		metric string
		want   time.Time
	}{{"usage", time.UnixMilli(begin).UTC()}, {"nothing", to}} {
		if got, err := src.DataBegin(t.Context(), []string{tc.metric, "none"}, from, to); err != nil || !got.Equal(tc.want) {
			t.Errorf("%s: data begin at %s, %v; want %s", tc.metric, got, err, tc.want)
		}
	}
}

// field is a field of a message.
func field(number protowire.Number, text []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), text)
}

func chunkOf(t testing.TB, data []byte) chunkenc.Chunk {
	t.Helper()
	c, err := chunkenc.FromData(chunkenc.EncXOR, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHostile asks stores that fail, lie, or never end.
func TestHostile(t *testing.T) {
	t.Parallel()
	q := store(t, used("a", "p1", "p2", "p3")...)
	large := chunks.Meta{Chunk: chunkOf(t, make([]byte, 1<<20)), MinTime: begin, MaxTime: end}
	named := labels.FromStrings("__name__", "usage", "pod", "p1")
	part := func(of promtest.StoreQuestion) [][]byte { return promtest.StoreAnswer(t, q, of)[:3] }
	for _, tc := range []struct {
		name   string
		whole  bool
		times  int32 // how often it fails
		handle func(of promtest.StoreQuestion, stream grpc.ServerStream) error
		err    string // "" for the whole answer
		loss   string
	}{
		{"breaks off twice", false, 2, func(of promtest.StoreQuestion, stream grpc.ServerStream) error {
			of.Batch = 1
			if err := promtest.SendSeries(stream, of, part(of)); err != nil {
				return err
			}
			return status.Error(codes.Unavailable, "shutting down")
		}, "", ""},
		{"always breaks off", false, 1000, func(promtest.StoreQuestion, grpc.ServerStream) error {
			return status.Error(codes.Unavailable, "shutting down")
		}, "code = Unavailable desc = shutting down; see --thanos.store", ""},
		{"refuses", false, 1000, func(promtest.StoreQuestion, grpc.ServerStream) error {
			return status.Error(codes.PermissionDenied, "not you")
		}, "desc = not you", ""},
		{"leaves a store out", false, 1000, func(of promtest.StoreQuestion, stream grpc.ServerStream) error {
			if err := stream.SendMsg(field(2, []byte("receive series from store-2: gone"))); err != nil {
				return err
			}
			return promtest.SendSeries(stream, of, promtest.StoreAnswer(t, q, of))
		}, "", "receive series from store-2: gone"},
		{"leaves a store out of a whole answer", true, 1000, func(of promtest.StoreQuestion, _ grpc.ServerStream) error {
			if !of.Abort {
				return errors.New("was not promtest.StoreQuestion for all")
			}
			return status.Error(codes.Aborted, "receive series from store-2: gone")
		}, "receive series from store-2: gone", ""},
		{"is out of order", false, 1000, func(of promtest.StoreQuestion, stream grpc.ServerStream) error {
			list := promtest.StoreAnswer(t, q, of)
			of.Batch = 1
			return promtest.SendSeries(stream, of, append(list[2:], list[0]))
		}, "its series are not in the order of their labels", ""},
		{"sends no message", false, 1000, func(_ promtest.StoreQuestion, stream grpc.ServerStream) error {
			return stream.SendMsg([]byte("\xff\xff\xff"))
		}, "malformed message", ""},
		{"sends downsampled chunks", false, 1000, func(_ promtest.StoreQuestion, stream grpc.ServerStream) error {
			const count = "\x12\x04\x22\x02\x08\x00" // a chunk that has a count alone
			return stream.SendMsg(field(1, append(promtest.StoreSeries(named), count...)))
		}, "a chunk has no raw samples", ""},
		{"never ends a series", false, 1000, func(_ promtest.StoreQuestion, stream grpc.ServerStream) (err error) {
			msg := field(1, promtest.StoreSeries(named, large))
			for err == nil {
				err = stream.SendMsg(msg)
			}
			return err
		}, "a series of it has more than 64 MB", ""},
		{"hangs", false, 1000, func(_ promtest.StoreQuestion, stream grpc.ServerStream) error {
			<-stream.Context().Done()
			return stream.Context().Err()
		}, "no data for 300ms", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			src := over(t, thanos.Config{Whole: tc.whole, Timeout: 300 * time.Millisecond}, promtest.ServeStore(t, func(of promtest.StoreQuestion, stream grpc.ServerStream) error {
				if n.Add(1) <= tc.times {
					return tc.handle(of, stream)
				}
				return promtest.SendSeries(stream, of, promtest.StoreAnswer(t, q, of))
			}))
			got, stats, err := ask(t, src)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "read from the Thanos store 127.0.0.1:") {
					t.Errorf("%v, want %q", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(want("p1", "p2", "p3"), got); diff != "" || err != nil || stats.Series != 3 {
				t.Errorf("%v, %d series (-want +got):\n%s", err, stats.Series, diff)
			}
			if lost := fmt.Sprint(stats.Losses); !strings.Contains(lost, tc.loss) || stats.Whole() != (tc.loss == "") {
				t.Errorf("losses %s, want %q", lost, tc.loss)
			}
		})
	}
}

// TestUnreachable names a store that nobody answers at, and one whose address is none.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := promtest.Select(ctx, over(t, thanos.Config{}, "127.0.0.1:1"), []promquery.Request{usage}, nil)
	if err == nil || !strings.Contains(err.Error(), "read from the Thanos store 127.0.0.1:1: ") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
	for _, address := range []string{"", "thanos", "http://thanos:10901", "tls://"} {
		if _, err := thanos.New(thanos.Config{Stores: []string{address}}); err == nil || !strings.Contains(err.Error(), "give HOST:PORT of a gRPC endpoint") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
