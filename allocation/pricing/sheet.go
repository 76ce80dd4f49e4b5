package pricing

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/rates"
)

// Sheet prices nodes, volumes, load balancers, control planes and traffic. It is not changed once made and safe for
// concurrent use.
type Sheet struct {
	name       string
	currency   string
	asOf       time.Time
	discount   float64
	multiplier float64
	defaults   [numPrices]float64
	named      priceSet // the defaults that the sheet sets itself
	sections   [numSections]section
	changes    []int64 // when rules begin or end, ascending, Unix milliseconds
	custom     *allocation.CustomPrices
	spot       []label // that mark spot nodes, besides those of providers
	warnings   []string
}

var (
	_ rates.Rates = (*Sheet)(nil)
	_ rates.Ruled = (*Sheet)(nil)
)

// Default is the sheet without rules and with the built-in defaults.
func Default() *Sheet {
	s := &Sheet{name: rates.BuiltInPrices, multiplier: 1}
	for p := range prices {
		s.defaults[p] = prices[p].builtIn
	}
	return s
}

// Name is the sheet's name, for people: its file, or "built-in defaults".
func (s *Sheet) Name() string { return s.name }

// Currency is the ISO code of the prices, "" where the sheet does not name it.
func (s *Sheet) Currency() string { return s.currency }

// AsOf is when the prices were looked up, zero where the sheet does not say.
func (s *Sheet) AsOf() time.Time { return s.asOf }

// Rules is how many rules the sheet has.
func (s *Sheet) Rules() int {
	n := 0
	for i := range s.sections {
		n += len(s.sections[i].rules)
	}
	return n
}

// BuiltIn are the keys of the default prices above 0 that the sheet does not give, which are in US dollars.
func (s *Sheet) BuiltIn() []string {
	var out []string
	for p := range prices {
		if !s.named.has(price(p)) && prices[p].builtIn != 0 {
			out = append(out, prices[p].key)
		}
	}
	return out
}

// Warnings are what is suspicious about the sheet, by line: prices that look as if they were for another unit, prices of 0 for CPU,
// a discount of all there is and multipliers far from 1.
func (s *Sheet) Warnings() []string { return slices.Clone(s.warnings) }

// Custom returns the custom prices, and whether the sheet has any. Missing prices are 0.
func (s *Sheet) Custom() (allocation.CustomPrices, bool) {
	if s.custom == nil {
		return allocation.CustomPrices{}, false
	}
	return *s.custom, true
}

// Changes implements rates.Rates: the instants within (from, to) at which a rule begins or ends.
func (s *Sheet) Changes(from, to time.Time) []time.Time {
	i, _ := slices.BinarySearch(s.changes, from.UnixMilli()+1)
	j, _ := slices.BinarySearch(s.changes, to.UnixMilli())
	var out []time.Time
	for _, t := range s.changes[i:max(i, j)] {
		out = append(out, time.UnixMilli(t).UTC())
	}
	return out
}

