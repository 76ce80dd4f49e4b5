package remote_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

func TestNewRejects(t *testing.T) {
	for _, tc := range []struct{ name, url, want string }{
		{"empty", "", "http://prometheus:9090"},
		{"no scheme", "prometheus:9090", "http://prometheus:9090"},
		{"other scheme", "file:///tmp/x", "http://prometheus:9090"},
		{"no host", "http://", "http://prometheus:9090"},
		{"unparsable", "http://user:secret@host:port/", "--prometheus.url"},
		{"password", "ftp://user:secret@host/", "--prometheus.url"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := remote.New(remote.Config{URL: tc.url})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error with %q and no secret", err, tc.want)
			}
		})
	}
	if _, err := remote.New(remote.Config{URL: "http://h", Mode: "thrift"}); err == nil || !strings.Contains(err.Error(), "thrift") {
		t.Errorf("unknown mode: got %v", err)
	}
}

const html = "<!doctype html><title>Grafana</title>"

// TestErrors sees to it that each failure names the server, the cause and the remedy.
func TestErrors(t *testing.T) {
	const query, read = "/api/v1/query", "/api/v1/read"
	good := frame(t, 0, "pod=a", chunk(t, chunkenc.EncXOR, 10, 5))
	badSum := append([]byte(nil), good...)
	badSum[len(badSum)-1] ^= 1
	for _, tc := range []struct {
		name, path string
		handler    http.HandlerFunc
		want       []string
	}{
		{"unauthorized", query, status(401, "text/plain", "Unauthorized"), []string{"401 Unauthorized", "--prometheus.http-config"}},
		{"forbidden", query, status(403, "text/plain", "no"), []string{"403 Forbidden: no", "--prometheus.http-config"}},
		{"not found", query, status(404, "text/plain", "404 page not found"), []string{"not a Prometheus API", "404", "--prometheus.url"}},
		{"not found in HTML", query, status(404, "text/html; charset=utf-8", html), []string{"not a Prometheus API", "404", "--prometheus.url"}},
		{"HTML", query, text("text/html", html), []string{"not a Prometheus API", "got HTML", "--prometheus.url"}},
		{"other JSON", query, text("application/json", `{"hello":"world"}`), []string{"not a Prometheus API", "other than JSON"}},
		{"API's error", query, status(422, "application/json", `{"status":"error","errorType":"execution","error":"query timed out"}`), []string{"422", "query timed out"}},
		{"overloaded", query, status(503, "text/plain", "try later"), []string{"6 tries", "503", "try later", "not ready", "--query.max-concurrency"}},
		{"internal error", query, status(500, "text/plain", "boom"), []string{"500", "boom"}},

		{"read unauthorized", read, probed(status(401, "text/plain", "")), []string{"401 Unauthorized", "--prometheus.http-config"}},
		{"read refused", read, probed(status(400, "text/plain", "exceeded sample limit (10)\n")), []string{"/api/v1/read was refused", "exceeded sample limit (10)"}},
		{"read answers otherwise", read, probed(text("text/html", html)), []string{"content type text/html"}},
		{"cut in a frame", read, probed(frames(good[:len(good)-3])), []string{"6 tries", "cut off inside a frame"}},
		{"cut in a checksum", read, probed(frames(good[:3])), []string{"cut off inside a frame"}},
		{"wrong checksum", read, probed(frames(badSum)), []string{"checksum"}},
		{"too large", read, probed(frames([]byte{0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3, 4})), []string{"exceeds the limit"}},
		{"claims more than there is", read, probed(frames([]byte{0x80, 0x80, 0x80, 0x10, 1, 2, 3, 4, 5})), []string{"cut off"}},
		{"no message", read, probed(frames(seal([]byte{0x0f, 0xff}))), []string{"not a protobuf message"}},
		{"no series", read, probed(frames(seal([]byte{0x0a, 0x01, 0x0f}))), []string{"not a protobuf message"}},
		{"unasked query", read, probed(frames(frame(t, 7, "pod=a"))), []string{"not asked"}},
		{"error in the stream", read, probed(frames([]byte("query processing timed out\n"))), []string{"the server broke off: query processing timed out"}},
		{"error after frames", read, probed(frames(good, []byte("tsdb: out of memory\n"))), []string{"the server broke off: tsdb: out of memory"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle(tc.path, tc.handler)
			_, _, err := collect(t, f.source(t, remote.Config{}), selector)
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range append(tc.want, "http://prometheus.test") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q: %v", want, err)
				}
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := remote.New(remote.Config{URL: "http://user:secret@" + addr, Backoff: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = collect(t, src, selector)
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{addr, "connection refused", "is Prometheus running there?", "--prometheus.url"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("error shows the password: %v", err)
	}
}

// TestDetectsAgain sees to it that a failure is not remembered and a success is.
func TestDetectsAgain(t *testing.T) {
	f := newFake()
	good := f.handlers["/api/v1/query"]
	f.handle("/api/v1/query", status(404, "text/plain", ""))
	src := f.source(t, remote.Config{})
	if _, _, err := collect(t, src, selector); err == nil {
		t.Fatal("got no error")
	}
	f.handle("/api/v1/query", good)
	for range 2 {
		if _, _, err := collect(t, src, selector); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count("/api/v1/status/config"); n != 1 {
		t.Errorf("asked %d times, want once after the attempt that failed", n)
	}
}

func TestMode(t *testing.T) {
	snappy := text("application/x-protobuf", "\x00")
	for _, tc := range []struct {
		name string
		mode remote.Mode
		read http.HandlerFunc
		want remote.Mode
		err  string
	}{
		{"auto, streams", remote.ModeAuto, frames(), remote.ModeRemoteRead, ""},
		{"auto, no such path", remote.ModeAuto, http.NotFound, remote.ModeQuery, ""},
		{"auto, unsupported path", remote.ModeAuto, status(400, "text/plain", "unsupported path requested"), remote.ModeQuery, ""},
		{"auto, does not stream", remote.ModeAuto, snappy, remote.ModeQuery, ""},
		{"auto, a page for everything", remote.ModeAuto, text("text/html", html), remote.ModeQuery, ""},
		{"auto, not implemented", remote.ModeAuto, status(501, "text/plain", ""), remote.ModeQuery, ""},
		{"auto, overloaded", remote.ModeAuto, status(503, "text/plain", ""), remote.ModeQuery, ""},
		{"remote read, overloaded", remote.ModeRemoteRead, status(503, "text/plain", ""), "", "503"},
		{"auto, overloaded for a moment", remote.ModeAuto, sequence(status(503, "text/plain", ""), frames()), remote.ModeRemoteRead, ""},
		{"auto, too many requests", remote.ModeAuto, status(429, "text/plain", ""), "", "429"},
		{"auto, broken", remote.ModeAuto, status(500, "text/plain", "boom"), remote.ModeQuery, ""},
		{"remote read, broken", remote.ModeRemoteRead, status(500, "text/plain", "boom"), "", "500 Internal Server Error: boom"},
		{"query", remote.ModeQuery, frames(), remote.ModeQuery, ""},
		{"remote read", remote.ModeRemoteRead, frames(), remote.ModeRemoteRead, ""},
		{"remote read, not streamed", remote.ModeRemoteRead, snappy, "", "does not stream remote read"},
		{"remote read, no such path", remote.ModeRemoteRead, http.NotFound, "", "does not stream remote read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/read", tc.read)
			got, err := f.source(t, remote.Config{Mode: tc.mode}).Mode(t.Context())
			if got != tc.want || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestExternalLabels(t *testing.T) {
	yaml := text("application/json", `{"status":"success","data":{"yaml":"global:\n  external_labels:\n    cluster: eu-1\n    replica: a\n"}}`)
	for _, tc := range []struct {
		name    string
		config  http.HandlerFunc
		given   map[string]string
		want    map[string]string
		keyOfAB string // the key of a series with cluster=eu-1, pod=a
	}{
		{"learnt", yaml, nil, map[string]string{"cluster": "eu-1", "replica": "a"}, "0:|a"},
		{"given", yaml, map[string]string{"region": "x"}, map[string]string{"region": "x"}, "0:eu-1|a"},
		{"none", newFake().handlers["/api/v1/status/config"], nil, map[string]string{}, "0:eu-1|a"},
		{"kept to itself", http.NotFound, nil, map[string]string{}, "0:eu-1|a"},
		{"a page for everything", text("text/html", html), nil, map[string]string{}, "0:eu-1|a"},
		{"odd YAML", text("application/json", `{"status":"success","data":{"yaml":"\t: ["}}`), nil, map[string]string{}, "0:eu-1|a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/status/config", tc.config)
			f.handle("/api/v1/read", probed(frames(frame(t, 0, "cluster=eu-1,pod=a", chunk(t, chunkenc.EncXOR, 0, 1)))))
			src := f.source(t, remote.Config{ExternalLabels: tc.given})
			got, err := src.ExternalLabels(t.Context())
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("labels (-want +got):\n%s%v", diff, err)
			}
			sel := selector
			sel.Keep = promquery.Labels("cluster", "pod")
			samples, _, err := collect(t, src, sel)
			if diff := cmp.Diff(map[string][]string{tc.keyOfAB: {"0=1"}}, samples); diff != "" || err != nil {
				t.Errorf("series (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestFrames decodes what a server may stream.
func TestFrames(t *testing.T) {
	xor := func(first int64, n int) prompb.Chunk { return chunk(t, chunkenc.EncXOR, first, n) }
	histogram := prompb.Chunk{Type: prompb.Chunk_HISTOGRAM, Data: []byte{0, 1, 2}}
	broken := prompb.Chunk{Type: prompb.Chunk_XOR, Data: []byte{0, 9, 2}, MinTimeMs: 1000, MaxTimeMs: 2000}
	for _, tc := range []struct {
		name   string
		frames [][]byte
		want   map[string][]string
		series int64
		warns  []string
	}{
		{"nothing", nil, map[string][]string{}, 0, nil},
		{"one series", [][]byte{frame(t, 0, "pod=a", xor(0, 2))}, map[string][]string{"0:a": {"0=1", "10=2"}}, 1, nil},
		{"series in two frames", [][]byte{frame(t, 0, "pod=a", xor(0, 2)), frame(t, 0, "pod=a", xor(20, 1))}, map[string][]string{"0:a": {"0=1", "10=2", "20=1"}}, 1, nil},
		{"frames that overlap", [][]byte{frame(t, 0, "pod=a", xor(0, 3)), frame(t, 0, "pod=a", xor(10, 3))}, map[string][]string{"0:a": {"0=1", "10=2", "20=3", "30=3"}}, 1, nil},
		{"chunks that overlap", [][]byte{frame(t, 0, "pod=a", xor(0, 3), xor(5, 3))}, map[string][]string{"0:a": {"0=1", "5=1", "10=2", "15=2", "20=3", "25=3"}}, 1, nil},
		{"two series alike in key", [][]byte{frame(t, 0, "pod=a,uid=1", xor(0, 1)), frame(t, 0, "pod=a,uid=2", xor(0, 1))}, map[string][]string{"0:a": {"0=1", "0=1"}}, 2, nil},
		{"two queries", [][]byte{frame(t, 0, "pod=a", xor(0, 1)), frame(t, 1, "pod=a", xor(0, 1))}, map[string][]string{"0:a": {"0=1"}, "1:a": {"0=1"}}, 2, nil},
		{"XOR2", [][]byte{frame(t, 0, "pod=a", chunk(t, chunkenc.EncXOR2, 0, 3))}, map[string][]string{"0:a": {"0=1", "10=2", "20=3"}}, 1, nil},
		{"histograms", [][]byte{frame(t, 0, "pod=a", xor(0, 1), histogram)}, map[string][]string{"0:a": {"0=1"}}, 1, []string{"1 chunk of native histograms"}},
		{"malformed chunk", [][]byte{frame(t, 0, "pod=a", xor(0, 1), broken)}, map[string][]string{"0:a": {"0=1"}}, 1, []string{"1 malformed chunk"}},
		{"series without chunks", [][]byte{frame(t, 0, "pod=a")}, map[string][]string{}, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/read", probed(frames(tc.frames...)))
			got, stats, err := collect(t, f.source(t, remote.Config{MaxConcurrency: 1}), selector, selector)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			if stats.Series != tc.series || stats.Requests != 1 {
				t.Errorf("got %d series from %d requests, want %d from 1", stats.Series, stats.Requests, tc.series)
			}
			if len(stats.Warnings) != len(tc.warns) {
				t.Fatalf("got warnings %q, want %q", stats.Warnings, tc.warns)
			}
			for i, want := range tc.warns {
				if !strings.Contains(stats.Warnings[i], want) {
					t.Errorf("warning %q lacks %q", stats.Warnings[i], want)
				}
			}
		})
	}
}

// TestRetries sees to it that what may pass is asked again, and nothing handed on twice.
func TestRetries(t *testing.T) {
	good := frame(t, 0, "pod=a", chunk(t, chunkenc.EncXOR, 0, 1))
	busy := status(503, "text/plain", "")
	all := map[string][]string{"0:a": {"0=1"}}
	for _, tc := range []struct {
		name     string
		handlers []http.HandlerFunc
		want     map[string][]string
		requests int64
		fails    bool
	}{
		{"good at once", []http.HandlerFunc{frames(good)}, all, 1, false},
		{"twice busy", []http.HandlerFunc{busy, status(429, "text/plain", ""), frames(good)}, all, 3, false},
		{"always busy", []http.HandlerFunc{busy}, map[string][]string{}, 6, true},
		{"bad request", []http.HandlerFunc{status(400, "text/plain", ""), frames(good)}, map[string][]string{}, 1, true},
		{"cut before the first series", []http.HandlerFunc{frames(good[:9]), frames(good)}, all, 2, false},
		{"cut after the first series", []http.HandlerFunc{frames(good, good[:9]), frames(good)}, all, 2, false},
		{"always cut after the first series", []http.HandlerFunc{frames(good, good[:9])}, all, 6, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/read", sequence(append([]http.HandlerFunc{frames()}, tc.handlers...)...))
			got, stats, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeRemoteRead}), selector)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			if stats.Requests != tc.requests || (err != nil) != tc.fails {
				t.Errorf("got %d requests and %v, want %d, failure %t", stats.Requests, err, tc.requests, tc.fails)
			}
		})
	}
}

// TestParallel sees to it that requests share the selectors and yield is called by one at a time.
func TestParallel(t *testing.T) {
	f := newFake()
	f.handle("/api/v1/read", probed(frames(
		frame(t, 0, "pod=a", chunk(t, chunkenc.EncXOR, 0, 100)), frame(t, 0, "pod=b", chunk(t, chunkenc.EncXOR, 0, 100)),
		frame(t, 1, "pod=a", chunk(t, chunkenc.EncXOR, 0, 100)),
	)))
	sels := make([]promquery.Request, 6)
	for i := range sels {
		sels[i] = selector
	}
	perSelector := make([]int, len(sels)) // written without a lock: the race detector watches
	stats, err := promtest.Select(t.Context(), f.source(t, remote.Config{MaxConcurrency: 3}), sels, func(i int, _ []promquery.Symbol, _ *timeline.Points) error {
		perSelector[i]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{2, 2, 2, 1, 1, 1}, perSelector); diff != "" || stats.Requests != 3 {
		t.Errorf("%d requests, series of each selector (-want +got):\n%s", stats.Requests, diff)
	}
}

// TestCancelMidway cancels while the server holds its answer back.
func TestCancelMidway(t *testing.T) {
	good := frame(t, 0, "pod=a", chunk(t, chunkenc.EncXOR, 0, 1))
	fakes := newFake()
	release := make(chan struct{})
	probe := true
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/api/v1/read" || probe:
			probe = probe && r.URL.Path != "/api/v1/read"
			fakes.handlers[r.URL.Path](w, r)
		default:
			frames(good, make([]byte, 0))(w, r)
			for range 1000 { // more than is examined for text
				if _, err := w.Write(good); err != nil {
					return
				}
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	}))
	defer srv.Close()
	defer close(release)
	src, err := remote.New(remote.Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = promtest.Select(ctx, src, []promquery.Request{selector}, func(int, []promquery.Symbol, *timeline.Points) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestTimeout meets a server that never answers.
func TestTimeout(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	src, err := remote.New(remote.Config{URL: srv.URL, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = collect(t, src, selector)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not answered within 20ms") {
		t.Errorf("got %v", err)
	}
}
