package prices

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Thing is a thing with a price by a metric.
type Thing struct {
	Cluster signals.Symbol
	Of      string // the part of it with the price, such as CPU; "" is the thing itself
	Things  string // such as notices.NodesPriced
	Name    string
}

// kind says what is wrong with the prices of which things.
type kind struct {
	Suspicion notices.Suspicion
	Of        string // the part of things with the price, such as CPU and RAM; "" is the things themselves
	Things    string // such as notices.NodesPriced
	Unit      string // the unit that the price should be for, such as hour
}

// priced has the names of things with suspicious prices, and how many times the reference price the worst is.
type priced struct {
	names []string
	times float64
}

// badPrice is a thing with prices that are negative or not finite, or with series that differ.
type badPrice struct {
	suspicion notices.Suspicion
	thing     Thing
}

// Suspicious collects prices by metrics that are not usable, or probably in another unit. The zero value has none.
type Suspicious struct {
	bad   map[badPrice]bool
	found map[kind]*priced
}

// NoteBad notes that some prices of a thing are negative, not finite or disputed.
func (s *Suspicious) NoteBad(how notices.Suspicion, t Thing) {
	if s.bad == nil {
		s.bad = map[badPrice]bool{}
	}
	s.bad[badPrice{how, t}] = true
}

// IsBad reports whether prices of a thing were left out.
func (s *Suspicious) IsBad(t Thing) bool {
	return s.bad[badPrice{notices.Negative, t}] || s.bad[badPrice{notices.NotFinite, t}]
}

// Judge says what is suspicious about prices within an interval. times is how many times the reference price the worst one is.
func Judge(steps timeline.Steps, within timeline.Interval, reference float64) (suspicious [notices.NumSuspicions]bool, times [notices.NumSuspicions]float64) {
	for _, x := range steps {
		if x.To <= within.From || x.From >= within.To {
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

// Note records a suspicious price, by unit, of what t names. times is how many times the reference price it is.
func (s *Suspicious) Note(how notices.Suspicion, t Thing, unit string, times float64) {
	key := kind{how, t.Of, t.Things, unit}
	at := s.found[key]
	if at == nil {
		if s.found == nil {
			s.found = map[kind]*priced{}
		}
		at = &priced{times: times}
		s.found[key] = at
	}
	at.names = append(at.names, t.Name)
	if how == notices.Dear && times > at.times || how == notices.Cheap && times < at.times {
		at.times = times
	}
}

// Warnings returns a warning for each kind of suspicion, in no order. placed names a thing in a cluster for those of NoteBad. inDollars is
// what to say of built-in prices.
func (s *Suspicious) Warnings(placed func(cluster signals.Symbol, name string) string, inDollars string) (warnings []string) {
	for bad := range s.bad {
		t := bad.thing
		t.Name = placed(t.Cluster, t.Name)
		s.Note(bad.suspicion, t, "", 0)
	}
	for key, at := range s.found {
		slices.Sort(at.names)
		at.names = slices.Compact(at.names)
		warnings = append(warnings, key.text(at, inDollars))
	}
	return warnings
}

// text is the warning; inDollars is what to say of built-in prices.
func (k *kind) text(at *priced, inDollars string) string {
	of := ""
	if k.Of != "" {
		of = k.Of + " of "
	}
	more := []string{of}
	switch k.Suspicion {
	case notices.Negative, notices.NotFinite:
		more = append(more, inDollars)
	case notices.Disputed:
		more = append(more, k.metric())
	case notices.Dear:
		unit := k.Unit
		if unit == "hour" {
			unit = "hour, not by the month"
		}
		more = append(more, timesText(at.times), unit)
	case notices.Cheap:
		more = append(more, timesText(at.times), cmp.Or(k.Unit, "hour"))
	case notices.Free, notices.NumSuspicions:
	}
	return k.Suspicion.Notice(k.Things).Text(len(at.names), at.names, more...)
}

// metric is the name of the metric with the prices.
func (k *kind) metric() string {
	switch k.Things {
	case notices.NodesPriced:
		return "node_" + strings.ToLower(k.Of) + "_hourly_cost"
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
