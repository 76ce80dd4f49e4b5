package jmespath

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// officialFunctions returns the functions of JMESPath itself.
func officialFunctions() []function {
	unary := func(f func(float64) float64) func(*call) (any, error) {
		return func(c *call) (any, error) { return f(c.number(0)), nil }
	}
	return []function{
		{"abs", "number", "number", "absolute value", unary(math.Abs), false},
		{"avg", "array[number]", "number", "mean of the numbers, null if there are none", average, false},
		{"ceil", "number", "number", "the next whole number above", unary(math.Ceil), false},
		{"contains", "array|string, any", "boolean", "whether the array has the element, or the string the part", contains, false},
		{"ends_with", "string, string", "boolean", "whether the first string ends with the second", func(c *call) (any, error) {
			return strings.HasSuffix(c.text(0), c.text(1)), nil
		}, false},
		{"floor", "number", "number", "the next whole number below", unary(math.Floor), false},
		{"join", "string, array[string]", "string", "the strings with the first argument between them", join, false},
		{"keys", "object", "array", "the keys, sorted", keysOf, false},
		{"length", "array|object|string", "number", "how many elements, members or characters", length, false},
		{"map", "expref, array", "array", "the expression over each element", mapOver, false},
		{"max", "array[number]|array[string]", "number|string", "the largest, null if there are none", extreme(1), false},
		{"max_by", "array, expref", "any", "the element over which the expression is largest", extremeBy(1), false},
		{"merge", "object…", "object", "one object with all members; later ones win", merge, false},
		{"min", "array[number]|array[string]", "number|string", "the smallest, null if there are none", extreme(-1), false},
		{"min_by", "array, expref", "any", "the element over which the expression is smallest", extremeBy(-1), false},
		{"not_null", "any…", "any", "the first argument that is not null", func(c *call) (any, error) {
			i := slices.IndexFunc(c.args, func(v any) bool { return v != nil })
			return c.args[max(i, 0)], nil
		}, false},
		{"reverse", "array|string", "array|string", "back to front", reverse, false},
		{"sort", "array[number]|array[string]", "array", "in ascending order", sorted, false},
		{"sort_by", "array, expref", "array", "in ascending order of the expression over each element", sortBy, false},
		{"starts_with", "string, string", "boolean", "whether the first string starts with the second", func(c *call) (any, error) {
			return strings.HasPrefix(c.text(0), c.text(1)), nil
		}, false},
		{"to_array", "any", "array", "the array, or an array of the one value", func(c *call) (any, error) {
			if list, ok := c.args[0].([]any); ok {
				return list, nil
			}
			return []any{c.args[0]}, nil
		}, false},
		{"to_number", "any", "number", "the number that a string is, null where it is none", toNumber, false},
		{"to_string", "any", "string", "the string, or the value as JSON", toString, false},
		{"type", "any", "string", "number, string, boolean, array, object or null", func(c *call) (any, error) { return typeOf(c.args[0]), nil }, false},
		{"values", "object", "array", "the values, in the order of their keys", func(c *call) (any, error) { return c.values(c.object(0)) }, false},
	}
}

func average(c *call) (any, error) {
	list := c.list(0)
	if len(list) == 0 {
		return nil, nil
	}
	total := 0.0
	for _, v := range list {
		total += v.(float64)
	}
	return c.finite(total / float64(len(list)))
}

// finite returns a number, or an error if JSON cannot write the number.
func (c *call) finite(v float64) (any, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("function %s: result is out of range: use smaller numbers", c.name)
	}
	return v, nil
}

