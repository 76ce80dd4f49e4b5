package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation/caret"
)

// readKeys reads the mapping n into to, key by key. Errors call the mapping what.
func readKeys[T any](to *T, what string, n *yaml.Node, rows []key[T]) error {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].name
	}
	return eachKey(n, what, func(key, n *yaml.Node) error {
		i := slices.Index(names, key.Value)
		if i < 0 {
			return atLine(key, "unknown key %q in %s: %s", key.Value, what, nearOf(key.Value, names))
		}
		return rows[i].set(to, n)
	})
}

// eachKey calls read for each key of the mapping n. Errors call the mapping what.
func eachKey(n *yaml.Node, what string, read func(key, value *yaml.Node) error) error {
	if n = follow(n); n.Kind != yaml.MappingNode {
		return atLine(n, "%s is not made of keys with values", what)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line, ok := seen[key.Value]; ok {
			return atLine(key, "key %q of %s is there twice, first on line %d: keep one", key.Value, what, line)
		}
		seen[key.Value] = key.Line
		if err := read(key, follow(n.Content[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// nearOf says which key to use in place of an unknown one.
func nearOf(key string, known []string) string {
	if near := caret.Nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "use " + strings.Join(known, ", ")
}

// atLine returns an error that names the line of n.
func atLine(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", n.Line, fmt.Errorf(format, args...))
}

// follow is the node that an alias stands for, or n.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// textOf reads a text, which is not empty.
func textOf(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return "", atLine(n, "%s is no text: give one, or leave the key out", what)
	}
	return n.Value, nil
}

// textsOf reads a text or a list of them.
func textsOf(n *yaml.Node, what string) ([]string, error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		text, err := textOf(n, what)
		return []string{text}, err
	}
	texts := make([]string, 0, len(n.Content))
	for _, item := range n.Content {
		text, err := textOf(follow(item), what)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// numberOf reads a number, which is finite and not negative.
func numberOf(n *yaml.Node, what string) (float64, error) {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, atLine(n, "%s is %q, want a number of 0 or more", what, n.Value)
	}
	return v, nil
}
