package promquery_test

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/democluster"
)

// BenchmarkGrowth computes 2 hours of ever more pods, and ever longer windows of 300 pods. cpu-ms/pod and cpu-ms/hour are the
// slope of the processor time from the size before, exponent is that of both axes logarithmic: 1 is linear.
func BenchmarkGrowth(b *testing.B) {
	grow := func(name, unit string, sizes []float64, run func(b *testing.B, size float64) naiveRun) {
		var last naiveRun
		for i, size := range sizes {
			b.Run(fmt.Sprintf("%s=%g", name, size), func(b *testing.B) {
				took := run(b, size)
				b.ReportMetric(float64(took.cpu.Milliseconds()), "cpu-ms/op")
				if last.cpu > 0 {
					b.ReportMetric((took.cpu-last.cpu).Seconds()*1e3/(size-sizes[i-1]), "cpu-ms/"+unit)
					b.ReportMetric(math.Log(took.cpu.Seconds()/last.cpu.Seconds())/math.Log(size/sizes[i-1]), "exponent")
				}
				last = took
			})
		}
	}
	grow("pods", "pod", []float64{300, 3000, 10_000, 30_000}, func(b *testing.B, pods float64) naiveRun {
		db, until := benchBlocks(b, int(pods), 3*time.Hour)
		w := allocation.Window{Start: until.Add(-2 * time.Hour), End: until}
		return benchCompute(b, db, allocation.Query{Window: w, Resolution: time.Minute})
	})
	whole := b // the blocks are there for all windows
	var db *blocks.DB
	var until time.Time
	grow("hours", "hour", []float64{1, 6, 24, 72, 168}, func(b *testing.B, hours float64) naiveRun {
		if db == nil {
			db, until = benchBlocks(whole, 300, 169*time.Hour)
		}
		w := allocation.Window{Start: until.Add(-time.Duration(hours) * time.Hour), End: until}
		return benchCompute(b, db, allocation.Query{Window: w, Resolution: time.Minute})
	})
}

// benchBlocks opens blocks of a cluster of so many pods, thirty a node. They are there until the benchmark ends.
func benchBlocks(b *testing.B, pods int, d time.Duration) (*blocks.DB, time.Time) {
	b.Helper()
	until := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	_, db := newDemoBlocks(b, democluster.Config{End: until, Duration: d, Nodes: pods / 30, Pods: pods})
	return db, until
}

// naiveRun is what an operation takes.
type naiveRun struct {
	elapsed, cpu time.Duration
	samples      int64
}

// benchCompute computes a query over and over.
func benchCompute(b *testing.B, db *blocks.DB, q allocation.Query) naiveRun {
	samples := int64(0)
	cfg := config
	cfg.Observe = func(o promquery.Observation) { samples = o.Stats.Samples }
	e := promquery.NewEngine(db, cfg)
	return measure(b, func() int64 {
		if _, err := e.Compute(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		return samples
	})
}

// measure runs f, which returns how many samples it read, over and over.
func measure(b *testing.B, f func() int64) naiveRun {
	var run naiveRun
	began := processorTime(b)
	for b.Loop() {
		run.samples = f()
	}
	run.elapsed, run.cpu = b.Elapsed()/time.Duration(b.N), (processorTime(b)-began)/time.Duration(b.N)
	b.ReportMetric(float64(run.samples)/run.elapsed.Seconds(), "samples/s")
	return run
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
