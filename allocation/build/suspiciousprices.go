package build

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// suspicion says what is wrong with the prices of which things.
type suspicion struct {
	suspicion notices.Suspicion
	of        string // the part of things with the price, such as CPU and RAM; "" is the things themselves
	things    string // such as notices.NodesPriced
	unit      string // the unit that the price should be for, such as hour
}

// suspiciousPrices has the names of things with suspicious prices, and how many times the reference price the worst is.
type suspiciousPrices struct {
	names []string
	times float64
}

// badPrice is a thing with prices that are negative or not finite, or with series that differ.
type badPrice struct {
	suspicion notices.Suspicion
	thing     pricedThing
}

// pricedThing is a thing with a price by a metric.
type pricedThing struct {
	cluster signals.Symbol
	of      string
	things  string
	name    string
}

// pricesOf returns the usable prices in s. It notes those that it leaves out, for a warning.
func (b *Builder) pricesOf(s *seen, t pricedThing) timeline.Steps {
	steps := b.pricesSampling().Steps(s.p)
	kept := steps.NotNegative()
	if len(kept) < len(steps) {
		b.prices.bad[badPrice{notices.Negative, t}] = true
	}
	if s.p.AnyNotFinite() {
		b.prices.bad[badPrice{notices.NotFinite, t}] = true
	}
	return kept
}

// isBad reports whether prices of a thing were left out.
func (b *Builder) isBad(t pricedThing) bool {
	return b.prices.bad[badPrice{notices.Negative, t}] || b.prices.bad[badPrice{notices.NotFinite, t}]
}

// placed is the name of something in a cluster, with the cluster's name if there are several clusters.
func (b *Builder) placed(cluster signals.Symbol, name string) string {
	if b.report.severalClusters {
		return cluster.Value() + "/" + name
	}
	return name
}

// suspiciousSteps says what is suspicious about prices by a metric. times is how many times the reference price the worst one is.
func (b *Builder) suspiciousSteps(steps timeline.Steps, reference float64) (suspicious [notices.NumSuspicions]bool, times [notices.NumSuspicions]float64) {
	for _, x := range steps {
		if x.To <= b.start() || x.From >= b.end() {
			continue
		}
		part := x.V / reference
		switch {
		case x.V == 0:
			suspicious[notices.Free] = true
		case part > rates.UnusuallyDear:
			suspicious[notices.Dear], times[notices.Dear] = true, max(times[notices.Dear], part)
		case part < rates.UnusuallyCheap && (!suspicious[notices.Cheap] || part < times[notices.Cheap]):
			suspicious[notices.Cheap], times[notices.Cheap] = true, part
		}
	}
	return suspicious, times
}

// warnSuspiciousPrices warns about prices by metrics that are not usable, or probably in another unit.
func (b *Builder) warnSuspiciousPrices() {
	found := map[suspicion]*suspiciousPrices{}
	note := func(key suspicion, name string, times float64) {
		at := found[key]
		if at == nil {
			at = &suspiciousPrices{times: times}
			found[key] = at
		}
		at.names = append(at.names, name)
		if key.suspicion == notices.Dear && times > at.times || key.suspicion == notices.Cheap && times < at.times {
			at.times = times
		}
	}
	for bad := range b.prices.bad {
		t := bad.thing
		note(suspicion{bad.suspicion, t.of, t.things, ""}, b.placed(t.cluster, t.name), 0)
	}
	b.noteSuspiciousNodes(note)
	b.noteSuspiciousItems(note)
	for key, at := range found {
		slices.Sort(at.names)
		at.names = slices.Compact(at.names)
		b.report.warnings = append(b.report.warnings, key.text(at, b.inDollars()))
	}
}

