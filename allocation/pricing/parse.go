package pricing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/labelnames"
)

// Parse reads a sheet: CSV where name ends in .csv, else YAML. name is its file's name, for errors and for the sources of
// prices. An error names the file, the line, the key and the remedy. An empty sheet is Default under the given name.
func Parse(name string, data []byte) (*Sheet, error) {
	if strings.EqualFold(filepath.Ext(name), ".csv") {
		return parseCSV(name, data)
	}
	p := newParser(name)
	var doc yaml.Node
	docs := yaml.NewDecoder(bytes.NewReader(data))
	if err := docs.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("parse price sheet %s: %w: give YAML such as \"defaults: {cpuPerCoreHour: 0.03}\"", name, err)
	}
	if len(doc.Content) > 0 {
		var next yaml.Node
		if err := docs.Decode(&next); !errors.Is(err, io.EOF) {
			return nil, p.fail(next.Line, "text after the first document: keep one document, without another \"---\"")
		}
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return p.finish(), nil
	}
	return p.yaml(doc.Content[0])
}

// ParseNode reads a sheet that is part of another YAML document, as Parse does.
func ParseNode(name string, n *yaml.Node) (*Sheet, error) { return newParser(name).yaml(resolve(n)) }

// parser makes the sheet of one file.
type parser struct {
	sheet    *Sheet
	defaults rule // the prices of defaults
	noted    []noted
	remarks  []remark
}

func newParser(name string) *parser {
	s := Default()
	s.name = name
	return &parser{sheet: s}
}

// fail is an error about a line.
func (p *parser) fail(line int, format string, args ...any) error {
	return fmt.Errorf("parse price sheet %s: line %d: %w", p.sheet.name, line, fmt.Errorf(format, args...))
}

// finish is the sheet, once all of it has been read.
func (p *parser) finish() *Sheet {
	s := p.sheet
	s.named = p.defaults.named
	for i := range s.defaults {
		if s.named.has(price(i)) {
			s.defaults[i] = p.defaults.price[i]
		}
	}
	for i := range s.sections {
		for j := range s.sections[i].rules {
			r := &s.sections[i].rules[j]
			s.changes = append(s.changes, r.from, r.to)
		}
	}
	slices.Sort(s.changes)
	s.changes = slices.DeleteFunc(slices.Compact(s.changes), func(t int64) bool { return t == math.MinInt64 || t == math.MaxInt64 })
	nameLabels(s.sections[:])
	s.warnings = p.suspicions()
	return s
}

// field is a key of a mapping and the function that reads its value.
type field struct {
	key  string
	read func(*yaml.Node) error
}

// yaml reads the sheet in n.
func (p *parser) yaml(n *yaml.Node) (*Sheet, error) {
	fields := p.settings()
	fields = append(fields, field{"defaults", func(n *yaml.Node) error {
		return p.mapping(n, "defaults", p.ruleFields(&p.defaults, p.priceSetters(priceKeys(ofAll))))
	}})
	for id := range sectionKeys {
		fields = append(fields, field{sectionKeys[id].key, func(n *yaml.Node) error { return p.rules(n, sectionID(id)) }})
	}
	fields = append(fields, field{"custom", p.custom}, field{"spotLabels", p.spotLabels})
	if err := p.mapping(n, "the sheet", fields); err != nil {
		return nil, err
	}
	return p.finish(), nil
}

// spotLabels reads the labels that mark spot nodes, each with a value or a list of values.
func (p *parser) spotLabels(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return p.fail(n.Line, "spotLabels is %s, want labels with values such as {example.com/pool: [spot, preemptible]}", describe(n))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, values := n.Content[i].Value, []*yaml.Node{n.Content[i+1]}
		if list := resolve(n.Content[i+1]); list.Kind == yaml.SequenceNode {
			values = list.Content
		}
		for _, value := range values {
			if value = resolve(value); value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
				return p.fail(value.Line, "label %q of spotLabels is %s, want a text or a list of texts", key, describe(value))
			}
			p.sheet.spot = append(p.sheet.spot, label{labelnames.NewName(key), value.Value})
		}
	}
	return nil
}

// settings are the fields of the sheet as a whole.
func (p *parser) settings() []field {
	var fields []field
	for _, s := range p.sheetSetters() {
		fields = append(fields, p.ruleFields(nil, []setter{s})...)
	}
	return fields
}

// custom reads the custom prices.
func (p *parser) custom(n *yaml.Node) error {
	var r rule
	if err := p.mapping(n, "custom", p.ruleFields(&r, p.priceSetters(customKeys()))); err != nil {
		return err
	}
	c := &allocation.CustomPrices{Storage: r.price[storagePrice], LoadBalancer: r.price[loadBalancerPrice], Egress: r.price[egressInternetPrice]}
	for i := range c.Node {
		c.Node[i] = r.price[nodePrices[i][0]]
	}
	p.sheet.custom = c
	return nil
}

// customEgress is a key that only the custom prices have.
const customEgress = "egressPerGiB"

