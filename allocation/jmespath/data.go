package jmespath

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// dataFunctions parse, look up and put together.
func dataFunctions() []function {
	return []function{
		{"items", "object|array, string, string", "array[object]", "an object for each member or element, with the key or index under the second argument and the value under the third", items, false},
		{"lookup", "object|array, string|number", "any", "the member of that key, or the element of that index; null where there is none", lookup, false},
		{"object_from_lists", "array, array", "object", "the object of the keys in the first array and the values in the second", objectFromLists, false},
		{"parse_json", "string", "any", "the value that a string of JSON is", parseJSON, false},
		{"parse_yaml", "string", "any", "the value that a string of YAML is", parseYAML, false},
	}
}

func items(c *call) (any, error) {
	key, value := c.text(1), c.text(2)
	var out []any
	add := func(k, v any) error {
		out = append(out, map[string]any{key: k, value: v})
		return c.build(slotSize + 2*entrySize)
	}
	if list, ok := c.args[0].([]any); ok {
		for i, v := range list {
			if err := add(float64(i), v); err != nil {
				return nil, err
			}
		}
	} else {
		object := c.object(0)
		for _, k := range slices.Sorted(maps.Keys(object)) {
			if err := add(k, object[k]); err != nil {
				return nil, err
			}
		}
	}
	if out == nil {
		return []any{}, nil
	}
	return out, nil
}

func lookup(c *call) (any, error) {
	if list, ok := c.args[0].([]any); ok {
		number, ok := c.args[1].(float64)
		i, isWhole := whole(number)
		switch {
		case !ok || !isWhole:
			return nil, c.fail(1, "want a whole number, the index in an array")
		case i < 0 || i >= len(list):
			return nil, nil
		}
		return list[i], nil
	}
	key, ok := c.args[1].(string)
	if !ok {
		return nil, c.fail(1, "want a string, the key in an object")
	}
	return c.object(0)[key], nil
}

func objectFromLists(c *call) (any, error) {
	keys, values := c.list(0), c.list(1)
	if err := c.build(entrySize * len(keys)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(keys))
	for i, key := range keys {
		switch key.(type) {
		case string, float64:
		default:
			return nil, c.fail(0, "element %d is %s: want a string", i, show(key))
		}
		out[asText(key)] = nil
		if i < len(values) {
			out[asText(key)] = values[i]
		}
	}
	return out, nil
}

func parseJSON(c *call) (any, error) {
	if err := c.build(4 * len(c.text(0))); err != nil { // small values take that much more than their text
		return nil, err
	}
	var v any
	err := json.Unmarshal([]byte(c.text(0)), &v)
	var number *json.UnmarshalTypeError // any value takes every other type
	switch {
	case errors.As(err, &number):
		return nil, c.fail(0, "want JSON whose numbers are below 1.8e308")
	case err != nil:
		return nil, c.fail(0, "want JSON: %w", err)
	}
	return v, nil
}

func parseYAML(c *call) (any, error) {
	text := c.text(0)
	if len(text) > maxDocument {
		return nil, c.fail(0, "YAML of %d bytes: at most %d are allowed", len(text), maxDocument)
	}
	if err := c.build(16 * len(text)); err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return nil, c.fail(0, "want YAML: %s", strings.TrimPrefix(err.Error(), "error converting YAML to JSON: yaml: "))
	}
	return v, c.measure(v, 0) // aliases may have made it larger than its text
}
