package collector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/allocation"
)

// BillState is what bills say, as far as it is known.
type BillState struct {
	Reach   []BillReach
	Matched []BillRatio // of the newest day that each bill reaches
	Cloud   []CloudCost // of yesterday
	Nodes   []NodeRatio // of the newest day on which bills charge nodes
}

// BillReach is until when a bill has charged a sub-account.
type BillReach struct {
	Bill, Account, SubAccount string
	Until                     time.Time
}

// BillRatio is which part of a bill's cost clusters explain.
type BillRatio struct {
	Bill  string
	Ratio float64
}

// CloudCost is what bills charge for a service.
type CloudCost struct {
	Provider, Account, Service, Category string
	Cost                                 float64
}

// NodeRatio is what nodes of an instance type cost at list price, by what they cost by bill.
type NodeRatio struct {
	Cluster, InstanceType string
	Ratio                 float64
}

// BillFamily is a gauge about bills.
type BillFamily struct {
	Name, Help string
	Labels     []string

	emit func(s *BillState, gauge func(v float64, labels ...string))
}

// BillFamilies returns the gauges about bills, in the order of the reference documentation.
func BillFamilies() []BillFamily {
	type gauge = func(v float64, labels ...string)
	return []BillFamily{
		{
			Name: "promcost_bill_charged_until_timestamp_seconds", Labels: []string{"bill", "account", "sub_account"},
			Help: "Until when a bill has charged an account, in Unix seconds: the beginning of the first day whose charges are not final.",
			emit: func(s *BillState, gauge gauge) {
				for _, r := range s.Reach {
					gauge(float64(r.Until.Unix()), r.Bill, r.Account, r.SubAccount)
				}
			},
		},
		{
			Name: "promcost_bill_matched_ratio", Labels: []string{"bill"},
			Help: "Which part of the cost of a bill assets of clusters explain, on the newest day that it reaches.",
			emit: func(s *BillState, gauge gauge) {
				for _, m := range s.Matched {
					gauge(m.Ratio, m.Bill)
				}
			},
		},
		{
			Name: "promcost_cloud_cost", Labels: []string{"provider", "account", "service", "category"},
			Help: "What bills charge by service for yesterday, in the currency of promcost_currency_info; clusters are among it. A bill that has not charged all of yesterday yet has none.",
			emit: func(s *BillState, gauge gauge) {
				for _, c := range s.Cloud {
					gauge(c.Cost, c.Provider, c.Account, c.Service, c.Category)
				}
			},
		},
		{
			Name: "promcost_list_to_bill_ratio", Labels: []string{"cluster", "instance_type"},
			Help: "Cost of nodes at list price by their cost by bill, on the newest day on which bills charge nodes: above 1 where there is a discount.",
			emit: func(s *BillState, gauge gauge) {
				for _, n := range s.Nodes {
					gauge(n.Ratio, n.Cluster, n.InstanceType)
				}
			},
		},
	}
}

// bills exports what bills say.
type bills struct {
	state    func() BillState
	most     func() int
	logger   log.Logger
	warned   sync.Once
	families []BillFamily
	descs    []*prometheus.Desc
}

// NewBills registers metrics about bills with reg. State is asked at each scrape. Of cloud costs at most most series are exported: the
// cheapest others are summed, by provider, which logger is told once. What is registered already is an error.
func NewBills(reg prometheus.Registerer, most func() int, state func() BillState, logger log.Logger) error {
	b := &bills{state: state, most: most, logger: logger, families: BillFamilies()}
	for _, f := range b.families {
		b.descs = append(b.descs, prometheus.NewDesc(f.Name, f.Help, f.Labels, nil))
	}
	if err := reg.Register(b); err != nil {
		return fmt.Errorf("register bill metrics: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (b *bills) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range b.descs {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (b *bills) Collect(metrics chan<- prometheus.Metric) {
	state := b.state()
	all := len(state.Cloud)
	if state.Cloud = capCloudCosts(state.Cloud, b.most()); len(state.Cloud) < all {
		b.warned.Do(func() {
			level.Warn(b.logger).Log("msg", "promcost_cloud_cost has more series than --collector.max-series, the smallest are summed into "+allocation.OtherName,
				"max_series", b.most(), "series", all)
		})
	}
	for i := range b.families {
		b.families[i].emit(&state, func(v float64, labels ...string) {
			for i := range labels {
				labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
			}
			metrics <- prometheus.MustNewConstMetric(b.descs[i], prometheus.GaugeValue, v, labels...)
		})
	}
}

// capCloudCosts keeps the dearest costs, and sums others by provider if there are more than most.
func capCloudCosts(list []CloudCost, most int) []CloudCost {
	if len(list) <= most {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b CloudCost) int { return cmp.Compare(b.Cost, a.Cost) })
	providers := map[string]bool{}
	for i := range list {
		providers[list[i].Provider] = true
	}
	kept := max(0, most-len(providers))
	out := slices.Clone(list[:kept])
	for _, c := range list[kept:] {
		i := slices.IndexFunc(out[kept:], func(sum CloudCost) bool { return sum.Provider == c.Provider })
		if i < 0 {
			out = append(out, CloudCost{Provider: c.Provider, Account: allocation.OtherName, Service: allocation.OtherName, Category: allocation.OtherName})
			i = len(out) - 1 - kept
		}
		out[kept+i].Cost += c.Cost
	}
	return out
}
