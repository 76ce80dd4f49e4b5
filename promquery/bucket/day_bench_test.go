package bucket_test

import (
	"testing"
	"time"

	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/democluster"
)

// BenchmarkDay computes a day of clusters from blocks in a bucket, and says how often and how much it reads of it for that.
func BenchmarkDay(b *testing.B) {
	for _, tc := range []struct {
		name        string
		nodes, pods int
		block       time.Duration
	}{
		{"S/2h", 10, 300, 2 * time.Hour}, {"M/6h", 100, 3000, 6 * time.Hour}, {"M/30h", 100, 3000, 30 * time.Hour},
	} {
		b.Run(tc.name, func(b *testing.B) {
			end := time.UnixMilli(begin).UTC().Add(30 * time.Hour)
			c, err := democluster.New(democluster.Config{
				End: end, Duration: 30 * time.Hour, Nodes: tc.nodes, Pods: tc.pods, ScrapeInterval: time.Minute, JobsPerHour: tc.pods * 200 / 3000, Pressure: true,
			})
			if err != nil {
				b.Fatal(err)
			}
			dir := b.TempDir()
			for at := c.Start(); at.Before(c.End()); at = at.Add(tc.block) {
				if err := c.WriteBlock(b.Context(), dir, at, at.Add(tc.block)); err != nil {
					b.Fatal(err)
				}
			}
			store, err := filesystem.NewBucket(dir)
			if err != nil {
				b.Fatal(err)
			}
			counted := &counting{Bucket: store}
			for b.Loop() {
				counted.reads.Store(0)
				counted.bytes.Store(0)
				engine := promquery.NewEngine(bucket.New(bucket.Config{Bucket: counted}), promquery.Config{Rates: pricing.Default()})
				if _, err := engine.Compute(b.Context(), allocation.Query{Window: allocation.Window{Start: end.Add(-24 * time.Hour), End: end}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(counted.reads.Load()), "reads")
			b.ReportMetric(float64(counted.bytes.Load())/1e6, "MB")
		})
	}
}
