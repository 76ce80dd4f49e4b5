package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/allocation"
)

// sourceMetrics count what was read from the sources of samples. Their labels are how a source is read, and the input: a row of
// the table of inputs, or one of the few other things that are read, so there are not many.
type sourceMetrics struct {
	requests, retries, errors, samples, bytes *prometheus.CounterVec
	duration                                  *prometheus.HistogramVec
}

func newSourceMetrics() sourceMetrics {
	by := []string{"source", "input"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, by)
	}
	const whole = " One for several inputs counts for the one that it brought the most bytes of."
	return sourceMetrics{
		requests: counter("promcost_source_requests_total", "Requests sent to the source of samples, or blocks opened, by how it is read and by input."+whole),
		retries:  counter("promcost_source_retries_total", "Requests to the source that repeated one that failed, by how it is read and by input."+whole),
		errors:   counter("promcost_source_errors_total", "Requests to the source that failed, those that were repeated included, by how it is read and by input."+whole),
		samples:  counter("promcost_source_samples_total", "Samples read from the source, by how it is read and by input."),
		bytes:    counter("promcost_source_bytes_total", "Bytes received from the source, or bytes of chunks read, by how it is read and by input."),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "promcost_source_request_duration_seconds", Help: "How long requests to the source took until their answer was read, whether they succeeded or not, by how it is read and by input." + whole,
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, by),
	}
}

func (m *sourceMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.retries, m.errors, m.samples, m.bytes, m.duration}
}

// ObserveSource counts what one computation read from a source, also if it ended with an error.
func (h *Health) ObserveSource(r allocation.SourceReading) {
	m := &h.source
	for _, in := range r.Inputs {
		for _, c := range []struct {
			of *prometheus.CounterVec
			n  int64
		}{{m.requests, in.Requests}, {m.retries, in.Retries}, {m.errors, in.Errors}, {m.samples, in.Samples}, {m.bytes, in.Bytes}} {
			c.of.WithLabelValues(r.Name, in.Input).Add(float64(c.n))
		}
		for _, took := range in.Durations {
			m.duration.WithLabelValues(r.Name, in.Input).Observe(took.Seconds())
		}
	}
}
