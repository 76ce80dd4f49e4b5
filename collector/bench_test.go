package collector_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/promcost/promcost/allocation"
)

// benchSet has as many controllers as make 50,000 series, each of four containers.
func benchSet() *allocation.Set {
	set := newSet()
	for i := range 50_000 {
		appendContainer(set, "prod", fmt.Sprintf("namespace-%d", i%500), "deployment", fmt.Sprintf("deployment-%d", i%12_500), float64(i%977)/7)
	}
	return set
}

// discard is a ResponseWriter that keeps nothing, so that only making the page is measured.
type discard struct {
	io.Writer
	header http.Header
}

func (d discard) Header() http.Header { return d.header }
func (discard) WriteHeader(int)       {}

// BenchmarkScrape50000 is a scrape of 50,000 series; the target is 150 ms and 64 MB.
func BenchmarkScrape50000(b *testing.B) {
	reg := prometheus.NewRegistry()
	register(b, reg, benchSet(), metered(b, "controller", 200_000))
	if n := len(families(b, reg)["promcost_controller_hourly_cost"]); n != 25_000 {
		b.Fatalf("there are %d series", n)
	}
	handler := promhttp.HandlerFor(reg, promhttp.HandlerOpts{DisableCompression: true})
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(discard{io.Discard, http.Header{}}, request)
	}
}

// BenchmarkRender50000 is what the first scrape of a set pays on top.
func BenchmarkRender50000(b *testing.B) {
	sets := []*allocation.Set{benchSet(), benchSet()}
	reg := prometheus.NewRegistry()
	source := register(b, reg, sets[0], metered(b, "controller", 40_000))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		source.set.Store(sets[i%2])
		if _, err := reg.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
