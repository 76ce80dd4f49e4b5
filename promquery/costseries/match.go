package costseries

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
)

// selection is a family that a query selects, and what of it.
type selection struct {
	*family
	any [][]matching // by selector, those of labels; what the family has no label for is left out
	// by are the labels that series are summed by, and names theirs; all of the family's where they are not summed.
	by      []int
	names   []string
	summed  bool
	reader  *allocation.SeriesReader // nil where it is of a set itself
	numbers []int32                  // of the loader's series, by those of the reader
	known   []string                 // values that have such a number, where there is no reader
}

// matching is a matcher of a label of a family.
type matching struct {
	label int
	*labels.Matcher
	ctx context.Context // of the select
}

// Matches shadows that of the matcher.
func (m matching) Matches(v string) bool {
	if (m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp) && m.ctx.Err() != nil {
		return false
	}
	return m.Matcher.Matches(v)
}

// selections are the families that any of the selectors may match, by name. Once ctx ends, regular expressions match nothing:
// each value may take long.
func (q *Queryable) selections(ctx context.Context, hints *storage.SelectHints, selectors ...[]*labels.Matcher) []*selection {
	var list []*selection
	for i := range q.families {
		s := &selection{family: &q.families[i]}
		for _, matchers := range selectors {
			s.match(ctx, matchers)
		}
		if len(s.any) > 0 {
			s.group(hints)
			s.read()
			list = append(list, s)
		}
	}
	return list
}

// match sorts the matchers of a selector out, and adds those of labels where there may be series of the family that it matches.
func (s *selection) match(ctx context.Context, matchers []*labels.Matcher) {
	var list []matching
	for _, m := range matchers {
		switch l := slices.Index(s.labels, m.Name); {
		case l >= 0:
			list = append(list, matching{l, m, ctx})
		case m.Name == model.MetricNameLabel:
			if !m.Matches(s.name) {
				return
			}
		case !m.Matches(""):
			return
		}
	}
	s.any = append(s.any, list)
}

// group makes the sums by labels that the engine is about to make of the series, and of nothing else. All series have their
// samples at the same times, and stale markers where they end, so that the sum of the last samples is the last sample of
// the sums.
func (s *selection) group(hints *storage.SelectHints) {
	if hints != nil && hints.Func == "sum" && hints.By && hints.Range == 0 && s.sums {
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

// read makes the reader.
func (s *selection) read() {
	if s.set != nil || s.budget {
		return
	}
	o := allocation.SeriesOptions{Keep: make([]func(string) bool, len(s.labels)), Summed: s.summed, By: s.by}
	for l := range s.labels {
		o.Keep[l] = s.keep(l)
	}
	s.reader = s.subject.Reader(s.of, o)
}

// keep says which values of a label any selector may match; nil for any. Of several selectors, that is not all that they say.
func (s *selection) keep(label int) func(string) bool {
	of := make([][]matching, len(s.any))
	for i, list := range s.any {
		of[i] = slices.DeleteFunc(slices.Clone(list), func(m matching) bool { return m.label != label })
		if len(of[i]) == 0 {
			return nil
		}
	}
	if len(of) == 1 {
		return func(v string) bool {
			return !slices.ContainsFunc(of[0], func(m matching) bool { return !m.Matches(v) })
		}
	}
	known := map[string]bool{}
	return func(v string) bool {
		kept, ok := known[v]
		if !ok {
			kept = slices.ContainsFunc(of, func(list []matching) bool {
				return !slices.ContainsFunc(list, func(m matching) bool { return !m.Matches(v) })
			})
			known[v] = kept
		}
		return kept
	}
}

// matches reports whether the series of these labels is selected.
func (s *selection) matches(values []string) bool {
	return slices.ContainsFunc(s.any, func(list []matching) bool {
		return !slices.ContainsFunc(list, func(m matching) bool { return !m.Matches(values[m.label]) })
	})
}

// number is the number of the series of these labels, where there is no reader that has one.
func (s *selection) number(values []string) int {
	key := strings.Join(values, "\xff")
	n := slices.Index(s.known, key)
	if n < 0 {
		n, s.known = len(s.known), append(s.known, key)
	}
	return n
}

// identity are the labels of the series of these values of what it is summed by.
func (s *selection) identity(b *labels.ScratchBuilder, values []string) labels.Labels {
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
