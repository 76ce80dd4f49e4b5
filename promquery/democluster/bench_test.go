package democluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/democluster"
)

func BenchmarkWriteBlock(b *testing.B) {
	for _, size := range []struct {
		name        string
		nodes, pods int
	}{{"default", 10, 150}, {"S", 20, 300}, {"M", 100, 3000}} {
		b.Run(size.name, func(b *testing.B) {
			c := plan(b, democluster.Config{Nodes: size.nodes, Pods: size.pods})
			from := c.End().Truncate(2 * time.Hour).Add(-2 * time.Hour)
			samples := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				dir := b.TempDir()
				if err := c.WriteBlock(context.Background(), dir, from, from.Add(2*time.Hour)); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				samples += blockSamples(b, dir)
				b.StartTimer()
			}
			b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

func blockSamples(b *testing.B, dir string) (n uint64) {
	b.Helper()
	db, err := tsdb.OpenDBReadOnly(dir, b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer closed(b, db)
	blocks, err := db.Blocks()
	if err != nil {
		b.Fatal(err)
	}
	for _, block := range blocks {
		n += block.Meta().Stats.NumSamples
	}
	return n
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		plan(b, democluster.Config{Nodes: 100, Pods: 3000})
	}
}
