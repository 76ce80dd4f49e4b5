package collector

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// StoreState is the state of the history, as far as it is known.
type StoreState struct {
	Hours, Days int   // sets
	Bytes       int64 // of their files
	LastWrite   time.Time
	Missing     int           // closed hours that are still to be computed
	NotCounted  int           // closed hours of the month that counters lack
	Lag         time.Duration // how long ago the last closed hour should have been there
	Failing     bool          // it could not be read or written the last time
}

// store exports the state of the history.
type store struct {
	state func() StoreState

	sets, bytes, written, missing, notCounted, lag, failing *prometheus.Desc
}

// NewStore registers metrics about the history with reg. State is asked at each scrape. What is registered already is an
// error.
func NewStore(reg prometheus.Registerer, state func() StoreState) error {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	s := &store{
		state:      state,
		sets:       desc("promcost_store_sets", "Sets that the history has, by their length: hour or day.", "length"),
		bytes:      desc("promcost_store_bytes", "Bytes of the files of these sets."),
		written:    desc("promcost_store_last_write_timestamp_seconds", "When a set was last written, in Unix seconds; 0 before the first time."),
		missing:    desc("promcost_store_missing_sets", "Closed hours that the history lacks and that are still to be computed, without those before the first data."),
		notCounted: desc("promcost_counters_missing_sets", "Closed hours of the month that the counters of costs lack: the source had nothing of them, or the history does not have them yet. Hours before the first data are none. Where there are no counters they are all."),
		lag:        desc("promcost_history_lag_seconds", "For how long the last closed hour has been due, in seconds; 0 where it is there."),
		failing:    desc("promcost_store_failing", "Whether the history could not be read or written the last time: 1 or 0."),
	}
	if err := reg.Register(s); err != nil {
		return fmt.Errorf("register history metrics: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (s *store) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{s.sets, s.bytes, s.written, s.missing, s.notCounted, s.lag, s.failing} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (s *store) Collect(metrics chan<- prometheus.Metric) {
	state := s.state()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(s.sets, float64(state.Hours), "hour")
	gauge(s.sets, float64(state.Days), "day")
	gauge(s.bytes, float64(state.Bytes))
	written := 0.0
	if !state.LastWrite.IsZero() {
		written = float64(state.LastWrite.UnixMilli()) / 1e3
	}
	gauge(s.written, written)
	gauge(s.missing, float64(state.Missing))
	gauge(s.notCounted, float64(state.NotCounted))
	gauge(s.lag, state.Lag.Seconds())
	failing := 0.0
	if state.Failing {
		failing = 1
	}
	gauge(s.failing, failing)
}
