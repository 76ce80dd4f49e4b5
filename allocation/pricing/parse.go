package pricing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads a sheet. name is its file's name, for errors and for NodeRates.Source. An error names the file, the line,
// the key and the remedy. An empty sheet is Default under the given name.
func Parse(name string, data []byte) (*Sheet, error) {
	p := parser{file: name}
	var doc yaml.Node
	docs := yaml.NewDecoder(bytes.NewReader(data))
	if err := docs.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("parse price sheet %s: %w: give YAML such as \"defaults: {cpuPerCoreHour: 0.03}\"", name, err)
	}
	if len(doc.Content) > 0 {
		var next yaml.Node
		if err := docs.Decode(&next); !errors.Is(err, io.EOF) {
			return nil, p.fail(&next, "text after the first document: keep one document, without another \"---\"")
		}
	}
	s := Default()
	s.name = name
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return s, nil
	}
	err := p.mapping(doc.Content[0], "the sheet", []field{
		{"defaults", func(n *yaml.Node) error { return p.mapping(n, "defaults", p.priceFields(&s.defaults, nil)) }},
		{"nodes", func(n *yaml.Node) (err error) { s.rules, err = p.rules(n); return err }},
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// parser reads the nodes of one file.
type parser struct{ file string }

// field is a key that a mapping may have, and what reads its value.
type field struct {
	key  string
	read func(*yaml.Node) error
}

// fail is an error about the node n.
func (p parser) fail(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("parse price sheet %s: line %d: %w", p.file, n.Line, fmt.Errorf(format, args...))
}

// mapping reads the mapping n, called what in errors, by its fields.
func (p parser) mapping(n *yaml.Node, what string, fields []field) error {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		return p.fail(n, "%s is %s, want keys with values: %s", what, describe(n), keys(fields))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if line, ok := seen[key.Value]; ok {
			return p.fail(key, "key %q of %s is there twice, first on line %d: keep one", key.Value, what, line)
		}
		seen[key.Value] = key.Line
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		if at < 0 {
			return p.fail(key, "unknown key %q in %s: use %s", key.Value, what, keys(fields))
		}
		if err := fields[at].read(resolve(value)); err != nil {
			return err
		}
	}
	return nil
}

// keys lists the keys of fields for an error.
func keys(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	return strings.Join(names, ", ")
}

// priceFields are the fields that read prices into to: those of a rule where named is given, which notes what was there.
func (p parser) priceFields(to *[numPrices]float64, named *[numPrices]bool) []field {
	var fields []field
	for i, row := range prices {
		if named != nil && !row.inRules {
			continue
		}
		fields = append(fields, field{row.key, func(n *yaml.Node) (err error) {
			if named != nil {
				named[i] = true
			}
			to[i], err = p.price(n, row.key)
			return err
		}})
	}
	return fields
}

// price reads a price, which is finite and not negative.
func (p parser) price(n *yaml.Node, key string) (float64, error) {
	if n.Tag != "!!float" && n.Tag != "!!int" {
		return 0, p.fail(n, "%s is %s, want a number such as 0.03", key, describe(n))
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case err != nil, math.IsNaN(v), math.IsInf(v, 0):
		return 0, p.fail(n, "%s is %q, want a finite decimal number such as 0.03", key, n.Value)
	case v < 0 || math.Signbit(v):
		return 0, p.fail(n, "%s is negative (%s): give 0 or more", key, n.Value)
	}
	return v, nil
}

// rules reads the rules in their order.
func (p parser) rules(n *yaml.Node) ([]rule, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, p.fail(n, "nodes is %s, want a list of rules, each starting with \"- \"", describe(n))
	}
	rules := make([]rule, len(n.Content))
	for i, item := range n.Content {
		if err := p.rule(resolve(item), i, &rules[i]); err != nil {
			return nil, err
		}
		for _, earlier := range rules[:i] {
			if earlier.covers(&rules[i]) {
				return nil, p.fail(item, "nodes[%d] can never win, line %d matches the same nodes before it: remove one of them", i, earlier.line)
			}
		}
	}
	return rules, nil
}

// rule reads the i-th rule into r.
func (p parser) rule(n *yaml.Node, i int, r *rule) error {
	what := fmt.Sprintf("nodes[%d]", i)
	r.line = n.Line
	var fields []field
	for a, row := range attributes {
		fields = append(fields, field{row.key, func(n *yaml.Node) (err error) {
			r.texts[a], err = p.text(n, row.key)
			return err
		}})
	}
	fields = append(fields,
		field{"labels", func(n *yaml.Node) (err error) { r.labels, err = p.labels(n); return err }},
		field{"spot", func(n *yaml.Node) error {
			var v bool
			if n.Tag != "!!bool" || n.Decode(&v) != nil {
				return p.fail(n, "spot is %s, want true or false", describe(n))
			}
			r.spot = &v
			return nil
		}})
	if err := p.mapping(n, what, append(fields, p.priceFields(&r.price, &r.named)...)); err != nil {
		return err
	}
	if r.covers(&rule{}) {
		return p.fail(n, "%s matches every node: name one of %s, or put its prices into defaults", what, keys(fields))
	}
	if !slices.Contains(r.named[:], true) {
		return p.fail(n, "%s has no price: give one of %s", what, keys(p.priceFields(&r.price, &r.named)))
	}
	return nil
}

// text reads a value that rules compare with.
func (p parser) text(n *yaml.Node, key string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" || n.Tag == "!!null" {
		return "", p.fail(n, "%s is %s, want a text; leave the key out to match any", key, describe(n))
	}
	return n.Value, nil
}

// labels reads a rule's labels, sorted by key.
func (p parser) labels(n *yaml.Node) ([]label, error) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return nil, p.fail(n, "labels is %s, want keys with values such as {pool: batch}", describe(n))
	}
	var labels []label
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			return nil, p.fail(value, "label %q is %s, want a text", key.Value, describe(value))
		}
		if at := slices.IndexFunc(labels, func(l label) bool { return l.key == key.Value }); at >= 0 {
			return nil, p.fail(key, "label %q is there twice: keep one", key.Value)
		}
		labels = append(labels, label{key.Value, value.Value})
	}
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.key, b.key) })
	return labels, nil
}

// covers reports whether r matches whatever o matches, as far as their texts say.
func (r *rule) covers(o *rule) bool {
	if r.spot != nil && (o.spot == nil || *r.spot != *o.spot) {
		return false
	}
	for a := range r.texts {
		if !matchText(r.texts[a], o.texts[a], attributes[a].anyCase) {
			return false
		}
	}
	for _, l := range r.labels {
		if !slices.Contains(o.labels, l) {
			return false
		}
	}
	return true
}

// resolve is the node that an alias stands for, or n.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// describe says what n is instead of what was wanted.
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
