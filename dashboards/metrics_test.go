package dashboards_test

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/costseries"
)

// targetLabels are those that a scrape adds to every series.
var targetLabels = []string{"instance", "job"}

// parse reads what a Prometheus without feature flags does.
var parse = parser.NewParser(parser.Options{})

// oneHour is a Ledger whose last closed hour is empty.
type oneHour struct{ set *allocation.Set }

func (h oneHour) Latest() (*allocation.Set, time.Time, error) { return h.set, h.set.Window.End, nil }

// served are the labels of every metric that promcost exports, by name: the metrics of the families table, and those that the
// program registers.
func served(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{}
	for _, s := range metering.Subjects() {
		for _, f := range s.Families() {
			metrics[f.Name] = f.Labels
		}
	}
	for _, f := range costseries.UsageFamilies() {
		metrics[f.Name] = f.Labels
	}
	for _, family := range gather(t) {
		names := []string{}
		for _, pair := range family.GetMetric()[0].GetLabel() {
			names = append(names, pair.GetName())
		}
		suffixes := []string{""}
		if family.GetType() == histogramType {
			suffixes = []string{"_sum", "_count"}
			metrics[family.GetName()+"_bucket"] = append(slices.Clone(names), "le")
		}
		for _, suffix := range suffixes {
			metrics[family.GetName()+suffix] = names
		}
	}
	return metrics
}

// exported are served, what rules record of them, and what a Prometheus says of its targets.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	metrics := served(t)
	metrics["up"] = nil
	for _, rule := range ruleList(t) {
		if rule.Record != "" {
			expr, err := parse.ParseExpr(rule.Expr)
			if err != nil {
				t.Fatalf("%s: %v", rule.Record, err)
			}
			metrics[rule.Record] = resultLabels(expr)
		}
	}
	return metrics
}

// resultLabels are the labels of the result of an aggregation, or of a ratio of aggregations.
func resultLabels(expr parser.Expr) []string {
	switch e := expr.(type) {
	case *parser.AggregateExpr:
		return e.Grouping
	case *parser.BinaryExpr:
		return resultLabels(e.LHS)
	default:
		return nil
	}
}

// checkExpr parses an expression and looks up its metrics and labels.
func checkExpr(t *testing.T, text string, metrics map[string][]string) {
	t.Helper()
	expr, err := parse.ParseExpr(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	labels := slices.Clone(targetLabels) // of the series that the expression reads
	var grouping []string                // labels that it sums by or matches on
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			own, ok := metrics[n.Name]
			if !ok {
				t.Errorf("promcost exports no metric %q", n.Name)
			}
			labels = append(labels, own...)
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel && !slices.Contains(own, m.Name) && !slices.Contains(targetLabels, m.Name) {
					t.Errorf("metric %s has no label %q", n.Name, m.Name)
				}
			}
		case *parser.AggregateExpr:
			grouping = append(grouping, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				grouping = append(grouping, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	for _, name := range grouping {
		if !slices.Contains(labels, name) {
			t.Errorf("no metric of the expression has a label %q", name)
		}
	}
}
