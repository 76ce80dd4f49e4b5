package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// network is a server on a loopback port that can be stopped, which cuts its connections, and started again.
type network struct {
	t       *testing.T
	addr    string
	handler http.Handler

	mu  sync.Mutex
	srv *http.Server
}

// listen starts a server of the fake's handlers.
func listen(t *testing.T, f *fake) *network {
	t.Helper()
	n := &network{t: t, addr: "127.0.0.1:0", handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		h := f.handlers[r.URL.Path]
		f.mu.Unlock()
		if h == nil {
			h = http.NotFound
		}
		h(w, r)
	})}
	n.start()
	t.Cleanup(n.stop)
	return n
}

func (n *network) start() {
	l, err := net.Listen("tcp", n.address())
	if err != nil {
		n.t.Error(err)
		return
	}
	srv := &http.Server{Handler: n.handler, ReadHeaderTimeout: time.Minute}
	n.mu.Lock()
	n.addr, n.srv = l.Addr().String(), srv
	n.mu.Unlock()
	go func() { _ = srv.Serve(l) }() // ends when it is closed
}

func (n *network) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.srv.Close() // an error means that it is closed
}

func (n *network) address() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addr
}

func (n *network) source(t *testing.T, cfg remote.Config) *remote.Source {
	t.Helper()
	cfg.URL, cfg.Client = "http://"+n.address(), &http.Client{Transport: &http.Transport{}}
	if cfg.Backoff == 0 {
		cfg.Backoff = 20 * time.Millisecond
	}
	src, err := remote.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// part answers with the beginning of a body and lets it reach the client.
func part(t *testing.T, w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	if _, err := w.Write(body); err != nil {
		t.Error(err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Error(err)
	}
}

const (
	streamed = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"
	jsonType = "application/json"
)

// stream is a server's stream for two queries: series of one and of several frames, one with the same labels in both queries. ends
// are the ends of frames.
func stream(t testing.TB) (body []byte, ends []int) {
	t.Helper()
	add := func(query int64, lset string, chunks ...prompb.Chunk) {
		body = append(body, frame(t, query, lset, chunks...)...)
		ends = append(ends, len(body))
	}
	xor := func(first int64, n int) prompb.Chunk { return chunk(t, chunkenc.EncXOR, first, n) }
	add(0, "__name__=m,pod=a", xor(0, 3))
	add(0, "__name__=m,pod=a", xor(30, 2))
	add(0, "__name__=m,pod=a", xor(50, 2))
	add(0, "__name__=m,pod=b", xor(0, 4), xor(40, 2))
	add(1, "__name__=m,pod=a", xor(0, 1))
	add(1, "__name__=m,pod=c", xor(0, 2))
	add(1, "__name__=m,pod=c", xor(20, 1))
	return body, ends
}

// TestStreamResumes cuts a stream at every byte, and once more at every frame of the repetition: what comes is always
// the whole, each sample once.
func TestStreamResumes(t *testing.T) {
	body, ends := stream(t)
	f := newFake()
	f.handle("/api/v1/read", probed(frames(body)))
	want, wantStats, err := collect(t, f.source(t, remote.Config{MaxConcurrency: 1}), selector, selector)
	if err != nil {
		t.Fatal(err)
	}
	check := func(requests int64, cuts ...[]byte) {
		t.Helper()
		hs := []http.HandlerFunc{frames()}
		for _, c := range cuts {
			hs = append(hs, frames(c))
		}
		f := newFake()
		f.handle("/api/v1/read", sequence(append(hs, frames(body))...))
		got, stats, err := collect(t, f.source(t, remote.Config{MaxConcurrency: 1}), selector, selector)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("cut at %d of %d (-want +got):\n%s%v", len(cuts[0]), len(body), diff, err)
		}
		if stats.Series != wantStats.Series || stats.Samples != wantStats.Samples || stats.Requests != requests {
			t.Fatalf("cut at %d of %d: stats %+v, want %+v", len(cuts[0]), len(body), stats, wantStats)
		}
	}
	for n := range body {
		if n == 0 || slices.Contains(ends, n) {
			continue // without a connection, a fake cannot distinguish this from the end
		}
		check(2, body[:n])
		for _, end := range ends[:len(ends)-1] {
			check(3, body[:n], body[:end+1])
		}
	}
}

// TestMixedStream cuts a stream that answers queries in another order than asked. Then nothing is asked again, because it is
// unknown what was passed on.
func TestMixedStream(t *testing.T) {
	xor := chunk(t, chunkenc.EncXOR, 0, 1)
	mixed := slices.Concat(frame(t, 1, "pod=a", xor), frame(t, 0, "pod=a", xor), frame(t, 1, "pod=b", xor))
	f := newFake()
	f.handle("/api/v1/read", probed(frames(mixed, mixed[:9])))
	got, stats, err := collect(t, f.source(t, remote.Config{MaxConcurrency: 1}), selector, selector)
	if err == nil || !strings.Contains(err.Error(), "cut off inside a frame") || stats.Requests != 1 {
		t.Errorf("got %v after %d requests, want an error after one", err, stats.Requests)
	}
	if diff := cmp.Diff(map[string][]string{"0:a": {"0=1"}, "1:a": {"0=1"}, "1:b": {"0=1"}}, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestRestart restarts the server in the middle of an answer: the connection is cut, the next one refused, the one after
// answered 503 while the server starts, and then all is well.
func TestRestart(t *testing.T) {
	body, ends := stream(t)
	const answer = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},"values":[[0.01,"1"],[0.02,"2"]]},{"metric":{"pod":"b"},"values":[[0.01,"3"]]}]}}`
	for _, tc := range []struct {
		name, path, contentType string
		body                    []byte
		cut                     int
		mode                    remote.Mode
	}{
		{"remote read, inside a frame", "/api/v1/read", streamed, body, ends[3] + 9, remote.ModeRemoteRead},
		{"remote read, between frames", "/api/v1/read", streamed, body, ends[3], remote.ModeRemoteRead},
		{"remote read, at once", "/api/v1/read", streamed, body, 0, remote.ModeRemoteRead},
		{"query, inside a number", rangePath, jsonType, []byte(answer), strings.Index(answer, "3") + 1, remote.ModeQuery},
		{"query, between series", rangePath, jsonType, []byte(answer), strings.Index(answer, `,{"metric":{"pod":"b"}`), remote.ModeQuery},
		{"query, at the end", rangePath, jsonType, []byte(answer), len(answer) - 1, remote.ModeQuery},
	} {
		t.Run(tc.name, func(t *testing.T) {
			whole := text(tc.contentType, string(tc.body))
			sel := selector
			if tc.mode == remote.ModeQuery {
				sel.End, sel.Grid.Step = 100_000, 10
			}
			f := newFake()
			f.handle(tc.path, sequence(frames(), whole))
			if tc.mode == remote.ModeQuery {
				f.handle(tc.path, whole)
			}
			want, _, err := collect(t, f.source(t, remote.Config{Mode: tc.mode, MaxConcurrency: 1}), sel, sel)
			if err != nil {
				t.Fatal(err)
			}

			f = newFake()
			n := listen(t, f)
			src := n.source(t, remote.Config{Mode: tc.mode, MaxConcurrency: 1})
			if _, err := src.Mode(t.Context()); err != nil {
				t.Fatal(err)
			}
			back := make(chan struct{})
			f.handle(tc.path, sequence(func(w http.ResponseWriter, r *http.Request) {
				part(t, w, tc.contentType, tc.body[:tc.cut])
				go func() {
					defer close(back)
					n.stop()
					time.Sleep(10 * time.Millisecond) // refused for a while
					n.start()
				}()
				<-r.Context().Done() // until the connection is cut
			}, status(503, "text/plain", "Service Unavailable"), whole))
			got, _, err := collect(t, src, sel, sel)
			<-back
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("series (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestSlowLoris meets a server that stops sending in the midst of an answer: the request is given up and repeated.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	body, ends := stream(t)
	const answer = `{"status":"success","data":{"result":[{"metric":{"pod":"a"},"values":[[0.01,"1"]]}]}}`
	for _, tc := range []struct {
		name, path, contentType string
		body                    []byte
		cut                     int
		mode                    remote.Mode
	}{
		{"remote read", "/api/v1/read", streamed, body, ends[2], remote.ModeRemoteRead},
		{"query", rangePath, jsonType, []byte(answer), 50, remote.ModeQuery},
	} {
		for _, recovers := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, recovers %t", tc.name, recovers), func(t *testing.T) {
				t.Parallel()
				f := newFake()
				n := listen(t, f)
				src := n.source(t, remote.Config{Mode: tc.mode, MaxConcurrency: 1, Timeout: 2 * time.Second, Backoff: time.Millisecond})
				if _, err := src.Mode(t.Context()); err != nil {
					t.Fatal(err)
				}
				stops := func(w http.ResponseWriter, r *http.Request) {
					part(t, w, tc.contentType, tc.body[:tc.cut])
					<-r.Context().Done()
				}
				f.handle(tc.path, stops)
				if recovers {
					f.handle(tc.path, sequence(stops, stops, text(tc.contentType, string(tc.body))))
				}
				sel := selector
				if tc.mode == remote.ModeQuery {
					sel.End, sel.Grid.Step = 100_000, 10
				}
				got, stats, err := collect(t, src, sel, sel)
				switch {
				case recovers && (err != nil || len(got) == 0 || stats.Samples == 0):
					t.Errorf("got %v and %v", got, err)
				case !recovers && (err == nil || !strings.Contains(err.Error(), "no data for 2s")):
					t.Errorf("got %v, want an error that says how long nothing came", err)
				}
			})
		}
	}
}

// TestCancelReachesServer sees to it that the server learns at once that nobody waits any more: before it answers, in the
// midst of its answer, and that nothing is sent after a back-off.
func TestCancelReachesServer(t *testing.T) {
	body, _ := stream(t)
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		path, contentType, begun := "/api/v1/read", streamed, body
		if mode == remote.ModeQuery {
			path, contentType, begun = rangePath, jsonType, []byte(`{"status":"success","data":{"result":[`)
		}
		for _, answers := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, answers %t", mode, answers), func(t *testing.T) {
				f := newFake()
				n := listen(t, f)
				src := n.source(t, remote.Config{Mode: mode})
				if _, err := src.Mode(t.Context()); err != nil {
					t.Fatal(err)
				}
				arrived, ended := make(chan struct{}), make(chan time.Time, 1)
				f.handle(path, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // a server watches the connection only then
					if answers {
						part(t, w, contentType, begun)
					}
					close(arrived)
					<-r.Context().Done()
					ended <- time.Now()
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				canceled := make(chan time.Time, 1)
				go func() {
					<-arrived
					canceled <- time.Now()
					cancel()
				}()
				sel := selector
				sel.End, sel.Grid.Step = 100_000, 10
				_, err := promtest.Select(ctx, src, []promquery.Request{sel}, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				// The server learns it, within some 100 µs.
				if d := (<-ended).Sub(<-canceled); soak.On() && d > 100*time.Millisecond {
					t.Errorf("the server learned it after %v", d)
				}
			})
		}
	}
	t.Run("waiting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := newFake()
		f.handle("/api/v1/read", probed(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3600")
			status(429, "text/plain", "")(w, r)
			time.AfterFunc(time.Millisecond, cancel)
		}))
		src := f.source(t, remote.Config{})
		if _, err := promtest.Select(ctx, src, []promquery.Request{selector}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if n := f.count("/api/v1/read"); n != 2 {
			t.Errorf("%d requests, want the probe and one", n)
		}
	})
}

// TestTimeoutDivides meets a server that answers short questions only.
func TestTimeoutDivides(t *testing.T) {
	t.Parallel()
	f := newFake()
	n := listen(t, f)
	src := n.source(t, remote.Config{Mode: remote.ModeQuery, Timeout: time.Second})
	if _, err := src.Mode(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer := grid(t, math.MaxInt)
	f.handle(rangePath, func(w http.ResponseWriter, r *http.Request) {
		l := limited{t: t}
		if l.ms(r, "end")-l.ms(r, "start") > 2*hourMs {
			<-r.Context().Done()
			return
		}
		answer(w, r)
	})
	got, _, err := collect(t, src, promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: 1, End: 24 * hourMs, Grid: promquery.Grid{Step: minuteMs}})
	if len(got["0:a"]) != 24*60 || err != nil {
		t.Errorf("got %d samples, %v", len(got["0:a"]), err)
	}
}
