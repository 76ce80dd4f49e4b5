package metering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
)

// Limits of the series of a subject.
const (
	// DefaultMaxSeries is how many series a subject may have unless Options say otherwise.
	DefaultMaxSeries = 50_000
	// MinMaxSeries is the smallest limit. It leaves room for __other__ beside other series.
	MinMaxSeries = 100
)

// Metering says which subjects have series, and how many at most. /metrics, its counters and PromQL share it. It is immutable.
type Metering struct {
	subjects []Subject
	max      int
	names    []labelName // of the subject label
	budgets  []Budget
	clusters ClusterLabel // of metrics under OpenCost's names
}

// Options are for New. The zero value is the defaults.
type Options struct {
	// Enabled are the names of the collectors to serve, besides those that always are. Nil stands for those on by default.
	Enabled []string
	// MaxSeries is how many series a subject may have, at least 100; 0 is DefaultMaxSeries.
	MaxSeries int
	// LabelNames are the labels of the subject label: names of Kubernetes labels, raw or as Prometheus can hold them, aliases and
	// derived properties, as in aggregations.
	LabelNames []string
	// Known are further names of labels in the configuration.
	Known labelnames.Names
	// Mapping says what aliases stand for; nil is the default mapping.
	Mapping allocation.LabelMapping
	// Derived are properties that are computed from others.
	Derived []*allocation.Derived
	// Budgets are the budgets of the subject budget.
	Budgets []Budget
	// OpenCostCluster says when metrics under OpenCost's names have the label cluster. The default is ClusterAuto.
	OpenCostCluster ClusterLabel
}

// New makes a Metering. An unknown name in Enabled, an invalid name in LabelNames and a MaxSeries below 100 are errors.
func New(o Options) (*Metering, error) {
	if o.MaxSeries == 0 {
		o.MaxSeries = DefaultMaxSeries
	}
	if o.MaxSeries < MinMaxSeries {
		return nil, fmt.Errorf("read collector.max-series %d: at least %d are needed", o.MaxSeries, MinMaxSeries)
	}
	var known []string
	for i := range subjects {
		if name := subjects[i].Collector(); !subjects[i].Always && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	for _, name := range o.Enabled {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("enable collector %q: there is none of that name, there are %s", name, strings.Join(known, ", "))
		}
	}
	names, err := parseLabelNames(&o)
	if err != nil {
		return nil, fmt.Errorf("read collector.label.names: %w", err)
	}
	m := &Metering{max: o.MaxSeries, names: names, clusters: cmp.Or(o.OpenCostCluster, ClusterAuto)}
	if o.Enabled == nil || slices.Contains(o.Enabled, "budget") {
		m.budgets = o.Budgets
	}
	for _, s := range m.Table() {
		if s.Always || !s.Billed && slices.Contains(o.Enabled, s.Collector()) || o.Enabled == nil && s.Default {
			m.subjects = append(m.subjects, s)
		}
	}
	return m, nil
}

// Default returns the Metering of the zero Options.
func Default() *Metering {
	m := &Metering{max: DefaultMaxSeries}
	for _, s := range subjects {
		if s.Always || s.Default {
			m.subjects = append(m.subjects, s)
		}
	}
	return m
}

// WithoutCounters returns m without counters, for a server without the history that counters need.
func (m *Metering) WithoutCounters() *Metering {
	u := &Metering{subjects: slices.Clone(m.subjects), max: m.max, names: m.names, budgets: m.budgets, clusters: m.clusters}
	for i := range u.subjects {
		s := &u.subjects[i]
		s.families = slices.DeleteFunc(slices.Clone(s.families), func(f familyTraits) bool { return f.kind == Counter })
	}
	return u
}

// Subjects returns the subjects with series, in the order of the reference documentation.
func (m *Metering) Subjects() []Subject { return slices.Clone(m.subjects) }

// Table returns all subjects, including those that are switched off or billed, under the options of m.
func (m *Metering) Table() []Subject {
	all := Subjects()
	for i := range all {
		switch {
		case all[i].prefix == "label":
			all[i].names = m.names
		case strings.HasPrefix(all[i].collector, "opencost"):
			all[i].clusterLabel = m.clusters
		}
	}
	return all
}

// Budgets returns the budgets of the subject budget, none if that is switched off. The slice must not be changed.
func (m *Metering) Budgets() []Budget { return m.budgets }

// BudgetProjection returns what Budget.Costs needs of sets for all budgets; nil stands for everything.
func (m *Metering) BudgetProjection() *allocation.Projection {
	p := &allocation.Projection{WithoutAssets: true}
	for i := range m.budgets {
		p = p.Union(m.budgets[i].Projection())
	}
	return p
}

// MaxSeries is the most series that a subject may have.
func (m *Metering) MaxSeries() int { return m.max }

// index is the index of the subject with a name, -1 if there is none.
func (m *Metering) index(name string) int {
	return slices.IndexFunc(m.subjects, func(s Subject) bool { return s.Name == name })
}

// Projection returns what Accrued.Add needs of an hour: only what the costs of its subjects are made of.
func (m *Metering) Projection() *allocation.Projection {
	p := &allocation.Projection{}
	for i := range m.subjects {
		s := &m.subjects[i]
		p = p.Union(s.Projection(slices.DeleteFunc(s.Families(), func(f Family) bool { return s.counts() && f.traits.needs != nil })...))
	}
	return p
}
