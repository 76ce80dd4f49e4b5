package remote_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// lead is how long before a window the samples begin that tell what held at its start.
const lead = 6 * time.Minute

// BenchmarkRemoteRead reads and computes a day from a real Prometheus, as the API does by cluster and for all rows. Each computation runs in
// turns with two streamed requests for just the series that cost needs; a client takes them that only decodes them, with Prometheus' own
// message types and iterators: needed, and lead, which also has the samples before the window that tell what held at its start, those of
// a further block here.
//
//   - server-cpu-s is the server's processor time, the least of the turns, x-needed that over what needed takes of it, and x-lead over lead;
//   - cpu-s is that of this process, and x-plain that over the client's of needed;
//   - requests and samples are what the server was asked for.
func BenchmarkRemoteRead(b *testing.B) {
	for _, size := range append(slices.Clone(sizes), benchSize{"L", 340, 10_000}) {
		l := startLoaded(b, size.write(b))
		src, err := remote.New(remote.Config{URL: l.url, Mode: remote.ModeRemoteRead})
		if err != nil {
			b.Fatal(err)
		}
		byCluster, err := allocation.ParseKeys("cluster", nil)
		if err != nil {
			b.Fatal(err)
		}
		sels, leading := needed(b, day().Start, day().End), needed(b, day().Start.Add(-lead), day().End)
		for _, asked := range []struct {
			name       string
			resolution time.Duration
			mergedBy   []allocation.Key
		}{{"cluster/1m", time.Minute, byCluster}, {"cluster/exact", 0, byCluster}, {"rows/1m", time.Minute, nil}, {"rows/exact", 0, nil}} {
			b.Run(size.name+"/"+asked.name, func(b *testing.B) {
				const turns = 3
				var took, plain, led readRun
				var stats promquery.Stats
				for b.Loop() {
					for range turns {
						plain.measure(b, l, func() { readPlain(b, l.url, sels) })
						took.measure(b, l, func() { stats = computeDay(b, src, day(), asked.resolution, asked.mergedBy...) })
						led.measure(b, l, func() { readPlain(b, l.url, leading) })
					}
				}
				b.ReportMetric(took.server, "server-cpu-s")
				b.ReportMetric(took.own, "cpu-s")
				b.ReportMetric(float64(stats.Samples), "samples")
				b.ReportMetric(float64(stats.Requests), "requests")
				b.ReportMetric(took.server/plain.server, "x-needed")
				b.ReportMetric(took.server/led.server, "x-lead")
				b.ReportMetric(took.own/plain.own, "x-plain")
			})
		}
	}
}

// readRun is the least processor time of some runs, in seconds; 0 of none.
type readRun struct{ server, own float64 }

// measure runs f.
func (r *readRun) measure(b *testing.B, l loaded, f func()) {
	before := cpuSeconds(b)
	server := l.processor(f)
	own := cpuSeconds(b) - before
	if r.server == 0 {
		r.server, r.own = server, own
	}
	r.server, r.own = min(r.server, server), min(r.own, own)
}

// cpuSeconds is the CPU time that this process has used.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// needed selects the series that cost needs.
func needed(b *testing.B, start, end time.Time) (sels []promquery.Request) {
	b.Helper()
	p := parser.NewParser(parser.Options{})
	for _, text := range promtest.NeededSeries() {
		matchers, err := p.ParseMetricSelector(text)
		if err != nil {
			b.Fatal(err)
		}
		sel := promquery.Request{Start: start.UnixMilli(), End: end.UnixMilli()}
		for _, m := range matchers {
			if m.Name == model.MetricNameLabel {
				sel.Metric = m.Value
			} else {
				sel.Matchers = append(sel.Matchers, promquery.Matcher{Name: m.Name, Type: promquery.MatchType(m.Type), Value: m.Value})
			}
		}
		sels = append(sels, sel)
	}
	return sels
}

// readPlain reads all samples of the selectors by one streamed request, by Prometheus' own means, and returns their
// number.
func readPlain(b *testing.B, url string, sels []promquery.Request) int64 {
	types := [...]prompb.LabelMatcher_Type{prompb.LabelMatcher_EQ, prompb.LabelMatcher_NEQ, prompb.LabelMatcher_RE, prompb.LabelMatcher_NRE}
	msg := prompb.ReadRequest{AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}}
	for _, sel := range sels {
		q := &prompb.Query{StartTimestampMs: sel.Start, EndTimestampMs: sel.End}
		q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Name: "__name__", Value: sel.Metric})
		for _, m := range sel.Matchers {
			q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: types[m.Type], Name: m.Name, Value: m.Value})
		}
		msg.Queries = append(msg.Queries, q)
	}
	body, err := msg.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+"/api/v1/read", bytes.NewReader(snappy.Encode(nil, body)))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	samples, sum := int64(0), 0.0
	var it chunkenc.Iterator
	frames := bufio.NewReader(resp.Body)
	var buf []byte
	for {
		var res prompb.ChunkedReadResponse
		if buf, err = readFrame(frames, buf); errors.Is(err, io.EOF) {
			break
		}
		if err != nil || res.Unmarshal(buf) != nil {
			b.Fatal(err)
		}
		for _, series := range res.ChunkedSeries {
			for i := range series.Chunks {
				c, err := chunkenc.FromData(chunkenc.Encoding(series.Chunks[i].Type), series.Chunks[i].Data)
				if err != nil {
					b.Fatal(err)
				}
				for it = c.Iterator(it); it.Next() != chunkenc.ValNone; {
					_, v := it.At()
					sum, samples = sum+v, samples+1
				}
			}
		}
	}
	if sum != sum {
		samples++ // staleness markers make it so: the sum is looked at, so that it is computed
	}
	return samples
}

// readFrame reads a frame into buf, as Prometheus' own client does.
func readFrame(r *bufio.Reader, buf []byte) ([]byte, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	var sum [4]byte
	if _, err := io.ReadFull(r, sum[:]); err != nil {
		return nil, err
	}
	buf = slices.Grow(buf[:0], int(size))[:size]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	if crc32.Checksum(buf, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(sum[:]) {
		return nil, errors.New("checksum does not hold")
	}
	return buf, nil
}
