package collector

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/allocation/memory"
)

// memoryState exports how the memory budget stands.
type memoryState struct {
	stats func() memory.Stats

	limit, used, kept, refused *prometheus.Desc
}

// NewMemory registers metrics about the memory that questions share with reg. Stats are asked at each scrape. What is registered
// already is an error.
func NewMemory(reg prometheus.Registerer, stats func() memory.Stats) error {
	m := &memoryState{
		stats:   stats,
		limit:   prometheus.NewDesc("promcost_memory_limit_bytes", "Most memory that questions may take together: --query.max-memory; 0 for any.", nil, nil),
		used:    prometheus.NewDesc("promcost_memory_used_bytes", "Memory that questions and kept answers are estimated to take now.", nil, nil),
		kept:    prometheus.NewDesc("promcost_memory_kept_bytes", "Of the used memory, what answers take that are kept in case they are asked for again: they give way.", nil, nil),
		refused: prometheus.NewDesc("promcost_memory_refused_total", "Times that memory was refused, by reason: too_much where one question can never have so much, busy where others took it.", []string{"reason"}, nil),
	}
	if err := reg.Register(m); err != nil {
		return fmt.Errorf("register memory metrics: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (m *memoryState) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{m.limit, m.used, m.kept, m.refused} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (m *memoryState) Collect(metrics chan<- prometheus.Metric) {
	s := m.stats()
	metrics <- prometheus.MustNewConstMetric(m.limit, prometheus.GaugeValue, float64(s.Limit))
	metrics <- prometheus.MustNewConstMetric(m.used, prometheus.GaugeValue, float64(s.Used))
	metrics <- prometheus.MustNewConstMetric(m.kept, prometheus.GaugeValue, float64(s.Kept))
	metrics <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(s.TooMuch), "too_much")
	metrics <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(s.Busy), "busy")
}
