// Package promtest is test support: TSDB blocks written from literal series, and real servers over them: Prometheus,
// VictoriaMetrics, Thanos, Mimir. It is an ordinary package so that tests of all packages can use it; nothing that is not a test imports it.
package promtest

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb"
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

// WriteBlocks writes the series to dir as blocks that each cover blockRange, aligned to a multiple of it, and returns
// the directories of the blocks, oldest first.
func WriteBlocks(t testing.TB, dir string, blockRange time.Duration, series ...Series) []string {
	t.Helper()
	parts := map[int64][]Series{}
	width := blockRange.Milliseconds()
	for _, s := range series {
		for i := 0; i < len(s.Samples); {
			k := s.Samples[i].T / width
			j := i
			for j < len(s.Samples) && s.Samples[j].T/width == k {
				j++
			}
			parts[k] = append(parts[k], Series{s.Labels, s.Samples[i:j]})
			i = j
		}
	}
	keys := make([]int64, 0, len(parts))
	for k := range parts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dirs := make([]string, 0, len(keys))
	for _, k := range keys {
		dirs = append(dirs, writeBlock(t, dir, width, parts[k]))
	}
	return dirs
}

// writeBlock writes one block.
func writeBlock(t testing.TB, dir string, width int64, series []Series) string {
	t.Helper()
	// A head takes samples up to half its range before the newest: series can be appended one after the other.
	w, err := tsdb.NewBlockWriter(promslog.NewNopLogger(), dir, 4*width)
	if err != nil {
		t.Fatalf("write block: %v", err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Errorf("close block writer: %v", err)
		}
	}()
	ctx := context.Background()
	for _, s := range series {
		app := w.Appender(ctx)
		lset := labels.FromStrings(s.Labels...)
		for _, p := range s.Samples {
			if _, err := app.Append(0, lset, p.T, p.V); err != nil {
				t.Fatalf("append sample of %s at %d: %v", lset, p.T, err)
			}
		}
		if err := app.Commit(); err != nil {
			t.Fatalf("commit samples of %s: %v", lset, err)
		}
	}
	id, err := w.Flush(ctx)
	if err != nil {
		t.Fatalf("flush block: %v", err)
	}
	return dir + "/" + id.String()
}
