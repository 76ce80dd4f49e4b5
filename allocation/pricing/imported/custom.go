package imported

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// customPrice is a field of custom prices that a sheet has a default for.
type customPrice struct {
	field string
	key   string  // of the sheet; what is by time ends in Per and what it is of, without Hour and Month
	usual float64 // an hour in US dollars; 0 for prices that are not by the file's unit of time
}

// customPrices are the fields in the order of the sheet. Of two for one key, the first counts.
func customPrices() []customPrice {
	node := pricing.Default().Node(rates.NodeAttributes{}, time.Time{}).Price
	spot := pricing.Default().Node(rates.NodeAttributes{Spot: true}, time.Time{}).Price
	return []customPrice{
		{"CPU", "cpuPerCore", node[allocation.CPU]},
		{"RAM", "ramPerGiB", node[allocation.RAM]},
		{"GPU", "gpuPerDevice", node[allocation.GPU]},
		{"spotCPU", "spotCPUPerCore", spot[allocation.CPU]},
		{"spotRAM", "spotRAMPerGiB", spot[allocation.RAM]},
		{"spotGPU", "spotGPUPerDevice", spot[allocation.GPU]},
		{"storage", "storagePerGiB", pricing.Default().Item(rates.Item{Kind: rates.ItemStorage}, time.Time{}).Price},
		{"defaultLBPrice", "loadBalancerPerHour", 0},
		{"firstFiveForwardingRulesCost", "loadBalancerPerHour", 0},
		{"zoneNetworkEgress", "egressZonePerGiB", 0},
		{"regionNetworkEgress", "egressRegionPerGiB", 0},
		{"internetNetworkEgress", "egressInternetPerGiB", 0},
	}
}

// leftOut are fields that a sheet has no place for, and why.
var leftOut = []struct{ field, why string }{
	{"sharedOverhead", "money per month that all share is sharing.shareCost of a config file"},
	{"sharedNamespaces", "it is no price, but sharing.shareNamespaces of a config file"},
	{"sharedLabelNames", "it is no price, but sharing.shareLabels of a config file"},
	{"shareTenancyCosts", "it is no price, but sharing.shareTenancyCosts of a config file"},
	{"defaultIdle", "it is no price, but sharing.shareIdle of a config file"},
	{"natGatewayEgress", "no metric says what goes through NAT gateways"},
	{"natGatewayIngress", "no metric says what goes through NAT gateways"},
	{"additionalForwardingRuleCost", "all load balancers of a sheet's default have one price"},
	{"LBIngressDataCost", "load balancers have a price by the hour alone"},
	{"CpuLimit", "it is a limit, no price"},
	{"gpuLabel", "the capacity of nodes says which have GPUs, and how many"},
}

// isCustom reports whether a text in JSON has a field of a price.
func isCustom(text []byte) bool { return isJSON(text) && customField.Match(text) }

var customField = regexp.MustCompile(`(?i)"((spot)?(CPU|RAM|GPU)|storage|defaultLBPrice|(zone|region|internet)NetworkEgress)"\s*:`)

// readCustom reads default.json.
func readCustom(text []byte, o Options) (*Prices, error) {
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	return customFrom(doc, o)
}

// parse reads JSON or YAML.
func parse(text []byte) (*yaml.Node, error) {
	var doc, next yaml.Node
	docs := yaml.NewDecoder(bytes.NewReader(text))
	err := docs.Decode(&doc)
	if err == nil && len(doc.Content) != 1 {
		err = io.EOF
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("there is nothing in it")
	case err != nil:
		return nil, fmt.Errorf("%w: is the file cut off?", err)
	}
	if err := docs.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document in it: keep one")
	}
	return doc.Content[0], nil
}

