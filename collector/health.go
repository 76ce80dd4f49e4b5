package collector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
)

// Health is the metrics of promcost itself. It is safe for concurrent use.
type Health struct {
	computations      prometheus.Histogram
	lastSuccess       prometheus.Gauge
	currency          *prometheus.GaugeVec
	computationErrors prometheus.Counter

	sourceRequests, sourceSamples, sourceBytes, sourceErrors prometheus.Counter
	sourceDuration                                           prometheus.Histogram

	httpRequests *prometheus.CounterVec
	httpDuration *prometheus.HistogramVec
}

// NewHealth registers promcost's own metrics with reg. Currency names the money of every cost, as in USD. What is
// registered already is an error.
func NewHealth(reg prometheus.Registerer, currency string) (*Health, error) {
	h := &Health{
		computations: newHistogram("promcost_computation_duration_seconds", "How long computing costs took, whether it succeeded or not.",
			[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}),
		lastSuccess: newGauge("promcost_computation_last_success_timestamp_seconds",
			"When costs were last computed without an error, in Unix seconds; 0 before the first time."),
		computationErrors: newCounter("promcost_computation_errors_total", "Computations of costs that failed."),

		sourceRequests: newCounter("promcost_source_requests_total", "Requests sent to the source of samples, or blocks opened."),
		sourceSamples:  newCounter("promcost_source_samples_total", "Samples read from the source."),
		sourceBytes:    newCounter("promcost_source_bytes_total", "Bytes received from the source, or bytes of chunks read."),
		sourceErrors:   newCounter("promcost_source_errors_total", "Reads of the source that failed."),
		sourceDuration: newHistogram("promcost_source_request_duration_seconds", "How long reads of the source took, whether they succeeded or not.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}),

		httpRequests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "promcost_http_requests_total", Help: "HTTP requests answered, by route and by whether they select by field or label.",
		}, []string{"handler", "method", "code", "has_field_selector", "has_label_selector"}),
		httpDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "promcost_http_request_duration_seconds", Help: "How long answering HTTP requests took, by route.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"handler"}),
	}
	h.currency = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "promcost_currency_info", Help: "The currency of every cost, as a label of the value 1.",
	}, []string{"currency"})
	h.SetCurrency(currency)
	for _, c := range []prometheus.Collector{
		version.NewCollector("promcost"), h.currency, h.computations, h.lastSuccess, h.computationErrors,
		h.sourceRequests, h.sourceSamples, h.sourceBytes, h.sourceErrors, h.sourceDuration, h.httpRequests, h.httpDuration,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register health metrics: %w", err)
		}
	}
	return h, nil
}

// SetCurrency changes the currency of every cost.
func (h *Health) SetCurrency(currency string) {
	h.currency.Reset()
	h.currency.WithLabelValues(currency).Set(1)
}

func newCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func newGauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func newHistogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// ObserveComputation counts a computation that ended at the time given with err. One that its caller gave up is neither a
// success nor an error.
func (h *Health) ObserveComputation(end time.Time, took time.Duration, err error) {
	h.computations.Observe(took.Seconds())
	switch {
	case err == nil:
		h.lastSuccess.Set(float64(end.UnixMilli()) / 1e3)
	case !errors.Is(err, context.Canceled):
		h.computationErrors.Inc()
	}
}

// SourceRead is what one read of the source took.
type SourceRead struct {
	Took     time.Duration
	Requests int64 // sent, or blocks opened
	Samples  int64
	Bytes    int64
	Err      error
}

// ObserveSource counts a read of the source; what was read before an error counts too. One that its caller gave up is not
// an error.
func (h *Health) ObserveSource(r SourceRead) {
	h.sourceDuration.Observe(r.Took.Seconds())
	h.sourceRequests.Add(float64(max(r.Requests, 0)))
	h.sourceSamples.Add(float64(max(r.Samples, 0)))
	h.sourceBytes.Add(float64(max(r.Bytes, 0)))
	if r.Err != nil && !errors.Is(r.Err, context.Canceled) {
		h.sourceErrors.Inc()
	}
}
