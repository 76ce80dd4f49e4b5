package upstream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// Limits say which series of the server may be read. They hold by the labels that the server keeps, to which external labels do not belong.
// The zero value is all series.
type Limits struct {
	without []*labels.Matcher   // all series that may be read match these
	only    [][]*labels.Matcher // and one of these; none is any
}

// Exclude leaves series out that match m.
func (l *Limits) Exclude(m promquery.Matcher) error {
	matcher, err := chunks.Matcher(m)
	if err != nil {
		return err
	}
	if matcher, err = matcher.Inverse(); err != nil {
		return err
	}
	l.without = append(l.without, matcher)
	return nil
}

// Allow limits the series to those of a selector, in addition to those allowed before.
func (l *Limits) Allow(selector string) error {
	matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
	if err != nil {
		return fmt.Errorf(`it is no selector of series, write one such as up or {namespace="web"}: %w`, err)
	}
	if len(matchers) == 0 {
		return errors.New(`it selects all series: leave it out, or write a selector such as up or {namespace="web"}`)
	}
	l.only = append(l.only, matchers)
	return nil
}

// any reports whether some series may not be read.
func (l *Limits) any() bool { return len(l.without)+len(l.only) > 0 }

// narrowed are selectors of all that the given ones select and may be read. There is none where that is nothing. A selector without matchers is
// everything, and stays so where there are no limits.
func (l *Limits) narrowed(selectors ...[]*labels.Matcher) [][]*labels.Matcher {
	if !l.any() {
		return selectors
	}
	only := l.only
	if len(only) == 0 {
		only = [][]*labels.Matcher{nil}
	}
	var list [][]*labels.Matcher
	for _, asked := range selectors {
		for _, allowed := range only {
			matchers := slices.Concat(asked, allowed, l.without)
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches("") }) { // servers refuse it
				matchers = append(matchers, labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, ""))
			}
			if !contradictory(matchers) {
				list = append(list, matchers)
			}
		}
	}
	return list
}

// contradictory reports whether matchers ask for one name of a metric and refuse it: the server need not be asked.
func contradictory(matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual &&
			slices.ContainsFunc(matchers, func(o *labels.Matcher) bool { return o.Name == m.Name && !o.Matches(m.Value) }) {
			return true
		}
	}
	return false
}
