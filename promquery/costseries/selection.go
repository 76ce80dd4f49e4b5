package costseries

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation/metering"
)

// selection is what a query selects of a family.
type selection struct {
	*family
	selectors [][]labelMatcher // the matchers of each selector for labels that the family has
	// by are the labels by which series are summed, and names their names. They are all labels of the family unless summed is
	// set.
	by     []int
	names  []string
	summed bool
	reader *metering.SeriesReader // nil for metrics about a set as a whole, and for those that need more than one
	series []int32                // the loader's series by number within the selection
	known  map[string]int         // numbers by the values of labels, if there is no reader to number them
}

// labelMatcher is a matcher for a label of a family.
type labelMatcher struct {
	label int // index of the label within the family
	*labels.Matcher
	ctx context.Context // of the call of Select
}

// Matches is the matcher's Matches. Once the context has ended, a regular expression matches nothing: each value may take long.
func (m labelMatcher) Matches(v string) bool {
	if (m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp) && m.ctx.Err() != nil {
		return false
	}
	return m.Matcher.Matches(v)
}

// selections are the families that any of the selectors may match, by name.
func (q *Queryable) selections(ctx context.Context, hints *storage.SelectHints, selectors ...[]*labels.Matcher) []*selection {
	var list []*selection
	for i := range q.families {
		s := &selection{family: &q.families[i]}
		for _, matchers := range selectors {
			s.match(ctx, matchers)
		}
		if len(s.selectors) > 0 {
			s.group(hints)
			s.makeReader()
			list = append(list, s)
		}
	}
	return list
}

// match adds a selector, unless it can match no series of the family.
func (s *selection) match(ctx context.Context, matchers []*labels.Matcher) {
	var list []labelMatcher
	for _, m := range matchers {
		switch l := slices.Index(s.labels, m.Name); {
		case l >= 0:
			list = append(list, labelMatcher{l, m, ctx})
		case m.Name == model.MetricNameLabel:
			if !m.Matches(s.name) {
				return
			}
		case !m.Matches(""):
			return
		}
	}
	s.selectors = append(s.selectors, list)
}

// group sums series while they are read if the hints say that the engine first sums them by labels. This changes no answer: all
// series have their samples at the same times, and stale markers where they end, so the sum of the last samples is the last sample
// of the sum.
func (s *selection) group(hints *storage.SelectHints) {
	if hints != nil && hints.Func == "sum" && hints.By && hints.Range == 0 && s.summable {
		s.summed = true
		for l, name := range s.labels {
			if slices.Contains(hints.Grouping, name) {
				s.by, s.names = append(s.by, l), append(s.names, name)
			}
		}
		return
	}
	s.names = s.labels
	for l := range s.labels {
		s.by = append(s.by, l)
	}
}

// makeReader makes the reader, where the table of families has one.
func (s *selection) makeReader() {
	if s.set != nil || s.budget || s.expects || s.histograms != nil {
		return
	}
	o := metering.SeriesOptions{Keep: make([]func(string) bool, len(s.labels)), Summed: s.summed, By: s.by}
	for l := range s.labels {
		o.Keep[l] = s.keep(l)
	}
	s.reader = s.subject.Reader(s.row, o)
}

// keep reports for values of a label whether some selector may match them; nil means that all may match. Two selectors with two
// labels each say more than this, so series have to be matched again.
func (s *selection) keep(label int) func(string) bool {
	lists := make([][]labelMatcher, len(s.selectors))
	for i, list := range s.selectors {
		lists[i] = slices.DeleteFunc(slices.Clone(list), func(m labelMatcher) bool { return m.label != label })
		if len(lists[i]) == 0 {
			return nil
		}
	}
	if len(lists) == 1 {
		return func(v string) bool {
			return !slices.ContainsFunc(lists[0], func(m labelMatcher) bool { return !m.Matches(v) })
		}
	}
	known := map[string]bool{}
	return func(v string) bool {
		kept, ok := known[v]
		if !ok {
			kept = slices.ContainsFunc(lists, func(list []labelMatcher) bool {
				return !slices.ContainsFunc(list, func(m labelMatcher) bool { return !m.Matches(v) })
			})
			known[v] = kept
		}
		return kept
	}
}

// matches reports whether the series of these labels is selected.
func (s *selection) matches(values []string) bool {
	return slices.ContainsFunc(s.selectors, func(list []labelMatcher) bool {
		return !slices.ContainsFunc(list, func(m labelMatcher) bool { return !m.Matches(values[m.label]) })
	})
}

// number is the number of the series with these values of labels, if there is no reader to number them.
func (s *selection) number(values []string) int {
	key := strings.Join(values, "\xff")
	n, ok := s.known[key]
	if !ok {
		if s.known == nil {
			s.known = map[string]int{}
		}
		n = len(s.known)
		s.known[key] = n
	}
	return n
}

// labelSet are the labels of the series with these values of the labels that series are summed by.
func (s *selection) labelSet(b *labels.ScratchBuilder, values []string) labels.Labels {
	b.Reset()
	b.Add(model.MetricNameLabel, s.name)
	for i, name := range s.names {
		if values[i] != "" {
			b.Add(name, values[i])
		}
	}
	b.Sort()
	return b.Labels()
}
