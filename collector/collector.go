// Package collector exports costs and promcost's own health as Prometheus metrics.
//
// A Collector serves the families of allocation's table for the latest closed hour. It renders a set once, when it first
// sees it: a scrape neither computes nor asks the source for anything. Subjects are switched like the collectors of
// node_exporter, and each is capped in its series. Health holds the metrics of promcost itself, which are there before
// anything is computed.
package collector

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// LatestSet returns the unaggregated set of the last closed hour and when it was computed. The set is nil before the first
// computation. An error says why there is no newer set; the last one is still returned. A returned set does not change.
type LatestSet interface {
	Latest() (*allocation.Set, time.Time, error)
}

// Switch is a subject that can be switched on and off: --collector.<Name>, --no-collector.<Name>.
type Switch struct {
	Name    string
	Help    string // a whole clause for the flag
	Default bool
}

// Switches are all subjects that can be switched, in the order of the reference documentation.
func Switches() []Switch {
	var switches []Switch
	for _, s := range metering.Subjects() {
		if !s.Always && s.Help != "" {
			switches = append(switches, Switch{Name: s.Collector(), Help: "Export " + s.Help + ".", Default: s.Default})
		}
	}
	return switches
}

// Names are the names of Switches.
func Names() []string {
	var names []string
	for _, s := range Switches() {
		names = append(names, s.Name)
	}
	return names
}

// Config configures a Collector. The zero Config serves the defaults.
type Config struct {
	// Metering says which subjects are served, and how many series each may have. It may return another one later, of the same
	// subjects; nil is the default one.
	Metering func() *metering.Metering
	// Bounds are the error bounds of a running time d that is counted at a resolution, 0 with every sample of a scrape interval.
	// Nil leaves them out.
	Bounds func(d, resolution, scrape time.Duration) (lower, upper float64)
	// Accrued returns the costs of the month, which counters show; nil while they are unknown. A nil function leaves counters out.
	Accrued func() *metering.Accrued
	// Spending returns the state of the budgets; nil if there are none, or while it is unknown. A nil function leaves budgets out.
	Spending func() *metering.Spending
	// Outlook returns what subjects should cost, nil while it is unknown. A nil function leaves that out.
	Outlook func() *metering.Outlook
	// Recommended returns the requests that are recommended; nil while they are unknown. A nil function leaves them out.
	Recommended func() *metering.Recommended
	// Logger gets one line for each subject whose series are capped. Nil logs nothing.
	Logger log.Logger
}

// Collector is a prometheus.Collector of the latest set. It is safe for concurrent use.
type Collector struct {
	latest   LatestSet
	metering func() *metering.Metering
	accrued  func() *metering.Accrued
	spending func() *metering.Spending
	outlook  func() *metering.Outlook
	sizes    func() *metering.Recommended
	subjects []subject
	set      []setFamily // about the set as a whole
	dropped  *prometheus.Desc
	bounds   func(d, resolution, scrape time.Duration) (lower, upper float64)
	logger   log.Logger

	rendering sync.Mutex // held while a set is rendered, so that it is rendered once
	current   atomic.Pointer[snapshot]
	warned    map[string]bool
	total     map[string]int // series dropped by collector, since the start
	counted   map[string]int // those of the current set by subject, which total contains
}

// subject is an enabled subject of the families table.
type subject struct {
	name      string
	collector string
	families  []family
}

// family is a family of the table and its descriptor.
type family struct {
	metering.Family
	desc *prometheus.Desc
}

// setFamily is a gauge about the set as a whole and its descriptor.
type setFamily struct {
	metering.SetFamily
	desc *prometheus.Desc
}

// New returns a Collector of latest.
func New(latest LatestSet, cfg Config) *Collector {
	if cfg.Logger == nil {
		cfg.Logger = log.NewNopLogger()
	}
	if cfg.Metering == nil {
		fallback := metering.Default()
		cfg.Metering = func() *metering.Metering { return fallback }
	}
	c := &Collector{
		latest: latest, metering: cfg.Metering, accrued: cfg.Accrued, spending: cfg.Spending, outlook: cfg.Outlook, sizes: cfg.Recommended, bounds: cfg.Bounds, logger: cfg.Logger,
		dropped: prometheus.NewDesc("promcost_series_dropped_total",
			"Series that were not exported of the sets served since the start, because the collector has more than --collector.max-series of them (their sums are in __other__) or because they are not finite.",
			[]string{"collector"}, nil),
		warned: map[string]bool{}, total: map[string]int{}, counted: map[string]int{},
	}
	if c.accrued == nil {
		c.accrued = func() *metering.Accrued { return nil }
		c.metering = withoutCounters(cfg.Metering)
	}
	if c.spending == nil {
		c.spending = func() *metering.Spending { return nil }
	}
	if c.outlook == nil {
		c.outlook = func() *metering.Outlook { return nil }
	}
	if c.sizes == nil {
		c.sizes = func() *metering.Recommended { return nil }
	}
	for _, s := range c.metering().Subjects() {
		e := subject{name: s.Name, collector: s.Collector()}
		for _, f := range s.Families() {
			e.families = append(e.families, family{f, prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)})
		}
		c.subjects = append(c.subjects, e)
	}
	for _, f := range metering.SetFamilies() {
		c.set = append(c.set, setFamily{f, prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)})
	}
	c.current.Store(&snapshot{counts: c.droppedMetrics()})
	return c
}

