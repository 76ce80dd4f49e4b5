package pricing

import (
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// price is an index of the prices that a sheet can name.
type price uint8

const (
	cpuPrice price = iota
	ramPrice
	gpuPrice
	spotCPUPrice
	spotRAMPrice
	spotGPUPrice
	storagePrice
	numPrices
)

// prices describes each price: its key with the unit, the built-in default, and whether rules can name it too.
var prices = [numPrices]struct {
	key     string
	builtIn float64
	inRules bool
}{
	cpuPrice:     {"cpuPerCoreHour", 0.031611, true},
	ramPrice:     {"ramPerGiBHour", 0.004237, true},
	gpuPrice:     {"gpuPerDeviceHour", 0.95, true},
	spotCPUPrice: {"spotCPUPerCoreHour", 0.006655, false},
	spotRAMPrice: {"spotRAMPerGiBHour", 0.000892, false},
	spotGPUPrice: {"spotGPUPerDeviceHour", 0.95, false},
	storagePrice: {"storagePerGiBHour", 0.00005479452, false},
}

// nodePrices are the prices of each resource of a node, ordinary and spot.
var nodePrices = [allocation.NumResources][2]price{
	allocation.CPU: {cpuPrice, spotCPUPrice},
	allocation.RAM: {ramPrice, spotRAMPrice},
	allocation.GPU: {gpuPrice, spotGPUPrice},
}

// Sheet prices nodes. It is not changed once made and safe for concurrent use.
type Sheet struct {
	name     string
	defaults [numPrices]float64
	rules    []rule
}

var _ allocation.Rates = (*Sheet)(nil)

// rule is a row of the sheet's nodes.
type rule struct {
	line   int
	texts  [numAttributes]string // what must match, "" for anything
	labels []label
	spot   *bool // nil matches both
	price  [numPrices]float64
	named  [numPrices]bool // which prices the rule has
}

// label is a node label that a rule asks for.
type label struct{ key, value string }

// attribute is an index of the attributes that a rule matches as text.
type attribute uint8

const (
	provider attribute = iota
	region
	zone
	instanceType
	numAttributes
)

// attributes describes each attribute: its key, its value on a node, and whether case matters.
var attributes = [numAttributes]struct {
	key     string
	of      func(n *allocation.NodeAttributes) string
	anyCase bool
}{
	provider:     {"provider", func(n *allocation.NodeAttributes) string { return n.Provider }, true},
	region:       {"region", func(n *allocation.NodeAttributes) string { return n.Region }, false},
	zone:         {"zone", func(n *allocation.NodeAttributes) string { return n.Zone }, false},
	instanceType: {"instanceType", func(n *allocation.NodeAttributes) string { return n.InstanceType }, false},
}

// Default is the sheet without rules and with the built-in defaults.
func Default() *Sheet {
	s := &Sheet{name: "built-in defaults"}
	for p := range prices {
		s.defaults[p] = prices[p].builtIn
	}
	return s
}

// Node prices a node by the first rule that matches it. Prices that the rule lacks, and all where none matches, are the
// defaults, those for spot nodes where the node is one.
func (s *Sheet) Node(n allocation.NodeAttributes) allocation.NodeRates {
	rates := allocation.NodeRates{Source: s.name, Default: true}
	kind := 0
	if n.Spot {
		kind = 1
	}
	for r := range rates.Price {
		rates.Price[r] = s.defaults[nodePrices[r][kind]]
	}
	for i := range s.rules {
		row := &s.rules[i]
		if !row.matches(&n) {
			continue
		}
		for r := range rates.Price {
			if p := nodePrices[r][0]; row.named[p] {
				rates.Price[r] = row.price[p]
			}
		}
		rates.Source, rates.Default = s.name+":"+strconv.Itoa(row.line), false
		return rates
	}
	return rates
}

// StoragePerGiBHour is the default price of volumes.
func (s *Sheet) StoragePerGiBHour() float64 { return s.defaults[storagePrice] }

func (r *rule) matches(n *allocation.NodeAttributes) bool {
	if r.spot != nil && *r.spot != n.Spot {
		return false
	}
	for a := range attributes {
		if !matchText(r.texts[a], attributes[a].of(n), attributes[a].anyCase) {
			return false
		}
	}
	for _, l := range r.labels {
		if v, ok := lookup(n.Labels, l.key); !ok || v != l.value {
			return false
		}
	}
	return true
}

// matchText reports whether text is what pattern says: anything if it is empty, a prefix if it ends in *.
func matchText(pattern, text string, anyCase bool) bool {
	if pattern == "" {
		return true
	}
	if anyCase {
		pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == text
}

// lookup finds a label by its key, or by its key as Prometheus writes it.
func lookup(labels map[string]string, key string) (string, bool) {
	if v, ok := labels[key]; ok {
		return v, true
	}
	v, ok := labels[sanitize(key)]
	return v, ok
}

// sanitize is a label key as Prometheus writes it: _ for all but letters, digits and _.
func sanitize(key string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, key)
}
