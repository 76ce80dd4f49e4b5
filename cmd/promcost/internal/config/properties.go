package config

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
	"github.com/promcost/promcost/allocation/labelnames"
)

// readProperties reads the properties that are derived from others.
func (f *File) readProperties(n *yaml.Node) error {
	f.Properties = map[string]string{}
	err := eachKey(n, "properties", func(name, n *yaml.Node) error {
		what := "properties." + name.Value
		text, err := textOf(n, what)
		if err != nil {
			return err
		}
		d, err := derive(name.Value, text, &f.Labels)
		if err != nil {
			return atLine(name, "%s: %w", what, err)
		}
		for known := range f.Properties {
			if strings.EqualFold(known, name.Value) {
				return atLine(name, "%s differs from %s in case only: give it another name", what, known)
			}
		}
		f.Properties[name.Value] = text
		f.Derived = append(f.Derived, d)
		return nil
	})
	slices.SortFunc(f.Derived, func(a, b *allocation.Derived) int { return strings.Compare(a.Name(), b.Name()) })
	return err
}

// needsOf returns the properties that an expression reads, and the aliases of labels among its keys.
func needsOf(e *jmespath.Expression) (needs []allocation.Property, aliases []string, err error) {
	known := slices.Sorted(maps.Keys(allocation.DefaultLabelMapping()))
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

// propertySteps bounds the steps that evaluate a property of one row: there may be many rows.
const propertySteps = 100_000

// derive compiles an expression to a property. Aliases stand for what labels says once the whole file is read; nil is the API's
// own mapping.
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
	known := labelnames.NewNames(e.Fields()...)
	return allocation.NewDerived(name, needs, func(properties map[string]any) (string, error) {
		// An expression that cannot be evaluated for a row is missing there, as a label may be.
		find := members{known: known}
		v, err := e.Search(context.Background(), find.withAliases(properties, aliases, *labels), jmespath.Options{Steps: propertySteps, Member: find.member})
		_, missing := errors.AsType[*jmespath.UnknownKeyError](err)
		switch {
		case missing && find.clash == nil:
			return "", &allocation.MissingError{Cause: err}
		case err != nil && !missing:
			return "", err
		}
		text, err := textOfProperty(v)
		if err == nil && find.clash != nil {
			err = find.clash
		}
		return text, err
	})
}

// textOfProperty is a result of an expression as the text of a property, "" for null.
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

// members finds labels and annotations by the names that filters would find them by.
type members struct {
	known labelnames.Names
	clash *allocation.ClashError // of the first one that is not found because its name collides with others
}

// member looks up a name in an object of labels or annotations.
func (m *members) member(object map[string]any, key string) (value any, ok bool) {
	texts := make(map[string]string, len(object))
	for key, value := range object {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	name := m.known.Name(key)
	text, ok := labelnames.Find(&name, texts)
	if keys := labelnames.Clash(&name, texts); len(keys) > 0 && m.clash == nil {
		m.clash = &allocation.ClashError{Name: key, Keys: keys}
	}
	return text, ok
}

// withAliases adds aliases to properties. An alias is the label that it stands for, or else the annotation. If it stands for
// several, their values are joined by slashes.
func (m *members) withAliases(properties map[string]any, aliases []string, mapping allocation.LabelMapping) map[string]any {
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
				value, _ := m.member(object, name)
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
