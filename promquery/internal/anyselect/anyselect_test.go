package anyselect_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/promquery/internal/anyselect"
)

// querier has series without samples, and notes how many selectors it is called with.
type querier struct {
	storage.Querier
	names []string // of the series, sorted
	calls *[]int
}

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return q.selected([][]*labels.Matcher{matchers})
}

// selected are the series that any of the selectors, of one matcher each, matches.
func (q querier) selected(selectors [][]*labels.Matcher) storage.SeriesSet {
	*q.calls = append(*q.calls, len(selectors))
	var list []labels.Labels
	for _, name := range q.names {
		for _, matchers := range selectors {
			if matchers[0].Matches(name) {
				list = append(list, labels.FromStrings("__name__", name))
				break
			}
		}
	}
	return &seriesSet{SeriesSet: storage.EmptySeriesSet(), list: list}
}

// seriesSet is series without samples.
type seriesSet struct {
	storage.SeriesSet
	list []labels.Labels
	next int
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	s.next++
	return s.next <= len(s.list)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return storage.NewListSeries(s.list[s.next-1], nil) }

// anyQuerier takes several selectors at once.
type anyQuerier struct{ querier }

// SelectAny implements anyselect.Querier.
func (q anyQuerier) SelectAny(_ context.Context, _ *storage.SelectHints, selectors [][]*labels.Matcher) storage.SeriesSet {
	return q.selected(selectors)
}

// TestSelect gives each series once, in order, and asks once where the querier can.
func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		exprs []string
		any   bool
		want  []string
		calls []int
	}{
		{"one selector", []string{"a|c"}, true, []string{"a", "c"}, []int{1}},
		{"several, one by one", []string{"b|c", "a|b"}, false, []string{"a", "b", "c"}, []int{1, 1}},
		{"several at once", []string{"b|c", "a|b"}, true, []string{"a", "b", "c"}, []int{2}},
		{"none matches", []string{"x", "y"}, false, nil, []int{1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls []int
			own := querier{names: []string{"a", "b", "c"}, calls: &calls}
			var q storage.Querier = own
			if tt.any {
				q = anyQuerier{own}
			}
			var selectors [][]*labels.Matcher
			for _, expr := range tt.exprs {
				selectors = append(selectors, []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "__name__", expr)})
			}
			var got []string
			set := anyselect.Select(t.Context(), q, nil, selectors)
			for set.Next() {
				got = append(got, set.At().Labels().Get("__name__"))
			}
			if err := set.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.calls, calls); diff != "" {
				t.Errorf("selectors of each call (-want +got):\n%s", diff)
			}
		})
	}
}
