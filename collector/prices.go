package collector

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PriceSource is where prices come from.
type PriceSource struct {
	Kind     string // sheet, metric, exporter, list, estimate or built-in
	Name     string // of the sheet's file, of the metric or the exporter, or of the price list with its date
	Currency string
	AsOf     time.Time // when the prices were valid; zero if that is unknown
}

// prices exports the sources of prices.
type prices struct {
	sources   func() []PriceSource
	now       func() time.Time
	info, age *prometheus.Desc
}

// NewPrices registers metrics about the sources of prices with reg. At each scrape, sources returns them, each name once, and now
// is the time that their ages are relative to. It is an error if they are registered already.
func NewPrices(reg prometheus.Registerer, now func() time.Time, sources func() []PriceSource) error {
	p := &prices{
		sources: sources, now: now,
		info: prometheus.NewDesc("promcost_price_info",
			"The sources of prices as labels of the value 1: the sheet or the built-in defaults, and the metrics, exporters and price lists that priced something in the last closed hour.", []string{"kind", "source", "currency"}, nil),
		age: prometheus.NewDesc("promcost_price_age_seconds",
			"How long ago the prices were right: since asOf of the sheet or the time of its file, since the date of the price list, or since the end of the last closed hour that a metric or exporter priced.", []string{"source"}, nil),
	}
	if err := reg.Register(p); err != nil {
		return fmt.Errorf("register price metrics: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (p *prices) Describe(descs chan<- *prometheus.Desc) {
	descs <- p.info
	descs <- p.age
}

// Collect implements prometheus.Collector.
func (p *prices) Collect(metrics chan<- prometheus.Metric) {
	now := p.now()
	for _, s := range p.sources() {
		metrics <- prometheus.MustNewConstMetric(p.info, prometheus.GaugeValue, 1, s.Kind, s.Name, s.Currency)
		if !s.AsOf.IsZero() {
			metrics <- prometheus.MustNewConstMetric(p.age, prometheus.GaugeValue, max(0, now.Sub(s.AsOf).Seconds()), s.Name)
		}
	}
}