// readConfigMap reads custom prices that stand in the data of a ConfigMap, or a file that does.
func readConfigMap(text []byte, o Options) (*Prices, error) {
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	if items, err := child(doc, "items"); err == nil && items != nil && items.Kind == yaml.SequenceNode {
		if len(items.Content) != 1 {
			return nil, fmt.Errorf("line %d: it is a list of %d objects: save the ConfigMap with the prices alone, by its name", items.Line, len(items.Content))
		}
		doc = items.Content[0]
	}
	data, err := child(doc, "data")
	if err != nil {
		return nil, err
	}
	if data == nil || data.Kind != yaml.MappingNode || len(data.Content) == 0 {
		return nil, fmt.Errorf("line %d: the ConfigMap has no data", doc.Line)
	}
	var file *yaml.Node // the key of the one that is read
	for i := 0; i+1 < len(data.Content); i += 2 {
		if value := data.Content[i+1]; value.Kind == yaml.ScalarNode && isFile([]byte(value.Value)) {
			if file != nil {
				return nil, fmt.Errorf("line %d: %s and %s of the ConfigMap are both files of prices: save one of them, and import that", data.Content[i].Line, file.Value, data.Content[i].Value)
			}
			file = data.Content[i]
		}
	}
	if file == nil {
		return customFrom(data, o)
	}
	inner, err := child(data, file.Value)
	if err != nil {
		return nil, err
	}
	p, err := read([]byte(inner.Value), o)
	if err != nil {
		return nil, fmt.Errorf("%s of the ConfigMap's data, on line %d: %w", file.Value, file.Line, err)
	}
	return p, nil
}

// isFile reports whether a value of a ConfigMap is a file of prices itself.
func isFile(text []byte) bool {
	text = cleared(text)
	return isCSV(text) || isCustom(text) || isKarpenter(text)
}

// child is the value of a key, nil where there is none.
func child(n *yaml.Node, key string) (found *yaml.Node, err error) {
	err = eachKey(n, func(k string, _, value *yaml.Node) error {
		if k == key {
			found = value
		}
		return nil
	})
	return found, err
}

// eachKey calls f for each key of a mapping and its value, as long as it returns no error.
func eachKey(n *yaml.Node, f func(key string, at, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want keys with values", n.Line)
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || value.Kind == yaml.AliasNode:
			return fmt.Errorf("line %d: want keys with values, without references to others", key.Line)
		case seen[key.Value]:
			return fmt.Errorf("line %d: key %q is there twice: keep one", key.Line, key.Value)
		}
		seen[key.Value] = true
		if err := f(key.Value, key, value); err != nil {
			return err
		}
	}
	return nil
}

// customFields are fields of custom prices that are not empty, by their names in small letters: OpenCost takes them in any case.
type customFields map[string]*yaml.Node

