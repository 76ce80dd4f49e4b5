package pricing

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/listprices"
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
	spot       []label             // that mark spot nodes, besides those of providers
	lists      []*listprices.Table // what providers list, the first that has a price counts
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

// WithList is the sheet with what providers list, which counts where the sheet has no prices of its own: of CPU or memory, of volumes whose type the name of their
// storage class tells, and of load balancers. The first table with a price in the region counts, else the first with any. Tables in another currency than the
// sheet names do not.
func (s *Sheet) WithList(tables ...*listprices.Table) *Sheet {
	out := *s
	out.lists = nil
	for _, t := range tables {
		if s.currency == "" || t.Currency() == s.currency {
			out.lists = append(out.lists, t)
		}
	}
	return &out
}

// Lists are the tables of list prices that count, in their order.
func (s *Sheet) Lists() []*listprices.Table { return slices.Clone(s.lists) }

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
// resources without prices of their own have parts; otherwise from a default that the sheet sets, from an exporter, from what the provider lists, or from
// the built-in default. Defaults are different for spot nodes.
func (s *Sheet) Node(n rates.NodeAttributes, at time.Time) rates.NodeRates {
	f := s.find(&n, at)
	unit, own := s.ownPrices(&n, &f)
	if f.perHour > 0 || f.whole != nil {
		m := machine{price: f.perHour, size: n.Size}
		if gpu := f.rules[allocation.GPU]; gpu != nil && gpu.gpuExtra {
			m.size[allocation.GPU] = 0 // the price is without them
		}
		for i := range m.defaults {
			m.defaults[i], _, _, _ = s.price(nil, nodePrices[i][0])
		}
		unit = m.divided(unit, own)
	}
	out := rates.NodeRates{ByPods: f.byPods, Ruled: f.whole != nil || f.rules[allocation.CPU] != nil || f.rules[allocation.RAM] != nil}
	var sources []string
	for i, r := range f.rules {
		p := nodePrices[i][0]
		switch {
		case r == nil && f.whole != nil:
			r = f.whole
		case r == nil:
			p = nodePrices[i][f.kind]
		}
		price, discount, source, builtIn := s.price(r, p)
		switch {
		case r == nil && f.unit[i] > 0:
			source, builtIn, discount = f.by, false, f.discount(discount)
		case r == nil && f.perHour > 0 && !own[i]:
			source, builtIn, discount = f.by, false, f.discount(discount)
		case r == nil:
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

// foundPrices are what there is for a node: rules by resource, one for the whole machine, and where the sheet itself lacks a price, what others say.
type foundPrices struct {
	rules    [allocation.NumResources]*rule
	whole    *rule
	perHour  float64    // of the whole machine, by the rule or by others; 0 where nothing says it
	unit     byResource // by others; 0 where nothing says it
	by       string     // the others, for people
	exported bool       // they are an exporter
	byPods   bool
	kind     int // of nodePrices: 1 for spot nodes
}

// discount is what is taken off a price of others: an exporter says what is paid.
func (f *foundPrices) discount(ofSheet float64) float64 {
	if f.exported {
		return 0
	}
	return ofSheet
}

// find finds the prices of a node.
func (s *Sheet) find(n *rates.NodeAttributes, at time.Time) (f foundPrices) {
	subject := nodeSubject(n)
	for r := range s.sections[nodeSection].matching(&subject, at.UnixMilli()) {
		f.byPods = f.byPods || r.byPods
		if f.whole != nil {
			continue // it has all that is not found yet
		}
		for i := range f.rules {
			if f.rules[i] == nil && r.named.has(nodePrices[i][0]) {
				f.rules[i] = r
			}
		}
		if r.named.has(machinePrice) && sized(n.Size) {
			f.whole = r
		}
	}
	if n.Spot {
		f.kind = 1
	}
	switch {
	case f.whole != nil:
		f.perHour, _, _, _ = s.price(f.whole, machinePrice)
	case s.unpriced(n, &f):
		s.askOthers(n, &f)
	}
	return f
}

// askOthers finds what an exporter says of a node, or else what its provider lists. The exporter that says what a core and a GiB cost divides the price of the
// machine among them alone: where there are GPUs, the whole price counts.
func (s *Sheet) askOthers(n *rates.NodeAttributes, f *foundPrices) {
	x := &n.Exported
	units := x.Unit[allocation.CPU] > 0 && x.Unit[allocation.RAM] > 0
	whole := x.PerHour > 0 && sized(n.Size)
	switch {
	case whole && (!units || n.Size[allocation.GPU] > 0):
		f.perHour, f.by, f.exported = x.PerHour, x.Source, true
	case units:
		f.by, f.exported = x.Source, true
		for i, unit := range x.Unit {
			if !s.named.has(nodePrices[i][f.kind]) {
				f.unit[i] = unit
			}
		}
	default:
		if p, by := s.listedNode(n); p != nil {
			f.perHour, f.by = p.PerHour*s.multiplier, by
		}
	}
}

// ownPrices are the prices of resources that have no part of the machine's.
func (s *Sheet) ownPrices(n *rates.NodeAttributes, f *foundPrices) (unit byResource, own [allocation.NumResources]bool) {
	for i, r := range f.rules {
		switch p := nodePrices[i][f.kind]; {
		case n.Own[i] > 0:
			unit[i] = n.Own[i]
		case r != nil:
			unit[i], _, _, _ = s.price(r, nodePrices[i][0])
		case f.whole == nil && s.named.has(p):
			unit[i], _, _, _ = s.price(nil, p)
		case f.unit[i] > 0:
			unit[i] = f.unit[i]
		default:
			continue
		}
		own[i] = true
	}
	return unit, own
}

// unpriced reports whether something that the node has lacks a price by a metric of its own, a rule, and a default that the sheet sets.
func (s *Sheet) unpriced(n *rates.NodeAttributes, f *foundPrices) bool {
	for r := range f.rules {
		needed := r != int(allocation.GPU) || n.Size[r] > 0
		if needed && n.Own[r] == 0 && f.rules[r] == nil && !s.named.has(nodePrices[r][f.kind]) {
			return true
		}
	}
	return false
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

// Item prices an item by the first rule of its list that matches and has the price, else by a default that the sheet sets, an exporter, what the provider lists, or the built-in
// default.
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
	if !builtIn {
		return rates.Rate{Price: price, Source: source}
	}
	if i.Exported > 0 {
		return rates.Rate{Price: i.Exported, Source: i.ExportedBy}
	}
	if listed, by := s.listedItem(&i); listed != nil {
		return rates.Rate{Price: listed.PerHour * s.multiplier, Source: by}
	}
	return rates.Rate{Price: price, Source: source, Default: true}
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
