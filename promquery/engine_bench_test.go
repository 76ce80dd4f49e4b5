package promquery_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/democluster"
)

// BenchmarkCompute computes 24 hours from blocks, scraped every 30 s. x-iterate is its time, and x-cpu its processor time,
// over that of a plain reader, measured in the same run: one that only walks the same samples with Prometheus' own queriers
// and iterators. reads/sample is how often the source was asked for a sample.
func BenchmarkCompute(b *testing.B) {
	until := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	for _, size := range []struct {
		name        string
		nodes, pods int
	}{{"S", 10, 300}, {"M", 100, 3000}, {"L", 330, 10_000}} {
		c, err := democluster.New(democluster.Config{End: until, Duration: 25 * time.Hour, Nodes: size.nodes, Pods: size.pods})
		if err != nil {
			b.Fatal(err)
		}
		dir := b.TempDir()
		if err := c.WriteBlocks(b.Context(), dir, c.Start(), c.End(), nil); err != nil {
			b.Fatal(err)
		}
		db := openBlocks(b, dir)
		w := allocation.Window{Start: until.Add(-24 * time.Hour), End: until}
		var plain, plainCPU time.Duration // an operation
		there := int64(0)
		b.Run(size.name+"/iterate", func(b *testing.B) {
			began := processorTime(b)
			for b.Loop() {
				there = iterate(b, db, w)
			}
			plain, plainCPU = b.Elapsed()/time.Duration(b.N), (processorTime(b)-began)/time.Duration(b.N)
			b.ReportMetric(float64(there)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
		for _, resolution := range []time.Duration{0, time.Minute, 5 * time.Minute, time.Hour} {
			b.Run(size.name+"/"+allocation.ResolutionText(resolution), func(b *testing.B) {
				b.ReportAllocs()
				samples := int64(0)
				cfg := config
				cfg.Observe = func(o promquery.Observation) { samples = o.Stats.Samples }
				e := promquery.NewEngine(db, cfg)
				began := processorTime(b)
				for b.Loop() {
					if _, err := e.Compute(b.Context(), allocation.Query{Window: w, Resolution: resolution}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(samples)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
				if plain > 0 {
					b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/plain.Seconds(), "x-iterate")
					b.ReportMetric((processorTime(b)-began).Seconds()/float64(b.N)/plainCPU.Seconds(), "x-cpu")
					b.ReportMetric(float64(samples)/float64(there), "reads/sample")
				}
			})
		}
	}
}

// processorTime is what the process has used of processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// iterate walks the samples of all inputs that a computation reads, one querier for all, and returns their number.
func iterate(b *testing.B, db *blocks.DB, w allocation.Window) int64 {
	q, err := db.ChunkQuerier(w.Start.UnixMilli(), w.End.UnixMilli())
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	samples, sum := int64(0), 0.0
	for i := range promquery.Inputs {
		in := &promquery.Inputs[i]
		for rank, alt := range in.Alternatives {
			if in.Lazy < 0 || in.Lazy > 0 && rank >= in.Lazy {
				continue // not read where the running signal is there
			}
			matchers := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", alt.Metric)}
			for _, m := range alt.Matchers {
				matchers = append(matchers, labels.MustNewMatcher(labels.MatchType(m.Type), m.Name, m.Value))
			}
			set := q.Select(b.Context(), false, &storage.SelectHints{Start: w.Start.UnixMilli(), End: w.End.UnixMilli()}, matchers...)
			var samplesOf chunkenc.Iterator
			for set.Next() {
				for chunks := set.At().Iterator(nil); chunks.Next(); {
					samplesOf = chunks.At().Chunk.Iterator(samplesOf)
					for samplesOf.Next() != chunkenc.ValNone {
						_, v := samplesOf.At()
						sum, samples = sum+v, samples+1
					}
				}
			}
			if err := set.Err(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if sum != sum {
		samples++ // staleness markers make it so: the sum is looked at, so that it is computed
	}
	return samples
}