// customKeys are the keys of the custom prices.
func customKeys() []priceKey {
	keys := priceKeys(func(x price) bool {
		return inSection(nodeSection)(x) && ofAll(x) || x == storagePrice || x == loadBalancerPrice
	})
	return append(keys, priceKey{customEgress, egressInternetPrice, 0})
}

// mapping reads the mapping n, called what in errors, by its fields.
func (p *parser) mapping(n *yaml.Node, what string, fields []field) error {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		return p.fail(n.Line, "%s is %s, want keys with values: %s", what, describe(n), keys(fields))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if line, ok := seen[key.Value]; ok {
			return p.fail(key.Line, "key %q of %s is there twice, first on line %d: keep one", key.Value, what, line)
		}
		seen[key.Value] = key.Line
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		if at < 0 {
			return p.fail(key.Line, "unknown key %q in %s: %s", key.Value, what, suggest(key.Value, fieldKeys(fields)))
		}
		if err := fields[at].read(resolve(value)); err != nil {
			return err
		}
	}
	return nil
}

// suggest says what to use in place of an unknown key.
func suggest(key string, known []string) string {
	if near := caret.Nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "use " + strings.Join(known, ", ")
}

func fieldKeys(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	return names
}

// keys lists the keys of fields for an error.
func keys(fields []field) string { return strings.Join(fieldKeys(fields), ", ") }

// ruleFields are fields whose values are texts or numbers, set on r.
func (p *parser) ruleFields(r *rule, setters []setter) []field {
	fields := make([]field, 0, len(setters))
	for _, s := range setters {
		fields = append(fields, field{s.key, func(n *yaml.Node) error {
			switch {
			case s.want == "number" && n.Tag != "!!float" && n.Tag != "!!int":
				return p.fail(n.Line, "%s is %s, want a number such as 0.03", s.key, describe(n))
			case n.Kind != yaml.ScalarNode || n.Value == "" || n.Tag == "!!null":
				return p.fail(n.Line, "%s is %s, want %s; leave the key out otherwise", s.key, describe(n), s.want)
			}
			return s.set(r, n.Line, n.Value)
		}})
	}
	return fields
}

// rules reads a list of rules in their order.
func (p *parser) rules(n *yaml.Node, id sectionID) error {
	key := sectionKeys[id].key
	if n.Kind != yaml.SequenceNode {
		return p.fail(n.Line, "%s is %s, want a list of rules, each starting with \"- \"", key, describe(n))
	}
	var r rule // one after the other
	fields := p.ruleFields(&r, p.sectionSetters(id))
	if slices.Contains(labeled, id) {
		fields = append(fields, field{"labels", func(n *yaml.Node) (err error) { r.labels, err = p.labels(n); return err }})
	}
	for i, item := range n.Content {
		item = resolve(item)
		r = newRule(item.Line)
		what := key + "[" + strconv.Itoa(i) + "]"
		if err := p.mapping(item, what, fields); err != nil {
			return err
		}
		if r.covers(&rule{}) && !r.dated {
			return p.fail(item.Line, "%s matches %s: name one of %s, or put its prices into defaults", what, sectionKeys[id].all, keys(fields))
		}
		if r.named == 0 {
			return p.fail(item.Line, "%s has no price: give one of %s", what, keys(p.ruleFields(&r, p.priceSetters(priceKeys(inSection(id))))))
		}
		if err := p.addRule(&r, id, what); err != nil {
			return err
		}
	}
	return nil
}

// addRule appends a rule to its list, unless it can never win there.
func (p *parser) addRule(r *rule, id sectionID, what string) error {
	if r.from >= r.to {
		return p.fail(r.line, "%s ends before it begins: to must be after from", what)
	}
	if r.gpuExtra && !r.named.has(gpuPrice) {
		return p.fail(r.line, "%s has gpuExtra, but no price of GPUs: give gpuPerDeviceHour", what)
	}
	if earlier := p.sheet.sections[id].covering(r); earlier != nil {
		return p.fail(r.line, "%s can never win, line %d matches the same before it: remove one of them", what, earlier.line)
	}
	p.sheet.sections[id].add(r)
	return nil
}

// labels reads a rule's labels, sorted by key.
func (p *parser) labels(n *yaml.Node) ([]label, error) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return nil, p.fail(n.Line, "labels is %s, want keys with values such as {pool: batch}", describe(n))
	}
	var labels []label
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			return nil, p.fail(value.Line, "label %q is %s, want a text", key.Value, describe(value))
		}
		if at := slices.IndexFunc(labels, func(l label) bool { return l.name.String() == key.Value }); at >= 0 {
			return nil, p.fail(key.Line, "label %q is there twice: keep one", key.Value)
		}
		labels = append(labels, label{labelnames.NewName(key.Value), value.Value})
	}
	slices.SortFunc(labels, compareLabels)
	return labels, nil
}

func compareLabels(a, b label) int { return strings.Compare(a.name.String(), b.name.String()) }

// resolve is the node that an alias stands for, or n.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// describe says what n is, for errors about an unexpected value.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		return "empty"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Value == "" || n.Tag == "!!null":
		return "empty"
	}
	return strconv.Quote(n.Value)
}
