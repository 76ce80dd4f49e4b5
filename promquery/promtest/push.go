package promtest

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const (
	// pushSlice is how much time is pushed at once: a server that keeps samples in memory takes no series far behind others.
	pushSlice = 15 * time.Minute
	// pushSeries and pushSamples are how many series or samples a push carries.
	pushSeries  = 500
	pushSamples = 200_000
)

// Push sends the samples of the blocks in tsdbDir to a server by remote write, oldest first, to url, which is that of the
// endpoint, and returns how many they were. Without markers, staleness markers are left out, as senders do that know of
// none. extra are labels, as alternating names and values, that all series get.
func Push(t testing.TB, url, tsdbDir string, markers bool, extra ...string) (samples int64) {
	t.Helper()
	return push(t, url, tsdbDir, markers, pushSlice.Milliseconds(), extra...)
}

// push is Push of so many milliseconds at once.
func push(t testing.TB, url, tsdbDir string, markers bool, slice int64, extra ...string) (samples int64) {
	t.Helper()
	p := pusher{url: url, markers: markers}
	for i := 0; i+1 < len(extra); i += 2 {
		p.extra = append(p.extra, prompb.Label{Name: extra[i], Value: extra[i+1]})
	}
	opts := tsdb.DefaultOptions()
	opts.RetentionDuration = math.MaxInt64 / int64(time.Millisecond)
	data := t.TempDir()
	if err := copyBlocks(tsdbDir, data); err != nil {
		t.Fatalf("copy blocks to push: %v", err)
	}
	db, err := tsdb.Open(data, nil, nil, opts, nil)
	if err != nil {
		t.Fatalf("open blocks to push: %v", err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Errorf("close blocks to push: %v", err)
		}
	}()
	blocks := db.Blocks()
	if len(blocks) == 0 {
		t.Fatalf("open blocks to push: none in %s", tsdbDir)
	}
	first, last := blocks[0].MinTime(), blocks[len(blocks)-1].MaxTime()
	for start := first; start < last; start += slice {
		q, err := db.Querier(start, min(start+slice, last)-1)
		if err != nil {
			t.Fatalf("read blocks to push: %v", err)
		}
		p.pushAll(t, q)
		if err := q.Close(); err != nil {
			t.Fatalf("read blocks to push: %v", err)
		}
	}
	return p.samples
}

// pusher is where and how samples are sent.
type pusher struct {
	url     string
	markers bool
	extra   []prompb.Label
	msg     prompb.WriteRequest
	samples int64 // collected so far
	sent    int64 // of these
}

// pushAll pushes what q gives.
func (p *pusher) pushAll(t testing.TB, q storage.Querier) {
	t.Helper()
	set := q.Select(context.Background(), false, nil, labels.MustNewMatcher(labels.MatchNotEqual, "__name__", ""))
	var it chunkenc.Iterator
	for set.Next() {
		ts := prompb.TimeSeries{Labels: slices.Clone(p.extra)}
		set.At().Labels().Range(func(l labels.Label) {
			ts.Labels = append(ts.Labels, prompb.Label{Name: l.Name, Value: l.Value})
		})
		slices.SortFunc(ts.Labels, func(a, b prompb.Label) int { return strings.Compare(a.Name, b.Name) })
		it = set.At().Iterator(it)
		for it.Next() == chunkenc.ValFloat {
			if at, v := it.At(); p.markers || math.Float64bits(v) != value.StaleNaN {
				ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: at, Value: v})
			}
		}
		if err := it.Err(); err != nil {
			t.Fatalf("read blocks to push: %v", err)
		}
		if len(ts.Samples) == 0 {
			continue
		}
		p.samples += int64(len(ts.Samples))
		p.msg.Timeseries = append(p.msg.Timeseries, ts)
		if len(p.msg.Timeseries) == pushSeries || p.samples-p.sent >= pushSamples {
			p.send(t)
		}
	}
	if err := set.Err(); err != nil {
		t.Fatalf("read blocks to push: %v", err)
	}
	p.send(t)
}

// send sends what was collected.
func (p *pusher) send(t testing.TB) {
	t.Helper()
	if len(p.msg.Timeseries) == 0 {
		return
	}
	body, err := p.msg.Marshal()
	if err == nil {
		_, _, err = exchange(context.Background(), http.MethodPost, p.url, snappy.Encode(nil, body), map[string]string{
			"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0",
		})
	}
	if err != nil {
		t.Fatalf("push samples: %v", err)
	}
	p.msg.Timeseries, p.sent = p.msg.Timeseries[:0], p.samples
}
