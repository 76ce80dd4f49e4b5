package remote_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// sizes are the clusters that benchmarks read a day of.
var sizes = []benchSize{{"S", 10, 300}, {"M", 100, 3000}}

type benchSize struct {
	name        string
	nodes, pods int
}

// write writes the blocks of a day and an hour of the cluster, scraped every 30 s, into a directory.
func (s benchSize) write(b *testing.B) (dir string) {
	b.Helper()
	c, err := democluster.New(democluster.Config{End: fixed, Duration: 25 * time.Hour, Nodes: s.nodes, Pods: s.pods})
	if err != nil {
		b.Fatal(err)
	}
	dir = b.TempDir()
	if err := c.WriteBlocks(b.Context(), dir, c.Start(), c.End(), nil); err != nil {
		b.Fatal(err)
	}
	return dir
}

// day is what benchmarks compute.
var day = allocation.Window{Start: fixed.Add(-24 * time.Hour), End: fixed}

// computeDay computes it, and returns what that took of the source.
func computeDay(t testing.TB, src promquery.Source, resolution time.Duration) (stats promquery.Stats) {
	t.Helper()
	e := promquery.NewEngine(src, promquery.Config{
		Clusters: promquery.Clusters{Labels: []string{"cluster"}, Default: democluster.ClusterID}, Rates: pricing.Default(),
		Observe: func(o promquery.Observation) { stats = o.Stats },
	})
	if _, err := e.Compute(t.Context(), allocation.Query{Window: day, Resolution: resolution}); err != nil {
		t.Fatal(err)
	}
	return stats
}

// BenchmarkLoad is the load that computing one day, scraped every 30 s, puts on a real Prometheus, one fresh server for each
// way to ask it: its own CPU seconds and peak memory (mapped files included; idle-MB before it was asked), how many requests
// it was sent, and how often a sample was read that a single Select of everything reads once.
func BenchmarkLoad(b *testing.B) {
	for _, size := range sizes {
		dir := size.write(b)
		for _, way := range []struct {
			name       string
			mode       remote.Mode
			resolution time.Duration
		}{
			{"remote-read/exact", remote.ModeRemoteRead, 0},
			{"remote-read/1m", remote.ModeRemoteRead, time.Minute},
			{"query/exact", remote.ModeQuery, 0},
			{"query/1m", remote.ModeQuery, time.Minute},
			{"query/1h", remote.ModeQuery, time.Hour},
		} {
			b.Run(size.name+"/"+way.name, func(b *testing.B) { benchmarkLoad(b, dir, way.mode, way.resolution) })
		}
	}
}

// benchmarkLoad computes a day from a server over the blocks in dir.
func benchmarkLoad(b *testing.B, dir string, mode remote.Mode, resolution time.Duration) {
	url, usage := promtest.StartMeasured(b, dir, promtest.Config{})
	src, err := remote.New(remote.Config{URL: url, Mode: mode})
	if err != nil {
		b.Fatal(err)
	}
	var stats promquery.Stats
	before := usage()
	for b.Loop() {
		stats = computeDay(b, src, resolution)
	}
	after := usage()
	b.ReportMetric((after.CPUSeconds-before.CPUSeconds)/float64(b.N), "server-cpu-s/op")
	b.ReportMetric(float64(after.PeakBytes)/1e6, "server-peak-MB")
	b.ReportMetric(float64(before.PeakBytes)/1e6, "server-idle-MB")
	b.ReportMetric(float64(stats.Requests), "requests/op")
	b.ReportMetric(float64(stats.Samples)/float64(distinct(b, src, resolution)), "reads/sample")
}

// distinct is how many samples of all inputs there are in the day, or points on the grid where the source is asked on it.
func distinct(b *testing.B, src *remote.Source, resolution time.Duration) int64 {
	sels := allInputs(day.Start, day.End)
	for i := range sels {
		sels[i].Step = resolution.Milliseconds()
	}
	stats, err := src.Select(b.Context(), sels, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	return stats.Samples
}
