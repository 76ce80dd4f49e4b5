package costseries

import (
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/promcost/promcost/allocation"
)

// usageSchema is the schema of allocation.Bucket.
const usageSchema = 3

// usageLabels are the properties that tell series of usage apart.
var usageLabels = []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller, allocation.NodeName, allocation.Pod, allocation.Container}

// usageFamilies are native histograms of how long containers used how much: of seconds. They add over time and over containers.
func usageFamilies() (list []family) {
	for _, of := range [...]struct {
		r              allocation.Resource
		name, of, unit string
	}{{allocation.CPU, "cpu", "CPU", "cores"}, {allocation.RAM, "memory", "memory", "bytes"}} {
		f := family{
			name: "promcost_container_" + of.name + "_usage",
			help: fmt.Sprintf("How long containers used how much %s in the closed hour: a native histogram of seconds by %s. Only PromQL has it, not /metrics, and only where the history has distributions or the source has the samples.", of.of, of.unit),
		}
		needs := allocation.OfRows(usageLabels, allocation.UsageHours.Of(of.r))
		for _, p := range usageLabels {
			f.labels = append(f.labels, p.Field())
		}
		needs.Levels = true
		f.histograms = &histograms{of.r, needs}
		list = append(list, f)
	}
	return list
}

// histograms make histograms of the levels of usage of rows.
type histograms struct {
	resource allocation.Resource
	needs    *allocation.Projection
}

// emit calls emit for each series of a set. Rows of one series are added.
func (h *histograms) emit(set *allocation.Set, emit func(labels []string, h *histogram.FloatHistogram)) {
	if !set.HasLevels() {
		return
	}
	index, values := map[string]int{}, make([]string, len(usageLabels))
	var series []*histogram.FloatHistogram
	var names [][]string
	for row := range set.Len() {
		levels := set.Levels(h.resource, row)
		if len(levels) == 0 {
			continue
		}
		for i, p := range usageLabels {
			values[i] = set.Text(p, row)
		}
		one := histogramOf(levels, set.Value(allocation.UsageHours.Of(h.resource), row)*3600)
		key := strings.Join(values, "\xff")
		i, ok := index[key]
		if !ok {
			index[key] = len(series)
			series, names = append(series, one), append(names, append([]string(nil), values...))
			continue
		}
		series[i] = sumOf(series[i], one)
	}
	for i := range series {
		emit(names[i], series[i])
	}
}

// sumOf adds two histograms. They have one schema, so that nothing is lost.
func sumOf(a, b *histogram.FloatHistogram) *histogram.FloatHistogram {
	sum, _, _, err := a.Copy().Add(b)
	if err != nil {
		panic("BUG: histograms of usage do not add: " + err.Error())
	}
	return sum
}

// histogramOf returns the histogram of levels, which are of used core-seconds or byte-seconds in all.
func histogramOf(levels []allocation.Level, used float64) *histogram.FloatHistogram {
	h := &histogram.FloatHistogram{Schema: usageSchema, CounterResetHint: histogram.GaugeType, ZeroThreshold: allocation.NoUsage.Upper(), Sum: used}
	next := int32(0)
	for _, l := range levels {
		seconds := float64(l.Millis) / 1000
		if h.Count += seconds; l.Bucket == allocation.NoUsage {
			h.ZeroCount = seconds
			continue
		}
		if at := int32(l.Bucket); len(h.PositiveSpans) == 0 || at != next {
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: at - next})
		}
		h.PositiveSpans[len(h.PositiveSpans)-1].Length++
		h.PositiveBuckets, next = append(h.PositiveBuckets, seconds), int32(l.Bucket)+1
	}
	return h
}

// histogramBytes is about what a histogram takes in memory besides its buckets.
const histogramBytes = 250

// putHistogram adds a histogram to a series at the last time of the clock.
func (l *loader) putHistogram(i int32, h *histogram.FloatHistogram) {
	l.put(i, h.Sum)
	s := l.series[i]
	for len(s.histograms) < len(s.values) {
		s.histograms = append(s.histograms, nil)
	}
	at := &s.histograms[len(s.values)-1]
	if *at != nil {
		h = sumOf(*at, h)
	}
	*at = h
	l.used += histogramBytes + 8*int64(len(h.PositiveBuckets))
}