// Node prices a node. Each price comes from the first matching rule of nodes that has it or the price of the whole machine, of which the
// resources without prices of their own have parts; otherwise from the default, which is different for spot nodes.
func (s *Sheet) Node(n rates.NodeAttributes, at time.Time) rates.NodeRates {
	subject := nodeSubject(&n)
	var found [allocation.NumResources]*rule
	var whole *rule
	byPods := false
	for r := range s.sections[nodeSection].matching(&subject, at.UnixMilli()) {
		byPods = byPods || r.byPods
		if whole != nil {
			continue // it has all that is not found yet
		}
		for i := range found {
			if found[i] == nil && r.named.has(nodePrices[i][0]) {
				found[i] = r
			}
		}
		if r.named.has(machinePrice) && sized(n.Size) {
			whole = r
		}
	}
	out := rates.NodeRates{ByPods: byPods, Ruled: whole != nil || found[allocation.CPU] != nil || found[allocation.RAM] != nil}
	unit, own := byResource{}, [allocation.NumResources]bool{}
	for i, r := range found {
		if own[i] = r != nil; own[i] {
			unit[i], _, _, _ = s.price(r, nodePrices[i][0])
		}
	}
	if whole != nil {
		m := machine{size: n.Size}
		m.price, _, _, _ = s.price(whole, machinePrice)
		for i := range m.defaults {
			m.defaults[i], _, _, _ = s.price(nil, nodePrices[i][0])
		}
		unit = m.divided(unit, own)
	}
	var sources []string
	kind := 0
	if n.Spot {
		kind = 1
	}
	for i, r := range found {
		p := nodePrices[i][0]
		switch {
		case r == nil && whole != nil:
			r = whole
		case r == nil:
			p = nodePrices[i][kind]
		}
		price, discount, source, builtIn := s.price(r, p)
		if r == nil {
			unit[i] = price
		}
		out.Price[i], out.Sources[i] = unit[i], source
		if i != int(allocation.GPU) {
			out.Price[i] *= 1 - discount
			out.Default = out.Default || builtIn
		}
		if i == int(allocation.CPU) {
			out.Discount = discount
		}
		if !slices.Contains(sources, source) && (i != int(allocation.GPU) || r != nil) {
			sources = append(sources, source)
		}
	}
	out.Source = strings.Join(sources, ", ")
	return out
}

// IsSpot implements rates.Ruled.
func (s *Sheet) IsSpot(labels map[string]string) bool {
	return slices.ContainsFunc(s.spot, func(l label) bool {
		value, ok := labelnames.Find(&l.name, labels)
		return ok && strings.EqualFold(value, l.value)
	})
}

// NodeNeeds implements rates.Ruled.
func (s *Sheet) NodeNeeds(known rates.NodeAttributes, at time.Time) (needs rates.NodeNeeds) {
	x := nodeSubject(&known)
	for i := range s.sections[nodeSection].rules {
		r := &s.sections[nodeSection].rules[i]
		if t := at.UnixMilli(); r.from > t || t >= r.to || !r.mayMatch(provider, &x) || !r.mayMatch(cluster, &x) {
			continue
		}
		lacks := func(a attribute) bool { return r.texts[a] != "" && x.texts[a] == "" }
		needs.InstanceType = needs.InstanceType || lacks(instanceType)
		needs.Region = needs.Region || lacks(region)
		needs.Zone = needs.Zone || lacks(zone)
		needs.GPUModel = needs.GPUModel || lacks(gpuModel)
		needs.Spot = needs.Spot || r.spot != nil && *r.spot && !known.Spot
		for _, l := range r.labels {
			if _, ok := labelnames.Find(&l.name, x.labels); !ok {
				needs.Labels = append(needs.Labels, l.name.String())
			}
		}
	}
	slices.Sort(needs.Labels)
	needs.Labels = slices.Compact(needs.Labels)
	return needs
}

// Item prices an item by the first rule of its list that matches and has the price, else by the default.
func (s *Sheet) Item(i rates.Item, at time.Time) rates.Rate {
	p := itemPrices[i.Kind]
	subject := itemSubject(&i)
	var found *rule
	for r := range s.sections[prices[p].section].matching(&subject, at.UnixMilli()) {
		if r.named.has(p) {
			found = r
			break
		}
	}
	price, _, source, builtIn := s.price(found, p)
	return rates.Rate{Price: price, Source: source, Default: builtIn}
}

// price is a price of a rule, else the default, with the multiplier in it. The discount is not.
func (s *Sheet) price(r *rule, p price) (v, discount float64, source string, builtIn bool) {
	v, discount, source = s.defaults[p]*s.multiplier, s.discount, s.name
	if builtIn = !s.named.has(p); builtIn {
		source = rates.BuiltInPrices
	}
	if r == nil {
		return v, discount, source, builtIn
	}
	multiplier := s.multiplier
	if r.multiplier != nil {
		multiplier = *r.multiplier
	}
	if r.discount != nil {
		discount = *r.discount
	}
	return r.price[p] * multiplier, discount, s.name + ":" + strconv.Itoa(r.line), false
}