// withoutCounters is meter without counters. Each metering is converted once.
func withoutCounters(meter func() *metering.Metering) func() *metering.Metering {
	var was, is *metering.Metering
	return func() *metering.Metering {
		if m := meter(); m != was {
			was, is = m, m.WithoutCounters()
		}
		return is
	}
}

// Describe sends the descriptors of everything that the Collector may ever serve.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.subjects {
		for _, f := range s.families {
			ch <- f.desc
		}
	}
	for _, f := range c.set {
		ch <- f.desc
	}
	ch <- c.dropped
}

// Own is the Collector's metric about itself, promcost_series_dropped_total, as of the last rendering. Register it in another
// registry than the Collector, which has that metric too.
func (c *Collector) Own() prometheus.Collector { return own{c} }

// own is a prometheus.Collector.
type own struct{ *Collector }

// Describe implements prometheus.Collector.
func (o own) Describe(ch chan<- *prometheus.Desc) { ch <- o.dropped }

// Collect implements prometheus.Collector.
func (o own) Collect(ch chan<- prometheus.Metric) {
	counts := o.current.Load().counts
	for i := range counts {
		ch <- &counts[i]
	}
}

// Recommended is the metric of recommended requests, as of the last rendering, which PromQL cannot compute for any past time. Register it in another
// registry than the Collector, which has that metric too.
func (c *Collector) Recommended() prometheus.Collector {
	r := recommended{Collector: c}
	for _, s := range c.subjects {
		if s.name == metering.RecommendedName {
			r.desc = s.families[0].desc
		}
	}
	return r
}

// recommended is a prometheus.Collector of one family, of none where it is switched off.
type recommended struct {
	*Collector
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (r recommended) Describe(ch chan<- *prometheus.Desc) {
	if r.desc != nil {
		ch <- r.desc
	}
}

// Collect implements prometheus.Collector.
func (r recommended) Collect(ch chan<- prometheus.Metric) {
	metrics := r.current.Load().metrics
	for i := range metrics {
		if r.desc != nil && metrics[i].desc == r.desc {
			ch <- &metrics[i]
		}
	}
}

// Collect sends the metrics of the latest set, none before the first set. It does not wait for another goroutine that renders:
// then it sends the metrics of the set before.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	if c.current.Load().set == nil {
		c.Update()
	} else if c.rendering.TryLock() {
		c.update()
		c.rendering.Unlock()
	}
	shown := c.current.Load()
	for _, metrics := range [][]metric{shown.metrics, shown.counts} {
		for i := range metrics {
			ch <- &metrics[i]
		}
	}
}

// Update renders the latest set if it is new. Call it when a set is ready, so that the next scrape need not render it.
func (c *Collector) Update() {
	c.rendering.Lock()
	defer c.rendering.Unlock()
	c.update()
}

// update renders the latest set if it is new. The last set stays if there is no latest one.
func (c *Collector) update() {
	set, _, _ := c.latest.Latest() // the computation's own metrics show the error; the set stays
	is := snapshot{set: set, accrued: c.accrued(), spending: c.spending(), outlook: c.outlook(), sizes: c.sizes(), metering: c.metering()}
	if was := c.current.Load(); set != nil && (set != was.set || is.accrued != was.accrued || is.spending != was.spending || is.outlook != was.outlook || is.sizes != was.sizes || is.accrued == nil && is.metering != was.metering) {
		c.render(&is)
		c.current.Store(&is)
	}
}

// metric is a prometheus.Metric that is built once, so that a scrape only reads it.
type metric struct {
	desc    *prometheus.Desc
	labels  []*dto.LabelPair // sorted by name
	gauge   *dto.Gauge
	counter *dto.Counter
}

// Desc is the metric's descriptor.
func (m *metric) Desc() *prometheus.Desc { return m.desc }

// Write puts the metric into out, which must not be changed beyond it.
func (m *metric) Write(out *dto.Metric) error {
	out.Label, out.Gauge, out.Counter = m.labels, m.gauge, m.counter
	return nil
}
