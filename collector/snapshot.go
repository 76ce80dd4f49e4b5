package collector

import (
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/promcost/promcost/allocation"
)

// setFamilies are the metrics of the latest set itself.
var setFamilies = []struct {
	name, help string
	labels     []string
	emit       func(c *Collector, set *allocation.Set, emit func(labels []string, value float64))
}{
	{
		name: "promcost_last_complete_set_timestamp_seconds",
		help: "End of the last closed hour whose costs are exported, in Unix seconds.",
		emit: func(_ *Collector, set *allocation.Set, emit func([]string, float64)) {
			emit(nil, float64(set.Window.End.UnixMilli())/1e3)
		},
	},
	{
		name: "promcost_resolution_seconds",
		help: "Distance of the grid that the exported costs were sampled on; 0 if every sample was used.",
		emit: func(_ *Collector, set *allocation.Set, emit func([]string, float64)) {
			emit(nil, set.Resolution.Seconds())
		},
	},
	{
		name: "promcost_error_bound_ratio", labels: []string{"running", "bound"},
		help: "Bounds of the running time counted at the resolution of the exported costs, as a ratio of the true one, for what ran so long; a lower bound of -1 says that it may be missed.",
		emit: emitBounds,
	},
}

// boundDurations are the running times whose error bounds are exported.
var boundDurations = []struct {
	label    string
	duration time.Duration
}{{"5m", 5 * time.Minute}, {"1h", time.Hour}, {"1d", 24 * time.Hour}}

// emitBounds emits the bounds of the set's grid; in exact mode the scrape interval takes its place.
func emitBounds(c *Collector, set *allocation.Set, emit func([]string, float64)) {
	resolution := set.Resolution
	if resolution == 0 && set.Reading != nil {
		resolution = set.Reading.ScrapeInterval
	}
	if c.bounds == nil || resolution <= 0 {
		return
	}
	for _, running := range boundDurations {
		lower, upper := c.bounds(running.duration, resolution)
		emit([]string{running.label, "lower"}, lower)
		emit([]string{running.label, "upper"}, upper)
	}
}

// snapshot is a set as it is served.
type snapshot struct {
	set     *allocation.Set
	accrued *allocation.Accrued // nil where there is none
	metrics []metric
}

// render makes the metrics of a set and of the month, and counts what it drops.
func (c *Collector) render(set *allocation.Set, accrued *allocation.Accrued) snapshot {
	b := builder{pairs: map[pair]*dto.LabelPair{}}
	for i := range c.subjects {
		s := &c.subjects[i]
		totals, most := s.Totals(set), c.max
		if accrued != nil && len(s.counters) > 0 {
			most = c.counters(&b, s, totals, accrued)
		}
		totals, dropped := limit(s.families, totals, most)
		if dropped > 0 && !c.warned[s.Name] {
			c.warned[s.Name] = true
			level.Warn(c.logger).Log("msg", "collector has more series than --collector.max-series, the smallest are summed into "+allocation.OtherName,
				"collector", s.Name, "max_series", c.max, "dropped", dropped)
		}
		c.total[s.Name] += dropped + b.add(s.families, totals)
	}
	for i, f := range setFamilies {
		f.emit(c, set, func(labels []string, value float64) {
			b.append(c.set[i], b.labels(f.labels, labels, sortedByName(f.labels)), allocation.GaugeFamily, value)
		})
	}
	return snapshot{set: set, accrued: accrued, metrics: append(b.metrics, c.droppedMetrics()...)}
}

// droppedMetrics are promcost_series_dropped_total of every subject, zeros included.
func (c *Collector) droppedMetrics() []metric {
	b := builder{pairs: map[pair]*dto.LabelPair{}}
	for _, s := range c.subjects {
		b.append(c.dropped, b.labels([]string{"collector"}, []string{s.Name}, []int{0}), allocation.CounterFamily, float64(c.total[s.Name]))
	}
	return b.metrics
}

// pair is the name and value of a label.
type pair struct{ name, value string }

// builder makes metrics that share their label pairs: series of a set repeat few of them.
type builder struct {
	metrics []metric
	pairs   map[pair]*dto.LabelPair
}

// add appends all series of a subject and returns how many were left out because they are not finite. Those of a family
// come in the order that the registry sorts them in: sorting what is sorted takes half the time off every scrape.
func (b *builder) add(families []family, totals *allocation.Totals) (notFinite int) {
	for i := range families {
		f := &families[i]
		order, first := sortedByName(f.Labels), len(b.metrics)
		notFinite += f.Emit(totals, func(_ int, labels []string, value float64) {
			b.append(f.desc, b.labels(f.Labels, labels, order), f.Type, value)
		})
		slices.SortFunc(b.metrics[first:], compareLabels)
	}
	return notFinite
}

// compareLabels compares the label values of two series of a family.
func compareLabels(a, b metric) int {
	return slices.CompareFunc(a.labels, b.labels, func(a, b *dto.LabelPair) int { return strings.Compare(*a.Value, *b.Value) })
}

func (b *builder) append(desc *prometheus.Desc, labels []*dto.LabelPair, kind allocation.FamilyType, value float64) {
	m := metric{desc: desc, labels: labels}
	switch kind {
	case allocation.GaugeFamily:
		m.gauge = &dto.Gauge{Value: &value}
	case allocation.CounterFamily:
		m.counter = &dto.Counter{Value: &value}
	}
	b.metrics = append(b.metrics, m)
}

// labels are the pairs of names and values in the order given.
func (b *builder) labels(names, values []string, order []int) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, len(order))
	for i, l := range order {
		key := pair{names[l], values[l]}
		p, ok := b.pairs[key]
		if !ok {
			p = &dto.LabelPair{Name: &key.name, Value: &key.value}
			b.pairs[key] = p
		}
		pairs[i] = p
	}
	return pairs
}

// sortedByName is the order of names that the registry wants labels in.
func sortedByName(names []string) []int {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	return order
}
