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
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// BenchmarkRemoteRead reads and computes 24 hours, scraped every 30 s, from a real Prometheus. cpu-s/op is the CPU time of
// this process, the server's not included, and x-plain its ratio to a client measured in the same run that only decodes
// the stream: the same request, with Prometheus' own message types and iterators, one frame after the other.
func BenchmarkRemoteRead(b *testing.B) {
	for _, size := range append(slices.Clone(sizes), benchSize{"L", 340, 10_000}) {
		dir := size.write(b)
		url := promtest.Start(b, dir, promtest.Config{})
		src, err := remote.New(remote.Config{URL: url, Mode: remote.ModeRemoteRead})
		if err != nil {
			b.Fatal(err)
		}
		sels := allInputs(day.Start, day.End)
		plain := measure(b, size.name+"/plain", 0, func(b *testing.B) int64 { return readPlain(b, url, sels) })
		measure(b, size.name+"/select", plain, func(b *testing.B) int64 {
			stats, err := src.Select(b.Context(), sels, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
			return stats.Samples
		})
		for _, resolution := range []time.Duration{time.Minute, 0} {
			name := "exact"
			if resolution > 0 {
				name = resolution.String()
			}
			measure(b, size.name+"/compute/"+name, plain, func(b *testing.B) int64 { return computeDay(b, src, resolution).Samples })
		}
	}
}

// measure runs f, which returns how many samples it read, and returns the CPU seconds of one run of it.
func measure(b *testing.B, name string, plain float64, f func(b *testing.B) int64) (cpu float64) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		samples, before := int64(0), cpuSeconds(b)
		for b.Loop() {
			samples = f(b)
		}
		cpu = (cpuSeconds(b) - before) / float64(b.N)
		b.ReportMetric(cpu, "cpu-s/op")
		b.ReportMetric(cpu*1e9/float64(samples), "cpu-ns/sample")
		if plain > 0 {
			b.ReportMetric(cpu/plain, "x-plain")
		}
	})
	return cpu
}

// cpuSeconds is the CPU time that this process has used.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// allInputs selects what a computation reads if nothing is missing.
func allInputs(start, end time.Time) []promquery.Selector {
	var sels []promquery.Selector
	for i := range promquery.Inputs {
		in := &promquery.Inputs[i]
		for rank, alt := range in.Alternatives {
			if in.Lazy < 0 || in.Lazy > 0 && rank >= in.Lazy {
				continue
			}
			sels = append(sels, promquery.Selector{
				Metric: alt.Metric, Matchers: alt.Matchers, Start: start.UnixMilli(), End: end.UnixMilli(),
				Keep: []string{"cluster", "exported_namespace", "namespace", "exported_pod", "pod", "uid", "exported_container", "container", "node"},
			})
		}
	}
	return sels
}

// readPlain reads all samples of the selectors by one streamed request, by Prometheus' own means, and returns their
// number.
func readPlain(b *testing.B, url string, sels []promquery.Selector) int64 {
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
