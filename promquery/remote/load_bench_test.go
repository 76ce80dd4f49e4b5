package remote_test

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
	"github.com/promcost/promcost/promquery/thanos"
	"github.com/promcost/promcost/promquery/victoria"
)

// block is how long the blocks of benchmarks are.
const block = 6 * time.Hour

// sizes are the clusters that benchmarks read a day of.
var sizes = []benchSize{{"S", 10, 300}, {"M", 100, 3000}}

type benchSize struct {
	name        string
	nodes, pods int
}

// write writes the blocks of a day and what precedes it, scraped once a minute, into a directory: six hours each, as Prometheus compacts
// them. Pods come and go: 200 short Jobs an hour for 3,000.
func (s benchSize) write(b *testing.B) (dir string) {
	b.Helper()
	c, err := democluster.New(democluster.Config{
		End: fixed, Duration: 24*time.Hour + block, Nodes: s.nodes, Pods: s.pods, ScrapeInterval: time.Minute, JobsPerHour: s.pods * 200 / 3000, Pressure: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	dir = b.TempDir()
	for at := c.Start(); at.Before(c.End()); at = at.Add(block) {
		if err := c.WriteBlock(b.Context(), dir, at, at.Add(block)); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// day is what benchmarks compute.
func day() allocation.Window { return allocation.Window{Start: fixed.Add(-24 * time.Hour), End: fixed} }

// computeDay computes a window, and returns what that took of the source.
func computeDay(t testing.TB, src promquery.Source, w allocation.Window, resolution time.Duration, mergedBy ...allocation.Key) (stats promquery.Stats) {
	t.Helper()
	return computeQuery(t, src, allocation.Query{Window: w, Resolution: resolution, MergedBy: mergedBy, Only: &allocation.Projection{FewOfAssets: true}})
}

// computeQuery computes a query, and returns what that took of the source.
func computeQuery(t testing.TB, src promquery.Source, q allocation.Query) (stats promquery.Stats) {
	t.Helper()
	e := promquery.NewEngine(src, promquery.Config{
		Clusters: promquery.Clusters{Labels: []string{"cluster"}, Default: democluster.ClusterID}, Rates: pricing.Default(),
		Observe: func(o promquery.Observation) { stats = o.Stats },
	})
	if _, err := e.Compute(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return stats
}

// loaded is a server over blocks whose load is measured.
type loaded struct {
	url   string
	store string // the address of its StoreAPI, of Thanos
	usage func() promtest.Usage
}

// startLoaded starts a Prometheus that leaves the blocks as they are.
func startLoaded(b *testing.B, dir string) loaded {
	b.Helper()
	url, usage := promtest.StartMeasured(b, dir, promtest.Config{Flags: promtest.BlocksOf(block)})
	return loaded{url, "", usage}
}

// processor is what f takes of the server's processor, in seconds.
func (l loaded) processor(f func()) float64 {
	before := l.usage().CPUSeconds
	f()
	return l.usage().CPUSeconds - before
}

// peak is the most anonymous memory that the server has while f runs, in MB.
func (l loaded) peak(f func()) float64 {
	ctx, cancel := context.WithCancel(context.Background())
	var most atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			most.Store(max(most.Load(), l.usage().AnonymousBytes))
			time.Sleep(10 * time.Millisecond)
		}
	}()
	func() {
		defer func() {
			cancel()
			<-done
		}()
		f()
	}()
	return float64(most.Load()) / 1e6
}

// way is how a server is asked for a day.
type way struct {
	name       string
	mode       remote.Mode
	resolution time.Duration
	levels     bool // of usage, and counters of pressure: what hours with distributions want
	// open opens another source than a remote.Source.
	open func(b *testing.B, l loaded) promquery.Source
}

// queryWays are the ways to ask by the query API.
var queryWays = []way{{"query/1m", remote.ModeQuery, time.Minute, false, nil}, {"query/exact", remote.ModeQuery, 0, false, nil}, {"query/1h", remote.ModeQuery, time.Hour, false, nil}}

// remoteRead asks for everything by remote read.
var remoteRead = way{"remote-read/exact", remote.ModeRemoteRead, 0, false, nil}

// withLevels are ways to ask for distributions of usage, too.
var withLevels = []way{{"remote-read/distributions", remote.ModeRemoteRead, 0, true, nil}, {"query/1m/distributions", remote.ModeQuery, time.Minute, true, nil}}

// BenchmarkLoad is the load that computing one day puts on a real Prometheus, one fresh server for each way to ask it: the least
// processor time of the runs, its peak of anonymous memory, and how many requests it was sent. x-opencost is the time, and
// x-opencost-RssAnon the memory, over what the questions of OpenCost take of it (see openCostQueries).
func BenchmarkLoad(b *testing.B) {
	for _, size := range sizes {
		dir := size.write(b)
		benchmarkWays(b, size.name+"/", slices.Concat([]way{remoteRead}, queryWays, withLevels), func(b *testing.B) loaded { return startLoaded(b, dir) })
	}
}

// BenchmarkOtherServers is BenchmarkLoad of servers other than Prometheus. One server answers all questions, as filling one takes
// long; it answers a small one first, as some read what lies in their blocks then.
func BenchmarkOtherServers(b *testing.B) {
	const metric = "kube_node_info"
	seen := fixed.Add(-time.Hour)
	for _, size := range sizes {
		dir := size.write(b)
		for _, server := range []struct {
			name  string
			ways  []way
			start func(b *testing.B) loaded
		}{
			{"VictoriaMetrics", append([]way{{name: "exports", open: openVictoria}}, queryWays...), func(b *testing.B) loaded {
				url, usage := promtest.StartVictoriaMeasured(b, dir)
				return loaded{url, "", usage}
			}},
			{"Thanos", append([]way{{name: "StoreAPI", open: openThanos}}, queryWays...), func(b *testing.B) loaded {
				url, store, usage := promtest.StartThanosMeasured(b, dir, block, metric, seen)
				return loaded{url, store, usage}
			}},
			{"Mimir", append([]way{remoteRead}, queryWays...), func(b *testing.B) loaded {
				url, usage := promtest.StartMimirMeasured(b, dir, block, metric, seen)
				return loaded{url, "", usage}
			}},
		} {
			b.Run(size.name+"/"+server.name, func(b *testing.B) {
				l := server.start(b)
				benchmarkWays(b, "", server.ways, func(*testing.B) loaded { return l })
			})
		}
	}
}

// benchmarkWays asks servers as OpenCost does, and then in each of the ways. Their names begin with prefix.
func benchmarkWays(b *testing.B, prefix string, ways []way, start func(*testing.B) loaded) {
	peer := load{math.Inf(1), math.Inf(1)}
	b.Run(prefix+"opencost", func(b *testing.B) {
		l := start(b)
		peer.anonymous = l.peak(func() {
			for b.Loop() {
				peer.processor = min(peer.processor, l.processor(func() { askAsOpenCost(b, l.url) }))
			}
		})
		b.ReportMetric(peer.processor, "server-cpu-s")
		b.ReportMetric(peer.anonymous, "server-RssAnon-MB")
		b.ReportMetric(float64(len(slices.Concat(openCostQueries()...))), "requests")
	})
	for _, way := range ways {
		b.Run(prefix+way.name, func(b *testing.B) { benchmarkLoad(b, start(b), way, peer) })
	}
}

// load is what questions take of a server: the least processor time in seconds, and the peak of anonymous memory in MB.
type load struct{ processor, anonymous float64 }

// source is how the server is asked.
func (w *way) source(b *testing.B, l loaded) promquery.Source {
	b.Helper()
	if w.open != nil {
		return w.open(b, l)
	}
	src, err := remote.New(remote.Config{URL: l.url, Mode: w.mode})
	if err != nil {
		b.Fatal(err)
	}
	return src
}

// openVictoria asks for exports.
func openVictoria(b *testing.B, l loaded) promquery.Source {
	b.Helper()
	src, err := remote.New(remote.Config{URL: l.url})
	if err != nil {
		b.Fatal(err)
	}
	return victoria.New(victoria.Config{Server: src, Insist: true})
}

// openThanos asks by the StoreAPI.
func openThanos(b *testing.B, l loaded) promquery.Source {
	b.Helper()
	src, err := thanos.New(thanos.Config{Stores: []string{l.store}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := src.Close(); err != nil {
			b.Error(err)
		}
	})
	return src
}

// benchmarkLoad computes a day, over and over.
func benchmarkLoad(b *testing.B, l loaded, way way, peer load) {
	src := way.source(b, l)
	var stats promquery.Stats
	least, own := math.Inf(1), math.Inf(1)
	anonymous := l.peak(func() {
		for b.Loop() {
			before := cpuSeconds(b)
			least = min(least, l.processor(func() {
				stats = computeQuery(b, src, allocation.Query{Window: day(), Resolution: way.resolution, Only: &allocation.Projection{FewOfAssets: true, Levels: way.levels}})
			}))
			own = min(own, cpuSeconds(b)-before)
		}
	})
	b.ReportMetric(least, "server-cpu-s")
	b.ReportMetric(least/peer.processor, "x-opencost")
	b.ReportMetric(anonymous, "server-RssAnon-MB")
	b.ReportMetric(anonymous/peer.anonymous, "x-opencost-RssAnon")
	b.ReportMetric(own, "cpu-s")
	b.ReportMetric(float64(stats.Requests), "requests")
	b.ReportMetric(float64(stats.Bytes)/1e6, "MB")
	b.ReportMetric(float64(stats.Samples), "samples")
}
