package selfseries_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/promquery/selfseries"
)

// BenchmarkScrape takes two hours of samples of 2,000 series, one in ten of which changes each time, and reports what they take.
func BenchmarkScrape(b *testing.B) {
	reg, vec := prometheus.NewRegistry(), prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "some", Help: "Some."}, []string{"number"})
	reg.MustRegister(vec)
	gauges := make([]prometheus.Gauge, 2000)
	for i := range gauges {
		gauges[i] = vec.WithLabelValues(strconv.Itoa(i))
	}
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before, now := heap(), time.Unix(0, 0)
	r := selfseries.New(reg, selfseries.Options{Now: func() time.Time { return now }})
	scrape := func() {
		now = now.Add(selfseries.DefaultInterval)
		for i := 0; i < len(gauges); i += 10 {
			gauges[i].Inc()
		}
		if err := r.Scrape(); err != nil {
			b.Fatal(err)
		}
	}
	for range int(selfseries.DefaultKeep / selfseries.DefaultInterval) {
		scrape()
	}
	kept := heap() - before
	b.ReportAllocs()
	for b.Loop() {
		scrape()
	}
	b.ReportMetric(kept/1e6, "MB-kept")
}
