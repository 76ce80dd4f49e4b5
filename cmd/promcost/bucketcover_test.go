package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/attempts"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/bucket"
)

// heldBlocks is a bucket that has blocks of [oldest, newest), in hours, but for gaps.
type heldBlocks struct {
	oldest, newest int64
	gaps           []promquery.Gap
	err            error
}

func (b *heldBlocks) Settled(context.Context) (oldest, newest int64, err error) {
	return b.oldest * hourMilli, b.newest * hourMilli, b.err
}

func (b *heldBlocks) Gaps(_ context.Context, from, to int64) (out []promquery.Gap, err error) {
	for _, g := range b.gaps {
		if g = (promquery.Gap{From: max(g.From, from), To: min(g.To, to)}); g.From < g.To {
			out = append(out, g)
		}
	}
	return out, nil
}

func (b *heldBlocks) Without(map[string]string) promquery.Source { return namedSource("blocks") }

// namedSource gives nothing.
type namedSource string

func (namedSource) Select(context.Context, []promquery.Request, *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return func(func(promquery.Series, error) bool) {}
}

// heldServer is a server with samples since begin, in hours.
type heldServer struct {
	namedSource
	begin int64
	err   error
}

func (s *heldServer) DataBegin(_ context.Context, _ []string, from, _ time.Time) (time.Time, error) {
	return time.UnixMilli(max(s.begin*hourMilli, from.UnixMilli())), s.err
}

func (s *heldServer) ExternalLabels(context.Context) (map[string]string, error) { return nil, s.err }

const hourMilli = int64(time.Hour / time.Millisecond)

// TestBucketCover divides time between a bucket and a server, each of which may have less than the other, or not answer.
func TestBucketCover(t *testing.T) {
	t.Parallel()
	errDown := errors.New("connection refused")
	const first = 490_000 // in hours, in the year 2025
	gap := func(from, to int64) promquery.Gap {
		return promquery.Gap{From: from * hourMilli, To: to * hourMilli}
	}
	for _, tc := range []struct {
		name   string
		bucket heldBlocks
		server heldServer
		until  int64 // in hours
		gaps   []promquery.Gap
		rest   string
		want   string // in the error
	}{
		{"both", heldBlocks{oldest: first, newest: first + 1000}, heldServer{begin: first + 600}, first + 640, nil, "namedSource", ""},
		{
			"both for long, with gaps",
			heldBlocks{oldest: first, newest: first + 1000, gaps: []promquery.Gap{gap(first+500, first+620), gap(first+700, first+800)}},
			heldServer{begin: first + 600},
			first + 640,
			[]promquery.Gap{gap(first+600, first+620)},
			"namedSource", "",
		},
		{"a young server", heldBlocks{oldest: first, newest: first + 1000}, heldServer{begin: first + 998}, first + 1000, nil, "namedSource", ""},
		{"no common time", heldBlocks{oldest: first, newest: first + 1000}, heldServer{begin: first + 1200}, first + 1200, nil, "namedSource", ""},
		{"a young bucket", heldBlocks{oldest: first, newest: first + 20}, heldServer{begin: first - 500}, first + 3, []promquery.Gap{{From: promquery.Ever, To: first * hourMilli}}, "namedSource", ""},
		{"an empty bucket", heldBlocks{err: fmt.Errorf("it %w", bucket.ErrNoBlocks)}, heldServer{begin: first}, 0, nil, "namedSource", ""},
		{"no bucket", heldBlocks{err: errDown}, heldServer{begin: first}, first, nil, "lostBucket", ""},
		{"no server", heldBlocks{oldest: first, newest: first + 1000}, heldServer{err: errDown}, first + 1000, nil, "namedSource", ""},
		{"neither", heldBlocks{err: errDown}, heldServer{err: errDown}, 0, nil, "<nil>", "since when the server has samples: connection refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := newBucketCover(&tc.bucket, &tc.server, time.Minute).get(t.Context())
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			want := promquery.Cover{Until: tc.until * hourMilli, Gaps: tc.gaps}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(promquery.Cover{}, "Rest")); diff != "" || !strings.HasSuffix(fmt.Sprintf("%T", got.Rest), tc.rest) {
				t.Errorf("rest %T, want %s; cover (-want +got):\n%s", got.Rest, tc.rest, diff)
			}
		})
	}
}

