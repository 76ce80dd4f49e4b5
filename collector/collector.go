// Package collector exports costs and promcost's own health as Prometheus metrics.
//
// A Collector serves the families of allocation's table for the latest closed hour. It renders a set once, when it first
// sees it: a scrape neither computes nor asks the source for anything. Subjects are switched like the collectors of
// node_exporter, and each is capped in its series. Health holds the metrics of promcost itself, which are there before
// anything is computed.
package collector

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/promcost/promcost/allocation"
)

// DefaultMaxSeries is how many series a subject may have unless Config says otherwise.
const DefaultMaxSeries = 50_000

// minMaxSeries leaves room for every subject's __other__ next to what it keeps.
const minMaxSeries = 100

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
	for _, s := range allocation.Subjects() {
		if !s.Always {
			switches = append(switches, Switch{Name: s.Name, Help: "Export " + s.Help + ".", Default: s.Default})
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
	// Enabled are the names of the subjects to serve. Nil stands for those on by default; empty for none of those that can
	// be switched.
	Enabled []string
	// MaxSeries is how many series a subject may have, at least 100; 0 is DefaultMaxSeries.
	MaxSeries int
	// Bounds are the error bounds of a running time d sampled at resolution r. Nil leaves them out.
	Bounds func(d, r time.Duration) (lower, upper float64)
	// Accrued are the costs of the month, which counters show; nil as long as they are not known. Nil leaves counters out.
	Accrued func() *allocation.Accrued
	// Logger is told once a subject that its series are capped. Nil is no logger.
	Logger log.Logger
}

// Collector is a prometheus.Collector of the latest set. It is safe for concurrent use.
type Collector struct {
	latest   LatestSet
	accrued  func() *allocation.Accrued
	subjects []subject
	set      []*prometheus.Desc // of the set itself, in the order of setFamilies
	dropped  *prometheus.Desc
	bounds   func(d, r time.Duration) (lower, upper float64)
	max      int
	logger   log.Logger

	mu      sync.Mutex // held while a set is rendered, so that it is rendered once
	current snapshot
	warned  map[string]bool
	total   map[string]int // series dropped by subject, since the start
	members map[string]*membership
}

// subject is an enabled subject of the families table.
type subject struct {
	allocation.Subject
	families []family // gauges, of the latest set
	counters []family // of the month
}

// family is a family of the table and its descriptor.
type family struct {
	allocation.Family
	desc *prometheus.Desc
}

// New returns a Collector of latest. An unknown name in Enabled and a MaxSeries below 100 are errors.
func New(latest LatestSet, cfg Config) (*Collector, error) {
	if cfg.MaxSeries == 0 {
		cfg.MaxSeries = DefaultMaxSeries
	}
	if cfg.MaxSeries < minMaxSeries {
		return nil, fmt.Errorf("read collector.max-series %d: at least %d are needed", cfg.MaxSeries, minMaxSeries)
	}
	if cfg.Logger == nil {
		cfg.Logger = log.NewNopLogger()
	}
	if cfg.Accrued == nil {
		cfg.Accrued = func() *allocation.Accrued { return nil }
	}
	subjects, err := enabledSubjects(cfg.Enabled)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		latest: latest, accrued: cfg.Accrued, subjects: subjects, bounds: cfg.Bounds, max: cfg.MaxSeries, logger: cfg.Logger,
		dropped: prometheus.NewDesc("promcost_series_dropped_total",
			"Series that were not exported of the sets served since the start, because the collector has more than --collector.max-series of them (their sums are in __other__) or because they are not finite.",
			[]string{"collector"}, nil),
		warned: map[string]bool{}, total: map[string]int{}, members: map[string]*membership{},
	}
	for _, f := range setFamilies {
		c.set = append(c.set, prometheus.NewDesc(f.name, f.help, f.labels, nil))
	}
	c.current = snapshot{metrics: c.droppedMetrics()}
	return c, nil
}

// enabledSubjects are the subjects always served and those named; nil names the defaults.
func enabledSubjects(names []string) ([]subject, error) {
	known := Names()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("enable collector %q: there is none of that name, there are %s", name, strings.Join(known, ", "))
		}
	}
	var enabled []subject
	for _, s := range allocation.Subjects() {
		if on := s.Always || slices.Contains(names, s.Name) || names == nil && s.Default; !on {
			continue
		}
		e := subject{Subject: s}
		for _, f := range s.Families() {
			list := &e.families
			if f.Type == allocation.CounterFamily {
				list = &e.counters
			}
			*list = append(*list, family{f, prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)})
		}
		enabled = append(enabled, e)
	}
	return enabled, nil
}

// Describe sends the descriptors of everything that the Collector may ever serve.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.subjects {
		for _, f := range s.families {
			ch <- f.desc
		}
		for _, f := range s.counters {
			ch <- f.desc
		}
	}
	for _, desc := range c.set {
		ch <- desc
	}
	ch <- c.dropped
}

// Collect sends the metrics of the latest set, none of them before there is one.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	metrics := c.metrics()
	for i := range metrics {
		ch <- &metrics[i]
	}
}

// metrics are those of the latest set, rendered if it is a new one. The last set stays where there is none.
func (c *Collector) metrics() []metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	set, _, _ := c.latest.Latest() // an error is told by the computation's own metrics; the set stays what it is
	if accrued := c.accrued(); set != nil && (set != c.current.set || accrued != c.current.accrued) {
		c.current = c.render(set, accrued)
	}
	return c.current.metrics
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
