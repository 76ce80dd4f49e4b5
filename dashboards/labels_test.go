package dashboards_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// within are the labels without which another names several things: clusters have namespaces of the same names, and so on.
var within = map[string][]string{
	"namespace":        {"cluster"},
	"controller":       {"cluster", "namespace", "controller_kind"},
	"node":             {"cluster"},
	"pod":              {"cluster", "namespace"},
	"container":        {"cluster", "namespace", "pod"},
	"persistentvolume": {"cluster"},
	"service":          {"cluster", "namespace"},
	"budget":           {"period"},
}

// checkGrouping wants that nothing is summed over things which only share a name.
func checkGrouping(t *testing.T, text string) {
	t.Helper()
	expr, err := parse.ParseExpr(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var by []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			by = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil && n.VectorMatching.On {
				by = n.VectorMatching.MatchingLabels
			}
		}
		for _, label := range by {
			if label == "service" && slices.Contains(by, "provider") {
				continue // a service of a cloud provider is in no cluster
			}
			for _, needed := range within[label] {
				if needed == "pod" && slices.Contains(by, "controller") {
					continue // a container of all of its controller's pods
				}
				if !slices.Contains(by, needed) {
					t.Errorf("by %v: %s means nothing without %s: %s", by, label, needed, text)
				}
			}
		}
		return nil
	})
}

// TestNothingIsSummedByItsNameAlone checks panels, rules and legends: things in different namespaces or clusters are not summed
// because they have the same name.
func TestNothingIsSummedByItsNameAlone(t *testing.T) {
	for _, b := range readBoards(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				t.Run(fmt.Sprintf("%s/%s/%s", b.UID, p.Title, q.RefID), func(t *testing.T) {
					text := values.Replace(q.Expr)
					checkGrouping(t, text)
					expr, err := parse.ParseExpr(text)
					if err != nil {
						t.Fatal(err)
					}
					for _, label := range resultLabels(expr) {
						if q.Range && !strings.Contains(q.Legend, "{{"+label+"}}") {
							t.Errorf("the legend %q does not tell series by %s apart", q.Legend, label)
						}
					}
				})
			}
		}
	}
	for _, rule := range ruleList(t) {
		t.Run(rule.Alert+rule.Record, func(t *testing.T) { checkGrouping(t, rule.Expr) })
	}
}
