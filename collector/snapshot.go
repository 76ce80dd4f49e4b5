package collector

import (
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// snapshot is a set with the metrics that are served for it.
type snapshot struct {
	set      *allocation.Set
	accrued  *metering.Accrued  // nil if there is none
	spending *metering.Spending // nil if there is none
	outlook  *metering.Outlook  // nil if there is none
	sizes    *metering.Recommended
	metering *metering.Metering
	metrics  []metric // of costs
	counts   []metric // counts of what was dropped
}

// render makes the metrics of a set and of the month, and counts what it drops.
func (c *Collector) render(of *snapshot) {
	was := len(c.current.Load().metrics) // about as many as there will be
	b := builder{metrics: make([]metric, 0, was+was/8), pairs: map[pair]*dto.LabelPair{}}
	places := of.accrued // decides which members have series of their own
	if places == nil {
		places = metering.NewAccrued(of.set.Window.Start, of.metering)
	}
	subjects := places.Metering().Subjects()
	if of.set != c.current.Load().set {
		clear(c.counted)
	}
	if places.Window.End.Before(of.set.Window.End) {
		places = places.Add(of.set)
	}
	for i := range subjects {
		s := &subjects[i]
		served := slices.IndexFunc(c.subjects, func(o subject) bool { return o.name == s.Name })
		if served < 0 {
			continue
		}
		totals, dropped := places.Fold(s, of.totals(s))
		if s.Name == metering.RecommendedName {
			totals, dropped = of.sizes.Totals()
		}
		if dropped > 0 && !c.warned[s.Collector()] {
			c.warned[s.Collector()] = true
			level.Warn(c.logger).Log("msg", "collector has more series than --collector.max-series, the smallest are summed into "+allocation.OtherName,
				"collector", s.Collector(), "max_series", places.Metering().MaxSeries(), "dropped", dropped)
		}
		for k := range c.subjects[served].families {
			f := &c.subjects[served].families[k]
			switch {
			case f.Type == metering.Gauge:
				dropped += b.add(f, totals)
			case of.accrued != nil:
				dropped += b.add(f, of.accrued.Totals(s))
			}
		}
		if more := dropped - c.counted[s.Name]; more > 0 { // a set is rendered again once the month is known, which may drop more
			c.total[s.Collector()] += more
			c.counted[s.Name] = dropped
		}
	}
	for _, f := range c.set {
		f.Emit(of.set, c.bounds, func(labels []string, value float64) {
			b.append(f.desc, b.labels(f.Labels, labels, sortedByName(f.Labels)), metering.Gauge, value)
		})
	}
	of.metrics, of.counts = b.metrics, c.droppedMetrics()
}

// totals are the sums that the gauges of a subject are made from. Some take more than one set.
func (s *snapshot) totals(of *metering.Subject) *metering.Totals {
	switch {
	case of.Name == "budget":
		return s.spending.Totals()
	case of.Expects():
		return s.outlook.Totals(of)
	}
	return of.Totals(s.set)
}

// droppedMetrics are promcost_series_dropped_total of every subject, zeros included.
func (c *Collector) droppedMetrics() []metric {
	b := builder{pairs: map[pair]*dto.LabelPair{}}
	for i, s := range c.subjects {
		if i == 0 || c.subjects[i-1].collector != s.collector {
			b.append(c.dropped, b.labels([]string{"collector"}, []string{s.collector}, []int{0}), metering.Counter, float64(c.total[s.collector]))
		}
	}
	return b.metrics
}

// pair is the name and value of a label.
type pair struct{ name, value string }

// builder makes metrics that share their label pairs: series of a set repeat few of them.
type builder struct {
	metrics []metric
	pairs   map[pair]*dto.LabelPair
	last    []*dto.LabelPair       // of the series before
	created *timestamppb.Timestamp // used last
}

// add appends all series of a family and returns how many were left out because they are not finite. They are in the registry's
// order: to sort what is sorted takes half as long, at every scrape.
func (b *builder) add(f *family, totals *metering.Totals) (notFinite int) {
	order, first := sortedByName(f.Labels), len(b.metrics)
	notFinite = f.Emit(totals, func(i int, labels []string, value float64) {
		b.append(f.desc, b.labels(f.Labels, labels, order), f.Type, value)
		if f.Type == metering.Counter {
			b.metrics[len(b.metrics)-1].counter.CreatedTimestamp = b.time(totals.Created(i))
		}
	})
	slices.SortFunc(b.metrics[first:], compareLabels)
	return notFinite
}

// time is t as metrics have it, one for all that have the same.
func (b *builder) time(t time.Time) *timestamppb.Timestamp {
	if b.created == nil || !b.created.AsTime().Equal(t) {
		b.created = timestamppb.New(t)
	}
	return b.created
}

// compareLabels compares the label values of two series of a family.
func compareLabels(a, b metric) int {
	return slices.CompareFunc(a.labels, b.labels, func(a, b *dto.LabelPair) int { return strings.Compare(*a.Value, *b.Value) })
}

func (b *builder) append(desc *prometheus.Desc, labels []*dto.LabelPair, kind metering.Type, value float64) {
	m := metric{desc: desc, labels: labels}
	switch kind {
	case metering.Gauge:
		m.gauge = &dto.Gauge{Value: &value}
	case metering.Counter:
		m.counter = &dto.Counter{Value: &value}
	}
	b.metrics = append(b.metrics, m)
}

// labels are the pairs of names and values in the order given, without an empty cluster: the first label, which is empty where a series is not
// to have it.
func (b *builder) labels(names, values []string, order []int) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, 0, len(order))
	for _, l := range order {
		i := len(pairs)
		switch {
		case l == 0 && values[l] == "":
		case i < len(b.last) && *b.last[i].Value == values[l] && *b.last[i].Name == names[l]:
			pairs = append(pairs, b.last[i]) // which is the most likely one
		default:
			pairs = append(pairs, b.pair(pair{names[l], values[l]}))
		}
	}
	b.last = pairs
	return pairs
}

// pair is the pair of a name and a value, one for all series.
func (b *builder) pair(key pair) *dto.LabelPair {
	p, ok := b.pairs[key]
	if !ok {
		own := key // key itself would be on the heap at every call
		p = &dto.LabelPair{Name: &own.name, Value: &own.value}
		b.pairs[key] = p
	}
	return p
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
