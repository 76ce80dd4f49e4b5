package remote_test

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// raw answers with bytes as they are.
func raw(contentType string, body []byte) http.HandlerFunc { return text(contentType, string(body)) }

// FuzzFrames streams arbitrary messages in sound frames, and arbitrary bytes in their place: whatever comes, the answer is
// samples in ascending time, or an error that names the server.
func FuzzFrames(f *testing.F) {
	for _, c := range []prompb.Chunk{chunk(f, chunkenc.EncXOR, 0, 120), chunk(f, chunkenc.EncXOR2, 0, 3), {Type: prompb.Chunk_HISTOGRAM, Data: []byte{1, 2, 3}}} {
		sealed := frame(f, 0, "__name__=m,pod=a", c, c)
		f.Add(sealed, false)
		_, n := bytesVarint(sealed)
		f.Add(sealed[n+4:], true)
	}
	f.Add([]byte("text of an error\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, sealIt bool) {
		body := data
		if sealIt && len(data) > 0 {
			body = seal(data)
		}
		fk := newFake()
		fk.handle("/api/v1/read", probed(raw("application/x-streamed-protobuf", body)))
		sel := promquery.Request{Metric: "m", Start: math.MinInt64, End: math.MaxInt64}
		if _, err := promtest.Select(t.Context(), fk.source(t, remote.Config{}), []promquery.Request{sel}, ascending(t)); err != nil && !strings.Contains(err.Error(), "http://prometheus.test") {
			t.Errorf("error does not name the server: %v", err)
		}
	})
}

func bytesVarint(b []byte) (n uint64, size int) {
	for i, c := range b {
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return n, i + 1
		}
	}
	return n, len(b)
}

// ascending returns a yield that checks what it gets.
func ascending(t *testing.T) func(int, []promquery.Symbol, *timeline.Points) error {
	return func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
		last, n := int64(math.MinInt64), 0
		for at := range p.All() {
			if at <= last && n > 0 {
				t.Errorf("time %d follows %d", at, last)
			}
			last = at
			n++
		}
		if n == 0 || n != p.Len() {
			t.Errorf("yielded %d samples that claim to be %d", n, p.Len())
		}
		return nil
	}
}

// FuzzAnswer reads arbitrary answers of the query API: what is accepted, encoding/json reads alike.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"m","pod":"a"},"values":[[1.5,"1"],[2,"NaN"]]}]}}`,
		`{"status":"error","error":"x"}`, `{"x":[{},[],1e5,"\ud83d\ude00"],"status":"success","data":{}}`, html, `{"status":"success","data":{"result":[{"values":[[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fk := newFake()
		fk.handle(rangePath, raw("application/json", data))
		samples := 0
		check := ascending(t)
		sel := promquery.Request{Metric: "m", Start: 0, End: 10_000_000, Grid: promquery.Grid{Step: 1000}}
		_, err := promtest.Select(t.Context(), fk.source(t, remote.Config{Mode: remote.ModeQuery}), []promquery.Request{sel}, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			samples += p.Len()
			return check(i, key, p)
		})
		if err != nil {
			return
		}
		var answer struct {
			Data struct {
				Result []struct {
					Metric map[string]string
					Values [][2]any
				}
			}
		}
		// The first of equal keys counts there, all here; and what follows the object is not read.
		if json.NewDecoder(bytes.NewReader(data)).Decode(&answer) != nil {
			return
		}
		most := 0
		for _, s := range answer.Data.Result {
			most += len(s.Values)
		}
		if bytes.Count(data, []byte(`"data"`)) == 1 && bytes.Count(data, []byte(`"values"`)) == len(answer.Data.Result) && samples > most {
			t.Errorf("got %d samples, encoding/json sees %d", samples, most)
		}
	})
}

// FuzzNumber reads values through an answer and compares them with strconv.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.5", "00.10", ".5", "5.", "123456789012345", "1234567890.12345", "0.1234567890123456", "1e22", "-Inf", "NaN", "0x1p-2", "1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted, err := json.Marshal(s)
		if err != nil {
			return
		}
		want, werr := strconv.ParseFloat(s, 64)
		fk := newFake()
		fk.handle(rangePath, raw("application/json", []byte(`{"status":"success","data":{"result":[{"metric":{},"values":[[1,`+string(quoted)+`]]}]}}`)))
		sel := promquery.Request{Metric: "m", Start: 1000, End: 1000, Grid: promquery.Grid{Step: 1000}}
		_, err = promtest.Select(t.Context(), fk.source(t, remote.Config{Mode: remote.ModeQuery}), []promquery.Request{sel}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
			for _, got := range p.All() {
				if math.Float64bits(got) != math.Float64bits(want) {
					t.Errorf("%q: got %v, want %v", s, got, want)
				}
			}
			return nil
		})
		if (err != nil) != (werr != nil) {
			t.Errorf("%q: got %v, want %v", s, err, werr)
		}
	})
}
