package collector

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reloads are the metrics of reading the configuration. It is safe for concurrent use.
type Reloads struct{ successful, last prometheus.Gauge }

// NewReloads registers the metrics with reg. What is registered already is an error.
func NewReloads(reg prometheus.Registerer) (*Reloads, error) {
	r := &Reloads{
		successful: newGauge("promcost_config_last_reload_successful", "Whether the last reading of the configuration succeeded: 1 or 0. Where it did not, the one before is in use."),
		last:       newGauge("promcost_config_last_reload_success_timestamp_seconds", "When the configuration in use was read, in Unix seconds."),
	}
	for _, c := range []prometheus.Collector{r.successful, r.last} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register configuration metrics: %w", err)
		}
	}
	return r, nil
}

// Observe records a reading that ended at the given time with err.
func (r *Reloads) Observe(end time.Time, err error) {
	if err != nil {
		r.successful.Set(0)
		return
	}
	r.successful.Set(1)
	r.last.Set(float64(end.UnixMilli()) / 1e3)
}
