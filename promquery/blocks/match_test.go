package blocks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

// FuzzListed verifies that what is taken for a list of texts matches them and nothing else, as Prometheus' own regular expressions do.
func FuzzListed(f *testing.F) {
	for _, re := range []string{"a", "a|b-1|c_D", `x\.y|x`, "", "|", "a|", "a||b", "a.c|b", "(a|b)", "a|b+", `a\|b`, `a\`, `a\-b`, "ä|a", "^a$"} {
		f.Add(re, "a")
		f.Add(re, "x.y")
		f.Add(re, "")
	}
	f.Fuzz(func(t *testing.T, re, text string) {
		list := blocks.Listed(re)
		if list == nil {
			return
		}
		want, err := labels.NewFastRegexMatcher(re)
		if err != nil {
			t.Fatalf("%q is taken for a list of %q, and is malformed: %v", re, list, err)
		}
		for _, text := range append(list, text) {
			if _, got := slices.BinarySearch(list, text); got != want.MatchString(text) {
				t.Errorf("%q is taken for a list of %q, which has %q: %t", re, list, text, got)
			}
		}
	})
}

// TestNames reads the series of some pods, without looking at those of others unless many are named: one of the others is damaged.
func TestNames(t *testing.T) {
	const pods = 2_000
	name := func(i int) string { return fmt.Sprintf("pod-%d.x", i) }
	var list []promtest.Series
	for i := range pods {
		list = append(list, promtest.Series{Labels: []string{"__name__", "m", "pod", name(i)}, Samples: []promtest.Sample{{T: 60_000, V: 1}}})
	}
	dir := t.TempDir()
	damageEntry(t, promtest.WriteBlocks(t, dir, 2*time.Hour, list...)[0], 1) // of pod-1.x
	every := func(n, until int) (names []string) {
		for i := 0; i < until; i += n {
			names = append(names, name(i))
		}
		return names
	}
	quoted := func(names []string) string { return strings.ReplaceAll(strings.Join(names, "|"), ".", `\.`) }
	for _, tc := range []struct {
		name, re string
		want     []string
		looks    bool // at series of others
	}{
		{"more than Prometheus takes apart", quoted(every(4, pods)), every(4, pods), false},
		{"an expression that Prometheus takes apart", `pod-[048]\.x`, every(4, 9), false},
		{"many that are not there", quoted(every(4, 8*pods)), every(4, pods), false},
		{"half of them", quoted(every(2, pods)), nil, true},
	} {
		sel := promquery.Request{Metric: "m", Matchers: []promquery.Matcher{{Name: "pod", Type: promquery.MatchRegexp, Value: tc.re}}, Keep: promquery.Labels("pod"), End: 3_600_000}
		var got []string
		stats, err := promtest.Select(t.Context(), open(t, dir), []promquery.Request{sel}, func(_ int, key []promquery.Symbol, _ *timeline.Points) error {
			got = append(got, key[0].Value())
			return nil
		})
		slices.Sort(got)
		slices.Sort(tc.want)
		if err != nil || stats.Whole() == tc.looks || !tc.looks && !slices.Equal(got, tc.want) {
			t.Errorf("%s: %d of %d names, error %v, warnings %q", tc.name, len(got), len(tc.want), err, stats.Missing())
		}
	}
}
