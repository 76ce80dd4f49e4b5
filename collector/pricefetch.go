package collector

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PriceFetch is how fetching the list prices of a provider goes.
type PriceFetch struct {
	Provider    string
	Failures    int
	LastSuccess time.Time // zero for none yet
}

// priceFetches exports how fetching goes.
type priceFetches struct {
	state          func() []PriceFetch
	failures, last *prometheus.Desc
}

// NewPriceFetches registers metrics about fetching list prices with reg. At each scrape, state returns each provider once. It is an error if they are registered already.
func NewPriceFetches(reg prometheus.Registerer, state func() []PriceFetch) error {
	p := &priceFetches{
		state:    state,
		failures: prometheus.NewDesc("promcost_price_fetch_failures_total", "How often fetching list prices of a provider failed. Those from before stay.", []string{"provider"}, nil),
		last: prometheus.NewDesc("promcost_price_fetch_last_success_timestamp_seconds",
			"When list prices of a provider were last fetched, by this promcost or one that shares its history, in Unix seconds.", []string{"provider"}, nil),
	}
	if err := reg.Register(p); err != nil {
		return fmt.Errorf("register metrics of fetching prices: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (p *priceFetches) Describe(descs chan<- *prometheus.Desc) {
	descs <- p.failures
	descs <- p.last
}

// Collect implements prometheus.Collector.
func (p *priceFetches) Collect(metrics chan<- prometheus.Metric) {
	for _, f := range p.state() {
		metrics <- prometheus.MustNewConstMetric(p.failures, prometheus.CounterValue, float64(f.Failures), f.Provider)
		if !f.LastSuccess.IsZero() {
			metrics <- prometheus.MustNewConstMetric(p.last, prometheus.GaugeValue, float64(f.LastSuccess.Unix()), f.Provider)
		}
	}
}
