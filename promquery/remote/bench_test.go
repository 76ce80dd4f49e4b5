package remote_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// BenchmarkFrames reads 500 series of 12 chunks of 120 samples from memory.
func BenchmarkFrames(b *testing.B) {
	var body [][]byte
	for i := range 500 {
		lset := fmt.Sprintf("__name__=m,container=main,instance=10.0.0.1:10250,job=kubelet,namespace=shop,node=n1,pod=pod-%d", i)
		c := chunk(b, chunkenc.EncXOR, 0, 120)
		f := frame(b, 0, lset, c)
		for k := range 11 {
			f = append(f, frame(b, 0, lset, chunk(b, chunkenc.EncXOR, int64(k+1)*1200, 120))...)
		}
		body = append(body, f)
	}
	fk := newFake()
	fk.handle("/api/v1/read", probed(frames(body...)))
	run(b, fk.source(b, remote.Config{}), promquery.Request{Metric: "m", Keep: promquery.Labels("namespace", "pod", "container", "node"), End: 1 << 40})
}

// BenchmarkAnswer reads 500 series of 1440 points, as the query API gives them, from memory.
func BenchmarkAnswer(b *testing.B) {
	for _, digits := range []int{4, 17} {
		b.Run(fmt.Sprintf("digits=%d", digits), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			var body strings.Builder
			body.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
			for i := range 500 {
				if i > 0 {
					body.WriteByte(',')
				}
				fmt.Fprintf(&body, `{"metric":{"__name__":"m","container":"main","namespace":"shop","node":"n1","pod":"pod-%d"},"values":[`, i)
				for k := range 1440 {
					if k > 0 {
						body.WriteByte(',')
					}
					fmt.Fprintf(&body, `[%d,"%.*f"]`, 1_767_571_200+60*k, digits-1, 1+r.Float64())
				}
				body.WriteString("]}")
			}
			body.WriteString("]}}")
			fk := newFake()
			fk.handle(rangePath, text("application/json", body.String()))
			sel := promquery.Request{Metric: "m", Keep: promquery.Labels("namespace", "pod"), Start: 1_767_571_200_000, End: 1_767_571_200_000 + 1439*60_000, Grid: promquery.Grid{Step: 60_000}}
			run(b, fk.source(b, remote.Config{Mode: remote.ModeQuery}), sel)
		})
	}
}

// run measures Select.
func run(b *testing.B, src promquery.Source, sel promquery.Request) {
	b.Helper()
	samples, bytes := int64(0), int64(0)
	b.ReportAllocs()
	for b.Loop() {
		stats, err := promtest.Select(b.Context(), src, []promquery.Request{sel}, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		samples += stats.Samples
		bytes += stats.Bytes
	}
	if samples == 0 {
		b.Fatal("no samples")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(samples), "ns/sample")
	b.ReportMetric(float64(bytes)/float64(samples), "bytes/sample")
}
