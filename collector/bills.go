package collector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/allocation/metering"
)

// BillState is what bills say, as far as it is known. Costs and ratios are of the newest day that the bills reach.
type BillState struct {
	Reach   []BillReach
	Matched []BillRatio
	Cloud   []CloudCost
	Nodes   []NodeRatio
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

// bills exports what bills say.
type bills struct {
	state func() BillState
	most  func() int

	until, matched, cloud, nodes *prometheus.Desc
}

// NewBills registers metrics about bills with reg. State is asked at each scrape. Of cloud costs at most most series are exported: the
// cheapest others are summed, by provider. What is registered already is an error.
func NewBills(reg prometheus.Registerer, most func() int, state func() BillState) error {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	b := &bills{
		state: state, most: most,
		until:   desc("promcost_bill_charged_until_timestamp_seconds", "Until when a bill has charged an account, in Unix seconds: the beginning of the first day whose charges are not final.", "bill", "account", "sub_account"),
		matched: desc("promcost_bill_matched_ratio", "Which part of the cost of a bill assets of clusters explain, on the newest day that the bills reach.", "bill"),
		cloud:   desc("promcost_cloud_cost", "What bills charge by service, on the newest day that they reach, in the currency of promcost_currency_info; clusters are among it.", "provider", "account", "service", "category"),
		nodes:   desc("promcost_list_to_bill_ratio", "Cost of nodes at list price by their cost by bill, on the newest day that the bills reach: above 1 where there is a discount.", "cluster", "instance_type"),
	}
	if err := reg.Register(b); err != nil {
		return fmt.Errorf("register bill metrics: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (b *bills) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{b.until, b.matched, b.cloud, b.nodes} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (b *bills) Collect(metrics chan<- prometheus.Metric) {
	state := b.state()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, r := range state.Reach {
		gauge(b.until, float64(r.Until.Unix()), r.Bill, r.Account, r.SubAccount)
	}
	for _, m := range state.Matched {
		gauge(b.matched, m.Ratio, m.Bill)
	}
	for _, c := range capCloudCosts(state.Cloud, b.most()) {
		gauge(b.cloud, c.Cost, c.Provider, c.Account, c.Service, c.Category)
	}
	for _, n := range state.Nodes {
		gauge(b.nodes, n.Ratio, n.Cluster, n.InstanceType)
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
			out = append(out, CloudCost{Provider: c.Provider, Account: metering.OtherName, Service: metering.OtherName, Category: metering.OtherName})
			i = len(out) - 1 - kept
		}
		out[kept+i].Cost += c.Cost
	}
	return out
}
