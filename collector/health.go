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

	source sourceMetrics

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

		source: newSourceMetrics(),

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
	for _, c := range append([]prometheus.Collector{
		version.NewCollector("promcost"), h.currency, h.computations, h.lastSuccess, h.computationErrors, h.httpRequests, h.httpDuration,
	}, h.source.all()...) {
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
