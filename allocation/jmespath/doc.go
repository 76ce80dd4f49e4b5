// Package jmespath is Kyverno's dialect of JMESPath: the query language for JSON-like values, with functions for what
// Kubernetes objects hold: quantities, durations, labels, versions, images, times and certificates.
//
// The grammar and its tree are those of the library that Kyverno itself uses, github.com/kyverno/go-jmespath. Trees are
// evaluated here, by the same rules, because queries come from anywhere: what an evaluation may read, build and return is
// bounded and ends with its context, objects are walked in the order of their keys, so that an answer is always the same,
// inputs are never changed, and errors are reported where the library drops them: left of [] and [?…].
//
// The dialect's rule for keys that are not there: a plain field, as the whole expression or within a path, is an
// UnknownKeyError. On either side of ||, left of &&, behind ! and around |, in projections, multi-selects, arguments and
// comparisons it is null.
//
// Values are those of encoding/json: nil, bool, float64, string, []any and map[string]any. Results may share parts with
// the input and with the expression; neither is to be changed.
package jmespath
