package promapi_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
	"github.com/promcost/promcost/promquery/promtest"
)

// readRequest packs a remote-read request.
func readRequest(t testing.TB, kind prompb.ReadRequest_ResponseType, queries ...*prompb.Query) []byte {
	t.Helper()
	text, err := (&prompb.ReadRequest{Queries: queries, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{kind}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return snappy.Encode(nil, text)
}

// readQuery asks for series of a name; grouped, as if they were to be summed.
func readQuery(name string, kind prompb.LabelMatcher_Type) *prompb.Query {
	return &prompb.Query{
		StartTimestampMs: apitest.Epoch * 1000, EndTimestampMs: (apitest.Epoch + 7200) * 1000, Matchers: []*prompb.LabelMatcher{{Type: kind, Name: "__name__", Value: name}},
		Hints: &prompb.ReadHints{Func: "sum", Grouping: []string{"cluster"}, By: true, StartMs: apitest.Epoch * 1000, EndMs: (apitest.Epoch + 7200) * 1000},
	}
}

// post sends a remote-read request.
func post(t testing.TB, base string, body []byte) (code int, kind string, answer []byte) {
	t.Helper()
	resp, err := http.Post(base+"/api/v1/read", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), answer
}

// TestRead compares answers to remote read, sampled and streamed, with those of a real Prometheus.
func TestRead(t *testing.T) {
	dir := apitest.Blocks(t)
	ours, theirs := apitest.Serve(t, apitest.Open(t, dir), promapi.Options{}), promtest.Start(t, dir, promtest.Config{})
	for _, kind := range []prompb.ReadRequest_ResponseType{prompb.ReadRequest_SAMPLES, prompb.ReadRequest_STREAMED_XOR_CHUNKS} {
		body := readRequest(t, kind, readQuery("odd", prompb.LabelMatcher_EQ), readQuery("promcost_.*", prompb.LabelMatcher_RE), readQuery("nope", prompb.LabelMatcher_EQ))
		code, typ, got := post(t, ours, body)
		wantCode, wantType, want := post(t, theirs, body)
		if code != wantCode || typ != wantType || len(got) == 0 {
			t.Errorf("%s: %d %s, Prometheus %d %s", kind, code, typ, wantCode, wantType)
		}
		if diff := cmp.Diff(readBack(t, kind, want), readBack(t, kind, got)); diff != "" {
			t.Errorf("%s (-Prometheus +promcost):\n%s", kind, diff)
		}
	}
}

// readBack is an answer as lines of its query, series and samples.
func readBack(t *testing.T, kind prompb.ReadRequest_ResponseType, answer []byte) (lines []string) {
	t.Helper()
	if kind == prompb.ReadRequest_SAMPLES {
		text, err := snappy.Decode(nil, answer)
		if err != nil {
			t.Fatal(err)
		}
		var resp prompb.ReadResponse
		if err := resp.Unmarshal(text); err != nil {
			t.Fatal(err)
		}
		for i, result := range resp.Results {
			for _, s := range result.Timeseries {
				lines = append(lines, fmt.Sprint(i, s.Labels, s.Samples))
			}
		}
		return lines
	}
	frames := remote.NewChunkedReader(bytes.NewReader(answer), 1<<24, nil)
	for {
		var frame prompb.ChunkedReadResponse
		if err := frames.NextProto(&frame); err == io.EOF { //nolint:errorlint // as documented
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		for _, s := range frame.ChunkedSeries {
			var line strings.Builder
			fmt.Fprint(&line, frame.QueryIndex, s.Labels)
			for _, c := range s.Chunks {
				chunk, err := chunkenc.FromData(chunkenc.Encoding(c.Type), c.Data)
				if err != nil {
					t.Fatal(err)
				}
				for it := chunk.Iterator(nil); it.Next() == chunkenc.ValFloat; {
					at, v := it.At()
					fmt.Fprint(&line, " ", at, math.Float64bits(v))
				}
			}
			lines = append(lines, line.String())
		}
	}
}

// TestBadReads refuses what is no request, or asks for too much, without taking more than a request may.
func TestBadReads(t *testing.T) {
	ours := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{MaxSamples: 100})
	many := make([]*prompb.Query, 1001)
	for i := range many {
		many[i] = &prompb.Query{}
	}
	for name, tt := range map[string]struct {
		body []byte
		code int
		want string
	}{
		"empty":            {nil, 400, "no remote-read request"},
		"garbage":          {[]byte("garbage"), 400, "no remote-read request"},
		"no message":       {snappy.Encode(nil, []byte("garbage")), 400, "no remote-read request"},
		"forged length":    {binary.AppendUvarint(nil, 1<<31), 400, "at most 1048576"},
		"long":             {make([]byte, 2<<20), 413, "longer than 1048576 bytes: ask for"},
		"long unpacked":    {snappy.Encode(nil, make([]byte, 2<<20)), 400, "at most 1048576"},
		"bad regexp":       {readRequest(t, prompb.ReadRequest_SAMPLES, readQuery("(", prompb.LabelMatcher_RE)), 400, "missing closing )"},
		"unknown matcher":  {readRequest(t, prompb.ReadRequest_SAMPLES, readQuery("x", 77)), 400, "matcher type"},
		"unknown answer":   {readRequest(t, 77, readQuery("x", prompb.LabelMatcher_EQ)), 400, "does not support"},
		"many queries":     {readRequest(t, prompb.ReadRequest_SAMPLES, many...), 400, "at most 1000"},
		"too many samples": {readRequest(t, prompb.ReadRequest_SAMPLES, readQuery("odd", prompb.LabelMatcher_EQ)), 422, "ask for streamed chunks"},
		"nothing":          {readRequest(t, prompb.ReadRequest_SAMPLES), 200, ""},
	} {
		if code, _, answer := post(t, ours, tt.body); code != tt.code || !strings.Contains(string(answer), tt.want) {
			t.Errorf("%s: %d %q, want %d %q", name, code, answer, tt.code, tt.want)
		}
	}
	if r := apitest.Ask(t, http.MethodGet, ours, "/api/v1/read", ""); r.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %+v", r)
	}
}

// FuzzRead feeds the read endpoint bodies: it answers each, with no more than a request may take.
func FuzzRead(f *testing.F) {
	for _, kind := range []prompb.ReadRequest_ResponseType{prompb.ReadRequest_SAMPLES, prompb.ReadRequest_STREAMED_XOR_CHUNKS} {
		f.Add(readRequest(f, kind, readQuery("odd", prompb.LabelMatcher_EQ), readQuery("promcost_.*", prompb.LabelMatcher_RE)))
	}
	f.Add([]byte{})
	f.Add(binary.AppendUvarint(nil, 1<<31))
	handler := promapi.New(apitest.Open(f, apitest.Blocks(f)), promapi.NewEngine(promapi.EngineOptions{}), promapi.Options{Timeout: 10 * time.Second})
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/read", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/x-protobuf")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusUnprocessableEntity:
		default:
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	})
}
