package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// BenchmarkScale computes and keeps an hour of 100,000 pods, scraped every minute, in one process, and the same hour as 8 shards, one
// after the other. It reports the processor time, the time waited and the peak of anonymous memory of the one process, the
// processor time of the largest shard (x-shard) and of all (x-shards) over that, and the largest memory of a shard. The shards
// must keep the same rows.
func BenchmarkScale(b *testing.B) {
	const shards, hour = 8, time.Hour
	c, err := democluster.New(democluster.Config{End: computeEnd(), Duration: 2 * hour, Nodes: 3334, Pods: 100_000, ScrapeInterval: time.Minute, JobsPerHour: 6667})
	if err != nil {
		b.Fatal(err)
	}
	blocks := b.TempDir()
	if err := c.WriteBlock(b.Context(), blocks, c.Start(), c.End()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		dir := b.TempDir()
		one, several := filepath.Join(dir, "one"), filepath.Join(dir, "several")
		began := time.Now()
		whole := backfillBlocks(b, blocks, one, hour)
		waited := time.Since(began)
		var all, most programRun
		for i := range shards {
			run := backfillBlocks(b, blocks, several, hour, fmt.Sprintf("--shard=%d/%d", i+1, shards))
			all.cpu, most.cpu, most.peak = all.cpu+run.cpu, max(most.cpu, run.cpu), max(most.peak, run.peak)
		}
		export := func(history string) []byte {
			return program(b, "history", "export", "--storage.path="+history, "--period=hourly").out
		}
		if rows := export(one); !bytes.Equal(rows, export(several)) {
			b.Error("shards keep other rows than one process")
		} else {
			b.ReportMetric(float64(bytes.Count(rows, []byte("\n"))-1), "rows")
		}
		b.ReportMetric(float64(whole.cpu.Milliseconds()), "cpu-ms")
		b.ReportMetric(float64(waited.Milliseconds()), "wall-ms")
		b.ReportMetric(float64(whole.peak)/1000, "RssAnon-MB")
		b.ReportMetric(most.cpu.Seconds()/whole.cpu.Seconds(), "x-shard")
		b.ReportMetric(all.cpu.Seconds()/whole.cpu.Seconds(), "x-shards")
		b.ReportMetric(float64(most.peak)/1000, "shard-RssAnon-MB")
	}
}
