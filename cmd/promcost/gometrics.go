package main

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// goMetrics are client_golang's metrics of the Go runtime without the gauge go_memstats_alloc_bytes, which is the same as
// go_memstats_heap_alloc_bytes: in OpenMetrics it is a family of the same name as the counter go_memstats_alloc_bytes_total.
type goMetrics struct{ prometheus.Collector }

func newGoMetrics() goMetrics { return goMetrics{collectors.NewGoCollector()} }

// Collect implements prometheus.Collector.
func (c goMetrics) Collect(out chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric)
	go func() {
		defer close(all)
		c.Collector.Collect(all)
	}()
	for m := range all {
		if !strings.Contains(m.Desc().String(), `"go_memstats_alloc_bytes"`) {
			out <- m
		}
	}
}
