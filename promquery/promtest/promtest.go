// Package promtest is test support: TSDB blocks written from literal series, and real servers over them: Prometheus,
// VictoriaMetrics, Thanos, Mimir. It is an ordinary package so that tests of all packages can use it; nothing that is not a test imports it.
package promtest

import (
	"math"

	"github.com/prometheus/prometheus/model/value"
)

// Sample is a time in Unix milliseconds and a value.
type Sample struct {
	T int64
	V float64
}

// Series is labels as alternating names and values, __name__ among them, and samples in ascending time.
type Series struct {
	Labels  []string
	Samples []Sample
}

// Stale is Prometheus' staleness marker as a sample at t.
func Stale(t int64) Sample { return Sample{t, math.Float64frombits(value.StaleNaN)} }

// Regular returns the samples f(first), f(first+step), … up to last.
func Regular(first, last, step int64, f func(t int64) float64) []Sample {
	var samples []Sample
	for t := first; t <= last; t += step {
		samples = append(samples, Sample{t, f(t)})
	}
	return samples
}