// TestBucketCoverLast keeps what was found while one of both does not answer.
func TestBucketCoverLast(t *testing.T) {
	t.Parallel()
	store, server := &heldBlocks{oldest: 490_000, newest: 491_000}, &heldServer{begin: 490_600}
	c := newBucketCover(store, server, time.Minute)
	want, err := c.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, harm := range []func(error){func(err error) { store.err = err }, func(err error) { server.err = err }} {
		harm(errors.New("connection refused"))
		c.until = time.Time{}
		if got, err := c.get(t.Context()); err != nil || got.Until != want.Until {
			t.Errorf("until %d, %v, want %d", got.Until, err, want.Until)
		}
	}
	c.asking <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("who is not waited for gets %v", err)
	}
}

// TestLostBucket says what is missing to who waits, and fails for what can be computed later.
func TestLostBucket(t *testing.T) {
	t.Parallel()
	errDown := errors.New("connection refused")
	for _, tc := range []struct {
		name string
		ctx  context.Context
		want error
		lost int
	}{{"asked", t.Context(), nil, 1}, {"in the background", promquery.Background(t.Context()), errDown, 0}} {
		var stats promquery.Stats
		var err error
		for _, e := range (lostBucket{until: 1000, err: errDown}).Select(tc.ctx, []promquery.Request{{Start: 10, End: 990}}, &stats) {
			err = e
		}
		if !errors.Is(err, tc.want) || len(stats.Losses) != tc.lost {
			t.Errorf("%s: %v, lost %v", tc.name, err, stats.Missing())
		}
	}
}

// TestLastEnd closes no hour that blocks in a bucket may not have yet: the last known end counts while the bucket does not answer.
func TestLastEnd(t *testing.T) {
	t.Parallel()
	errDown := errors.New("503 slow down")
	store, l := &heldBlocks{err: errDown}, &lastEnd{}
	if _, err := l.of(store); !errors.Is(err, errDown) {
		t.Errorf("%v, want %v", err, errDown)
	}
	store.err, store.newest, l.again = nil, 490_000, time.Time{}
	if end, err := l.of(store); err != nil || end != 490_000*hourMilli {
		t.Errorf("%d, %v", end, err)
	}
	store.err, store.newest = errDown, 0
	if end, err := l.of(store); err != nil || end != 490_000*hourMilli {
		t.Errorf("%d, %v, want the last one", end, err)
	}
}

// downBucket is an object store that does not answer.
type downBucket struct{ objstore.Bucket }

func (downBucket) Iter(context.Context, string, func(string) error, ...objstore.IterOption) error {
	return errors.New("503 slow down")
}

// TestClockBucket closes no hour as long as it is not known what a bucket has, and asks for all hours where a server beside it may have some.
func TestClockBucket(t *testing.T) {
	t.Parallel()
	w := allocation.Window{Start: time.UnixMilli(490_000 * hourMilli).UTC(), End: time.UnixMilli(490_100 * hourMilli).UTC()}
	late := w.Start.Add(10 * time.Hour)
	for _, tc := range []struct {
		name  string
		store objstore.Bucket
		err   error // of the server
		begin time.Time
	}{
		{"a bucket that is down", downBucket{objstore.NewInMemBucket()}, nil, w.Start},
		{"an empty bucket", objstore.NewInMemBucket(), nil, late},
		{"a server that is down", objstore.NewInMemBucket(), errors.New("connection refused"), w.Start},
	} {
		src := bucket.New(bucket.Config{Bucket: tc.store, Requests: attempts.Options{Attempts: 1}})
		alone := &opened{bucket: src, server: src}
		if now := alone.clock(time.Hour)(); now.Year() > 1970 {
			t.Errorf("%s: hours before %s are closed", tc.name, now)
		}
		beside := &opened{bucket: src, server: &heldServer{begin: 490_010, err: tc.err}}
		if begin, err := beside.begin(t.Context(), w); err != nil || !begin.Equal(tc.begin) {
			t.Errorf("%s: data begin at %s, %v; want %s", tc.name, begin, err, tc.begin)
		}
	}
}
