package main

import (
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// secretFlags are the flags whose values may hold a secret, with functions that hide it.
var secretFlags = map[string]func(text string) string{
	"prometheus.url":         redacted,
	"prometheus.query-param": withoutValues,
}

// withoutValues are the names of NAME=VALUE pairs.
func withoutValues(text string) string {
	pairs := strings.Split(text, ",")
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok {
			pairs[i] = name + "=<secret>"
		} else if text != "" {
			pairs[i] = "<secret>" // the rest of a value with a comma
		}
	}
	return strings.Join(pairs, ",")
}

// givenFlags are the flags of a command and of the program with their values, as /api/v1/status/flags shows them.
func givenFlags(clause *kingpin.CmdClause, logs *logFlags) map[string]string {
	values := map[string]string{}
	for _, f := range append(logs.program(), clause.Model().Flags...) {
		text := f.Value.String()
		if show := secretFlags[f.Name]; show != nil && text != "" {
			text = show(text)
		}
		values[f.Name] = text
	}
	return values
}
