package jmespath_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/promcost/promcost/allocation/jmespath"
)

// BenchmarkSearch evaluates over 10,000 allocations.
func BenchmarkSearch(b *testing.B) {
	set := map[string]any{}
	for i := range 10_000 {
		name := fmt.Sprintf("cluster/node-%d/namespace-%d/pod-%d/web", i%100, i%50, i)
		set[name] = map[string]any{"name": name, "totalCost": float64(i), "properties": map[string]any{
			"namespace": fmt.Sprintf("namespace-%d", i%50), "labels": map[string]any{"team": "a", "app": strconv.Itoa(i)},
		}}
	}
	given := []any{set}
	for name, text := range map[string]string{
		"projection": "[0].*.{name: name, cost: totalCost}",
		"filter":     "[0].*[] | [?properties.namespace == 'namespace-7'].totalCost | sum(@)",
		"sort":       "reverse(sort_by(values([0]), &totalCost))[:10].name",
		"patterns":   "[0].*.name | [?regex_match('/namespace-[0-9]+/', @)] | length(@)",
	} {
		b.Run(name, func(b *testing.B) {
			e, err := jmespath.Compile(text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Search(b.Context(), given, jmespath.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDerived evaluates the expression of a derived property.
func BenchmarkDerived(b *testing.B) {
	e, err := jmespath.Compile("labels.team || labels.owner || 'unowned'")
	if err != nil {
		b.Fatal(err)
	}
	given := map[string]any{"labels": map[string]any{"owner": "x", "app": "y"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Search(b.Context(), given, jmespath.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile parses an expression.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jmespath.Compile("labels.team || labels.owner || to_lower(namespace)"); err != nil {
			b.Fatal(err)
		}
	}
}