// customFrom takes custom prices. Fields that are not about prices are not looked at: many are credentials.
func customFrom(n *yaml.Node, o Options) (*Prices, error) {
	fields := customFields{}
	err := eachKey(n, func(key string, _, value *yaml.Node) error {
		if value.Kind != yaml.ScalarNode || strings.TrimSpace(value.Value) != "" && value.Tag != "!!null" {
			fields[strings.ToLower(key)] = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p := &Prices{}
	currency, _, err := fields.take("currencyCode")
	if err != nil {
		return nil, err
	}
	if p.currency, err = o.currency(currency); err != nil {
		return nil, fmt.Errorf("currencyCode: %w", err)
	}
	o.Currency = p.currency
	if err := p.takePrices(fields, o); err != nil {
		return nil, err
	}
	if err := p.takeDiscounts(fields); err != nil {
		return nil, err
	}
	if err := p.takeSpotLabel(fields); err != nil {
		return nil, err
	}
	if len(p.defaults) == 0 {
		return nil, fmt.Errorf("line %d: it has no price: want CPU, RAM, GPU, storage and the like", n.Line)
	}
	return p, p.noteOthers(fields)
}

// take takes the text of a field away, and its line.
func (f customFields) take(field string) (text string, line int, err error) {
	n := f[strings.ToLower(field)]
	if n == nil {
		return "", 0, nil
	}
	delete(f, strings.ToLower(field))
	if n.Kind != yaml.ScalarNode {
		return "", n.Line, fmt.Errorf("line %d: %s has more than one value: want a text", n.Line, field)
	}
	return strings.TrimSpace(n.Value), n.Line, nil
}

// takePrices takes the prices, and finds out for what time they are.
func (p *Prices) takePrices(fields customFields, o Options) error {
	type price struct {
		customPrice
		v float64
	}
	var found []price
	var signs unitSigns
	for _, x := range customPrices() {
		text, line, err := fields.take(x.field)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		v, err := o.price(text)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", line, x.field, err)
		}
		if n := len(found); n > 0 && found[n-1].key == x.key {
			p.note("Left out: %s: %s is the price of load balancers.", x.field, found[n-1].field)
			continue
		}
		found = append(found, price{x, v})
		if x.usual > 0 && v > 0 {
			signs[guess(v, x.usual*scale(p.currency))] = fmt.Sprintf("%s of %s", x.field, decimal(v))
		}
	}
	if p.unit = o.Unit; p.unit == Unknown {
		var err error
		if p.unit, err = signs.unit(); err != nil {
			return err
		}
		if as := signs[p.unit]; as != "" {
			p.note("Prices of CPU, memory, GPUs and storage are read as those of %s, for which %s is usual.", unitNames[p.unit], as)
		}
	}
	for _, x := range found {
		if x.usual > 0 {
			x.key += p.unit.suffix()
		}
		p.defaults = append(p.defaults, entry{x.key, decimal(x.v)})
	}
	return nil
}

// unitNames are the units for people.
var unitNames = [...]string{Hourly: "an hour", Monthly: "a month of 730 hours"}

// unitSigns are prices that are like usual ones of a unit, and under Unknown one that is like neither, for people. Others are empty.
type unitSigns [Monthly + 1]string

// unit is the unit of all prices.
func (s *unitSigns) unit() (Unit, error) {
	const ask = "give --hourly or --monthly; a mounted default.json is hourly, and Kubecost's settings and ConfigMaps are monthly"
	switch {
	case s[Hourly] != "" && s[Monthly] != "":
		return Unknown, fmt.Errorf("%s is usual for an hour, and %s for a month: %s", s[Hourly], s[Monthly], ask)
	case s[Monthly] != "":
		return Monthly, nil
	case s[Hourly] == "" && s[Unknown] != "":
		return Unknown, fmt.Errorf("%s is usual neither for an hour nor for a month: %s", s[Unknown], ask)
	}
	return Hourly, nil
}

// takeDiscounts takes the discounts, which are in percent, with or without the sign, and count one after the other.
func (p *Prices) takeDiscounts(fields customFields) error {
	rest, texts := 1.0, []string{}
	for _, field := range []string{"discount", "negotiatedDiscount"} {
		text, line, err := fields.take(field)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		v, err := number(strings.TrimSpace(strings.TrimSuffix(text, "%")))
		if err == nil && v > 100 {
			err = fmt.Errorf("%s is more than 100%%", text)
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", line, field, err)
		}
		if v > 0 {
			if v < 1 && !strings.HasSuffix(text, "%") {
				p.warn("%s of %s is read as %s%%, as OpenCost does: is it %s%%?", field, text, text, decimal(v*100))
			}
			rest *= 1 - v/100
			texts = append(texts, field+" of "+decimal(v)+"%")
		}
	}
	if p.discount = math.Round((1-rest)*1e12) / 1e12; len(texts) > 0 {
		p.note("What is taken off CPU and memory of nodes: %s.", strings.Join(texts, " and then "))
	}
	return nil
}

// takeSpotLabel takes the label that marks spot nodes.
func (p *Prices) takeSpotLabel(fields customFields) error {
	label, line, err := fields.take("spotLabel")
	if err != nil {
		return err
	}
	value, _, err := fields.take("spotLabelValue")
	if err != nil {
		return err
	}
	switch {
	case label == "" && value == "":
	case label == "" || value == "":
		p.note("Left out: the label of spot nodes: it takes both spotLabel and spotLabelValue.")
	case len(label) > maxText || len(value) > maxText:
		return fmt.Errorf("line %d: spotLabel: no label has more than %d bytes", line, maxText)
	default:
		p.spot = []entry{{quoted(label), quoted(value)}}
	}
	return nil
}

// noteOthers says what else the file has, by name where a name is one that OpenCost or Kubecost knows and none of a credential.
func (p *Prices) noteOthers(fields customFields) error {
	enabled, _, err := fields.take("customPricesEnabled")
	if err != nil {
		return err
	}
	if strings.EqualFold(enabled, "false") {
		p.note("customPricesEnabled is false: list prices of the provider came before these. To have that here, remove the defaults of CPU and memory, on demand and spot.")
	}
	for _, x := range leftOut {
		text, _, err := fields.take(x.field)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		if v, err := number(text); err == nil {
			if v == 0 {
				continue
			}
			p.note("Left out: %s of %s: %s.", x.field, decimal(v), x.why)
			continue
		}
		p.note("Left out: %s: %s.", x.field, x.why)
	}
	for _, known := range []string{"provider", "description", "gpuLabelValue", "sharedLabelValues"} {
		delete(fields, strings.ToLower(known))
	}
	if n := len(fields); n > 0 {
		p.note("Left out unread: other settings (%d), such as credentials.", n)
	}
	return nil
}