// noteSuspiciousNodes records nodes with suspicious prices of their resources.
func (b *Builder) noteSuspiciousNodes(note func(suspicion, string, float64)) {
	currency := b.currency()
	for _, n := range each(b, slices.All(b.sortedNodes())) {
		if len(n.life) == 0 {
			continue
		}
		var of [notices.NumSuspicions][]string
		var most [notices.NumSuspicions]float64
		for r := range allocation.NumResources {
			if len(n.amount[r]) == 0 {
				continue // what a node does not have needs no price
			}
			suspicious, times := b.suspiciousSteps(n.price[r], rates.ReferenceNode(r, currency))
			for k := range notices.NumSuspicions {
				if suspicious[k] {
					of[k], most[k] = append(of[k], strings.ToUpper(r.String())), max(most[k], times[k])
				}
			}
		}
		for k := range notices.NumSuspicions {
			if len(of[k]) > 0 {
				note(suspicion{k, strings.Join(of[k], " and "), notices.NodesPriced, "hour"}, b.placed(n.cluster, n.name.Value()), most[k])
			}
		}
	}
}

// noteSuspiciousItems records everything else with suspicious prices. Free management and traffic are not suspicious: providers give them away.
func (b *Builder) noteSuspiciousItems(note func(suspicion, string, float64)) {
	item := func(kind rates.ItemKind, steps timeline.Steps, things, unit, name string, mayBeFree bool) {
		suspicious, times := b.suspiciousSteps(steps, rates.ReferenceItem(kind, b.currency()))
		for k := range notices.NumSuspicions {
			if suspicious[k] && (k != notices.Free || !mayBeFree) {
				note(suspicion{k, "", things, unit}, name, times[k])
			}
		}
	}
	for _, v := range b.storage.volumes {
		item(rates.ItemStorage, v.price.best(), notices.VolumesPriced, "hour", b.placed(v.cluster, v.name.Value()), false)
	}
	for key, x := range b.services.balancers {
		item(rates.ItemLoadBalancer, x.price.best(), notices.BalancersPriced, "hour", b.placed(key.cluster, key.namespace.Value()+"/"+key.name.Value()), false)
	}
	for cluster, m := range b.prices.management {
		item(rates.ItemManagement, m.price.best(), notices.ManagementPriced, "hour", cluster.Value(), true)
	}
	for cluster, e := range b.prices.egress {
		for kind := egressZone; kind < numTraffic; kind++ {
			item(egressPrices[kind].kind, e[kind].best(), notices.TrafficPriced, "GiB", cluster.Value(), true)
		}
	}
}

// noteSeveralClusters records whether there are several clusters.
func (b *Builder) noteSeveralClusters() {
	seen := map[signals.Symbol]bool{}
	for key := range b.nodes.byName {
		seen[key.cluster] = true
	}
	for key := range b.pods.byKey {
		seen[key.cluster] = true
	}
	b.report.severalClusters = len(seen) > 1
}

// text is the warning; inDollars is what to say of built-in prices.
func (k *suspicion) text(at *suspiciousPrices, inDollars string) string {
	of := ""
	if k.of != "" {
		of = k.of + " of "
	}
	more := []string{of}
	switch k.suspicion {
	case notices.Negative, notices.NotFinite:
		more = append(more, inDollars)
	case notices.Disputed:
		more = append(more, k.metric())
	case notices.Dear:
		unit := k.unit
		if unit == "hour" {
			unit = "hour, not by the month"
		}
		more = append(more, timesText(at.times), unit)
	case notices.Cheap:
		more = append(more, timesText(at.times), cmp.Or(k.unit, "hour"))
	case notices.Free, notices.NumSuspicions:
	}
	return k.suspicion.Notice(k.things).Text(len(at.names), at.names, more...)
}

// metric is the name of the metric with the prices.
func (k *suspicion) metric() string {
	switch k.things {
	case notices.NodesPriced:
		return "node_" + strings.ToLower(k.of) + "_hourly_cost"
	case notices.VolumesPriced:
		return "pv_hourly_cost"
	case notices.BalancersPriced:
		return "kubecost_load_balancer_cost"
	case notices.ManagementPriced:
		return "kubecost_cluster_management_cost"
	}
	return "kubecost_network_*_egress_cost"
}

// timesText is a number for people, with three digits.
func timesText(v float64) string {
	if v >= 100 && v < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
