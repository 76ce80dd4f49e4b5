package jmespath

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// truthy reports whether v is neither null, false nor empty.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// equal compares values deeply.
func (r *run) equal(a, b any) (bool, error) {
	if err := r.charge(1); err != nil {
		return false, err
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for i := range a {
			if same, err := r.equal(a[i], b[i]); !same {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok {
				return false, nil
			}
			if same, err := r.equal(value, other); !same {
				return false, err
			}
		}
		return true, nil
	case string:
		b, ok := b.(string)
		return ok && a == b, r.charge(len(a) / 256)
	case float64:
		b, ok := b.(float64)
		return ok && a == b, nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b, nil
	}
	return a == nil && b == nil, nil
}

// measure counts what v takes as JSON: parts that a value holds several times count as often.
func (r *run) measure(v any, depth int) error {
	const maxLevels = 10_000 // the nesting that JSON decoders accept
	if depth > maxLevels {
		return fmt.Errorf("result is nested deeper than %d levels: select less", maxLevels)
	}
	switch v := v.(type) {
	case nil, bool, float64:
		return r.build(8)
	case string:
		return r.build(len(v) + 2)
	case []any:
		if err := r.build(2); err != nil {
			return err
		}
		for _, item := range v {
			if err := r.measure(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if err := r.build(2); err != nil {
			return err
		}
		for key, item := range v {
			if err := r.build(len(key) + 3); err != nil {
				return err
			}
			if err := r.measure(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	case exprRef:
		return errors.New("result is an expression: leave the & out")
	}
	return fmt.Errorf("result holds a %T, which JSON has not", v)
}

// typeOf is the name of a value's type.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "expref"
}

// show is a value as it stands in errors, shortened.
func show(v any) string {
	const most = 60
	switch v := v.(type) {
	case []any, map[string]any:
		return "an " + typeOf(v)
	case exprRef:
		return "an expression"
	case string:
		if runes := []rune(v[:min(len(v), 4*most)]); len(runes) > most {
			return strconv.Quote(string(runes[:most])) + "…"
		}
		return strconv.Quote(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// asText is a string, or a number as text.
func asText(v any) string {
	if number, ok := v.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return v.(string)
}

// whole returns a number as an integer, if it is one that a float64 holds exactly.
func whole(v float64) (int, bool) {
	const exact = 1 << 53
	return int(v), v == math.Trunc(v) && math.Abs(v) <= exact
}
