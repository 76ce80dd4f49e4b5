package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
		d, err := derive(name.Value, text, &c.labels)
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

// needsOf are the properties that an expression reads, and the aliases among them.
func needsOf(e *jmespath.Expression) (needs []allocation.Property, aliases []string, err error) {
	known := sortedKeys(allocation.DefaultLabelMapping())
	keys, all := e.Keys()
	for _, key := range keys {
		if slices.Contains(known, key) {
			aliases = append(aliases, key)
		}
	}
	for p := range allocation.NumProperties {
		if p == allocation.PodUID { // not served
			continue
		}
		known = append(known, p.String())
		behind := len(aliases) > 0 && (p == allocation.Labels || p == allocation.Annotations)
		if all || behind || slices.Contains(keys, p.String()) {
			needs = append(needs, p)
		}
	}
	for _, key := range keys {
		if !slices.Contains(known, key) {
			return nil, nil, fmt.Errorf("there is no property %q to compute from: %s", key, nearOf(key, known))
		}
	}
	return needs, aliases, nil
}

// propertySteps bounds the evaluation of a property for one workload: there may be as many as there are rows.
const propertySteps = 100_000

// derive makes a property of an expression. Aliases stand for what labels say once the config is read; nil is the default.
func derive(name, text string, labels *allocation.LabelMapping) (*allocation.Derived, error) {
	e, err := jmespath.Compile(text)
	if err != nil {
		return nil, err
	}
	if f := e.Volatile(); f != "" {
		return nil, fmt.Errorf("function %s may give something else each time: use what depends on the properties alone", f)
	}
	needs, aliases, err := needsOf(e)
	if err != nil {
		return nil, err
	}
	known := allocation.NewLabelNames(e.Fields()...)
	options := jmespath.Options{Steps: propertySteps, Member: func(object map[string]any, key string) (any, bool) {
		return memberOf(object, known.Name(key))
	}}
	return allocation.NewDerived(name, needs, func(properties map[string]any) (string, error) {
		// What cannot be evaluated is missing, as a label is: rows differ in what they have.
		v, err := e.Search(context.Background(), withAliases(properties, aliases, *labels, known), options)
		if _, missing := errors.AsType[*jmespath.UnknownKeyError](err); missing {
			return "", &allocation.MissingError{Cause: err}
		}
		if err != nil {
			return "", err
		}
		return textOfProperty(v)
	})
}

// textOfProperty is a result as the text of a property, "" for null.
func textOfProperty(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool:
		return strconv.FormatBool(v), nil
	case []any:
		return "", errors.New("the result is a list: select one element, such as [0], or join them")
	}
	return "", errors.New("the result is a map: select one member")
}

// memberOf finds a label or an annotation as filters do.
func memberOf(object map[string]any, name allocation.LabelName) (value any, ok bool) {
	texts := make(map[string]string, len(object))
	for key, value := range object {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	text, ok := allocation.FindLabel(&name, texts)
	return text, ok
}

// withAliases are properties with aliases among them: the label, else the annotation that each stands for, joined by
// slashes where it stands for several.
func withAliases(properties map[string]any, aliases []string, mapping allocation.LabelMapping, known allocation.LabelNames) map[string]any {
	if len(aliases) == 0 {
		return properties
	}
	if mapping == nil {
		mapping = allocation.DefaultLabelMapping()
	}
	properties = maps.Clone(properties)
	for _, alias := range aliases {
		var values []string
		for _, name := range mapping[alias] {
			for _, of := range []allocation.Property{allocation.Labels, allocation.Annotations} {
				object, _ := properties[of.String()].(map[string]any)
				value, _ := memberOf(object, known.Name(name))
				if text, _ := value.(string); text != "" {
					values = append(values, text)
					break
				}
			}
		}
		if len(values) > 0 {
			properties[alias] = strings.Join(values, "/")
		}
	}
	return properties
}