func contains(c *call) (any, error) {
	if text, ok := c.args[0].(string); ok {
		part, ok := c.args[1].(string)
		return ok && strings.Contains(text, part), c.charge(len(text) / 16)
	}
	for _, v := range c.list(0) {
		if same, err := c.equal(v, c.args[1]); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func join(c *call) (any, error) {
	texts, size := make([]string, len(c.list(1))), 0
	for i, v := range c.list(1) {
		texts[i] = v.(string)
		size += len(texts[i]) + len(c.text(0))
	}
	if err := c.build(size + slotSize*len(texts)); err != nil {
		return nil, err
	}
	return strings.Join(texts, c.text(0)), nil
}

func keysOf(c *call) (any, error) {
	keys := []any{}
	for _, key := range slices.Sorted(maps.Keys(c.object(0))) {
		keys = append(keys, key)
	}
	return keys, c.build(2 * slotSize * len(keys))
}

func length(c *call) (any, error) {
	switch v := c.args[0].(type) {
	case string:
		return float64(utf8.RuneCountInString(v)), c.charge(len(v) / 64)
	case []any:
		return float64(len(v)), nil
	}
	return float64(len(c.object(0))), nil
}

func mapOver(c *call) (any, error) {
	expr, list := c.args[0].(exprRef).expr, c.list(1)
	out := make([]any, len(list))
	if err := c.build(slotSize * len(out)); err != nil {
		return nil, err
	}
	for i, v := range list {
		got, err := c.optional(expr, v)
		if err != nil {
			return nil, err
		}
		out[i] = got
	}
	return out, nil
}

func merge(c *call) (any, error) {
	size := 0
	for i := range c.args {
		size += len(c.object(i))
	}
	if err := c.build(entrySize * size); err != nil {
		return nil, err
	}
	out := make(map[string]any, size)
	for i := range c.args {
		maps.Copy(out, c.object(i))
	}
	return out, nil
}

// order compares two numbers, or two strings.
func order(a, b any) int {
	if a, ok := a.(float64); ok {
		return cmp.Compare(a, b.(float64))
	}
	return strings.Compare(a.(string), b.(string))
}

// extreme is max for sign 1 and min for sign -1.
func extreme(sign int) func(*call) (any, error) {
	return func(c *call) (any, error) {
		if len(c.list(0)) == 0 {
			return nil, nil
		}
		return slices.MaxFunc(c.list(0), func(a, b any) int { return sign * order(a, b) }), c.charge(len(c.list(0)))
	}
}

// keyed is an element, and the value of an expression over the element.
type keyed struct{ key, value any }

// byKey evaluates the expression that is argument 2 over each element of argument 1: all numbers, or all strings.
func (c *call) byKey() ([]keyed, error) {
	list, want := make([]keyed, len(c.list(0))), ""
	if err := c.build(2 * slotSize * len(list)); err != nil {
		return nil, err
	}
	for i, v := range c.list(0) {
		key, err := c.optional(c.args[1].(exprRef).expr, v)
		if err != nil {
			return nil, err
		}
		kind := typeOf(key)
		if kind != "number" && kind != "string" || i > 0 && kind != want {
			return nil, fmt.Errorf("function %s: argument 2 is %s over element %d of argument 1: want all numbers, or all strings", c.name, show(key), i)
		}
		list[i], want = keyed{key, v}, kind
	}
	return list, c.charge(len(list) * 16)
}

func extremeBy(sign int) func(*call) (any, error) {
	return func(c *call) (any, error) {
		list, err := c.byKey()
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return slices.MaxFunc(list, func(a, b keyed) int { return sign * order(a.key, b.key) }).value, nil
	}
}

func sortBy(c *call) (any, error) {
	list, err := c.byKey()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return order(a.key, b.key) })
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i].value
	}
	return out, nil
}

func sorted(c *call) (any, error) {
	if err := c.build(slotSize * len(c.list(0))); err != nil {
		return nil, err
	}
	out := slices.Clone(c.list(0))
	slices.SortFunc(out, order)
	return out, c.charge(len(out) * 16)
}

func reverse(c *call) (any, error) {
	if text, ok := c.args[0].(string); ok {
		if err := c.build(4 * len(text)); err != nil {
			return nil, err
		}
		runes := []rune(text)
		slices.Reverse(runes)
		return string(runes), nil
	}
	if err := c.build(slotSize * len(c.list(0))); err != nil {
		return nil, err
	}
	out := slices.Clone(c.list(0))
	slices.Reverse(out)
	return out, nil
}

func toNumber(c *call) (any, error) {
	switch v := c.args[0].(type) {
	case float64:
		return v, nil
	case string:
		if len(v) > 0 && strings.Trim(v, "0123456789.eE+-") == "" {
			if number, err := strconv.ParseFloat(v, 64); err == nil {
				return number, nil
			}
		}
	}
	return nil, nil
}

func toString(c *call) (any, error) {
	if text, ok := c.args[0].(string); ok {
		return text, nil
	}
	if err := c.measure(c.args[0], 0); err != nil {
		return nil, err
	}
	text, err := json.Marshal(c.args[0])
	if err != nil {
		return nil, c.fail(0, "write as JSON: %w", err)
	}
	return c.made(string(text))
}
