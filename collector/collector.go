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

// LatestSet gives the unaggregated set of the last closed hour and when it was computed. The set is nil before the first
// computation; an error says why there is none newer, and does not take the set away. A set is not changed once given.
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

// Config says what a Collector serves. The zero Config serves the defaults.
type Config struct {
	// Metering says which subjects are served, and how many series each may have. It may give another one later, of the same
	// subjects; nil is the default one.
	Metering func() *metering.Metering
	// Bounds are the error bounds of a running time d that is counted at a resolution, 0 with every sample of a scrape interval.
	// Nil leaves them out.
	Bounds func(d, resolution, scrape time.Duration) (lower, upper float64)
	// Accrued are the costs of the month, which counters show; nil as long as they are not known. Nil leaves counters out.
	Accrued func() *metering.Accrued
	// Spending is how budgets stand; nil where there are none, or as long as that is not known. Nil leaves budgets out.
	Spending func() *metering.Spending
	// Logger is told once a subject that its series are capped. Nil is no logger.
	Logger log.Logger
}

// Collector is a prometheus.Collector of the latest set. It is safe for concurrent use.
type Collector struct {
	latest   LatestSet
	metering func() *metering.Metering
	accrued  func() *metering.Accrued
	spending func() *metering.Spending
	subjects []subject
	set      []setFamily // about the set as a whole
	dropped  *prometheus.Desc
	bounds   func(d, resolution, scrape time.Duration) (lower, upper float64)
	logger   log.Logger

	rendering sync.Mutex // held while a set is rendered, so that it is rendered once
	current   atomic.Pointer[snapshot]
	warned    map[string]bool
	total     map[string]int // series dropped by collector, since the start
	counted   map[string]int // those of the current set by subject, which are in total
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
		latest: latest, metering: cfg.Metering, accrued: cfg.Accrued, spending: cfg.Spending, bounds: cfg.Bounds, logger: cfg.Logger,
		dropped: prometheus.NewDesc("promcost_series_dropped_total",
			"Series that were not exported of the sets served since the start, because the collector has more than --collector.max-series of them (their sums are in __other__) or because they are not finite.",
			[]string{"collector"}, nil),
		warned: map[string]bool{}, total: map[string]int{}, counted: map[string]int{},
	}
	if c.accrued == nil {
		c.accrued = func() *metering.Accrued { return nil }
		c.metering = uncounted(cfg.Metering)
	}
	if c.spending == nil {
		c.spending = func() *metering.Spending { return nil }
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

// uncounted gives what metering gives without counters, one for each.
func uncounted(meter func() *metering.Metering) func() *metering.Metering {
	var was, is *metering.Metering
	return func() *metering.Metering {
		if m := meter(); m != was {
			was, is = m, m.Uncounted()
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

// Own is what the Collector says of itself and not of costs, promcost_series_dropped_total, as of what was rendered last: it renders
// nothing. It is for a registry of its own, as the Collector has that too.
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

// Collect sends the metrics of the latest set, none of them before there is one. It waits for nobody who renders another:
// then those of before are sent once more.
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

// Update renders the latest set, if it is a new one: whoever calls it when there is takes that off the next scrape.
func (c *Collector) Update() {
	c.rendering.Lock()
	defer c.rendering.Unlock()
	c.update()
}

// update renders the latest set, if it is a new one. The last set stays where there is none.
func (c *Collector) update() {
	set, _, _ := c.latest.Latest() // an error is told by the computation's own metrics; the set stays what it is
	is := snapshot{set: set, accrued: c.accrued(), spending: c.spending(), metering: c.metering()}
	if was := c.current.Load(); set != nil && (set != was.set || is.accrued != was.accrued || is.spending != was.spending || is.accrued == nil && is.metering != was.metering) {
		c.render(&is)
		c.current.Store(&is)
	}
}

// metric is a prometheus.Metric that was made once and is only read: nothing in it is built while scraping.
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
