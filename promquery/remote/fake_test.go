package remote_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// fake is a server without a network: handlers by path, and what was asked of it.
type fake struct {
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	asked    []*http.Request
}

// newFake returns a server that streams remote read and has no external labels.
func newFake() *fake {
	f := &fake{handlers: map[string]http.HandlerFunc{}}
	f.handle("/api/v1/query", text("application/json", `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`))
	f.handle("/api/v1/status/config", text("application/json", `{"status":"success","data":{"yaml":"global:\n  scrape_interval: 1m\n"}}`))
	f.handle("/api/v1/read", frames())
	return f
}

func (f *fake) handle(path string, h http.HandlerFunc) { f.handlers[path] = h }

// RoundTrip implements http.RoundTripper.
func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.asked = append(f.asked, req)
	h := f.handlers[req.URL.Path]
	f.mu.Unlock()
	if h == nil {
		h = http.NotFound
	}
	rec := httptest.NewRecorder()
	h(rec, req)
	return rec.Result(), nil
}

// count is how many requests came for path.
func (f *fake) count(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.asked {
		if r.URL.Path == path {
			n++
		}
	}
	return n
}

// source returns a Source over f.
func (f *fake) source(t testing.TB, cfg remote.Config) *remote.Source {
	t.Helper()
	cfg.URL, cfg.Client, cfg.Backoff = "http://prometheus.test/", &http.Client{Transport: f}, time.Microsecond
	src, err := remote.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// text answers with a body.
func text(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// status answers with a status and a body.
func status(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// sequence answers with one handler after the other, then always with the last.
func sequence(hs ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		hs[min(int(n.Add(1))-1, len(hs)-1)](w, r)
	}
}

// probed answers the probe for remote read well and everything after it with h.
func probed(h http.HandlerFunc) http.HandlerFunc { return sequence(frames(), h) }

// frames answers as streamed remote read.
func frames(parts ...[]byte) http.HandlerFunc {
	return text("application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse", string(slices.Concat(parts...)))
}

// seal makes a frame of a message.
func seal(msg []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(msg)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(msg, crc32.MakeTable(crc32.Castagnoli)))
	return append(b, msg...)
}

// frame is a frame of one series.
func frame(t testing.TB, query int64, lset string, chunks ...prompb.Chunk) []byte {
	t.Helper()
	series := &prompb.ChunkedSeries{Chunks: chunks}
	for pair := range strings.SplitSeq(lset, ",") {
		name, value, _ := strings.Cut(pair, "=")
		series.Labels = append(series.Labels, prompb.Label{Name: name, Value: value})
	}
	msg := prompb.ChunkedReadResponse{ChunkedSeries: []*prompb.ChunkedSeries{series}, QueryIndex: query}
	data, err := msg.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return seal(data)
}

// chunk is a chunk of samples at the times first, first+10, … with values 1, 2, ….
func chunk(t testing.TB, enc chunkenc.Encoding, first int64, n int) prompb.Chunk {
	t.Helper()
	times := make([]int64, n)
	for i := range times {
		times[i] = first + int64(i)*10
	}
	return chunkAt(t, enc, times...)
}

// chunkAt is a chunk of samples at these times, with values 1, 2, ….
func chunkAt(t testing.TB, enc chunkenc.Encoding, times ...int64) prompb.Chunk {
	t.Helper()
	c, err := chunkenc.NewEmptyChunk(enc)
	if err != nil {
		t.Fatal(err)
	}
	app, err := c.Appender()
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range times {
		app.Append(0, at, float64(i+1))
	}
	return prompb.Chunk{MinTimeMs: slices.Min(times), MaxTimeMs: slices.Max(times), Type: prompb.Chunk_Encoding(enc), Data: c.Bytes()}
}

// selector asks for everything of metric m.
var selector = promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: 0, End: math.MaxInt32}

// collect selects and returns the samples of each key.
func collect(t *testing.T, src promquery.Source, sels ...promquery.Request) (map[string][]string, promquery.Stats, error) {
	t.Helper()
	got := map[string][]string{}
	stats, err := promtest.Select(t.Context(), src, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		var parts []string
		for _, s := range key {
			parts = append(parts, s.Value())
		}
		k := fmt.Sprintf("%d:%s", i, strings.Join(parts, "|"))
		for ts, v := range p.All() {
			got[k] = append(got[k], fmt.Sprintf("%d=%v", ts, v))
		}
		return nil
	})
	return got, stats, err
}
