package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/jmespath"
)

// readProperties reads the properties that are derived from others.
func readProperties(c *config, n *yaml.Node) error {
	c.properties = map[string]string{}
	err := eachKey(n, "properties", func(name, n *yaml.Node) error {
		what := "properties." + name.Value
		text, err := textOf(n, what)
		if err != nil {
			return err
		}
		d, err := derive(name.Value, text)
		if err != nil {
			return atLine(name, "%s: %w", what, err)
		}
		for known := range c.properties {
			if strings.EqualFold(known, name.Value) {
				return atLine(name, "%s differs from %s in case only: give it another name", what, known)
			}
		}
		c.properties[name.Value] = text
		c.derived = append(c.derived, d)
		return nil
	})
	slices.SortFunc(c.derived, func(a, b *allocation.Derived) int { return strings.Compare(a.Name(), b.Name()) })
	return err
}

// needsOf are the properties that an expression reads.
func needsOf(e *jmespath.Expression) (needs []allocation.Property, err error) {
	var known []string
	keys, all := e.Keys()
	for p := range allocation.NumProperties {
		if p == allocation.PodUID { // not served
			continue
		}
		known = append(known, p.String())
		if all || slices.Contains(keys, p.String()) {
			needs = append(needs, p)
		}
	}
	for _, key := range keys {
		if slices.Contains(known, key) {
			continue
		}
		return nil, fmt.Errorf("there is no property %q: %s", key, nearOf(key, known))
	}
	return needs, nil
}

// derive makes a property of an expression.
func derive(name, text string) (*allocation.Derived, error) {
	e, err := jmespath.Compile(text)
	if err != nil {
		return nil, err
	}
	if f := e.Volatile(); f != "" {
		return nil, fmt.Errorf("function %s may give something else each time: use what depends on the properties alone", f)
	}
	needs, err := needsOf(e)
	if err != nil {
		return nil, err
	}
	return allocation.NewDerived(name, needs, func(properties map[string]any) string {
		// What cannot be evaluated is missing, as a label is: rows differ in what they have.
		v, err := e.Search(context.Background(), properties, jmespath.Options{})
		if err != nil {
			return ""
		}
		switch v := v.(type) {
		case string:
			return v
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		case bool:
			return strconv.FormatBool(v)
		}
		return ""
	})
}
