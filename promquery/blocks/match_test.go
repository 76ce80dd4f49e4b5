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

// TestManyNames reads the series of more pods than Prometheus takes for a list, without looking at those of others: one of these is damaged.
func TestManyNames(t *testing.T) {
	const pods, every = 2_000, 4
	var list []promtest.Series
	var names []string
	for i := range pods {
		name := fmt.Sprintf("pod-%d.x", i)
		list = append(list, promtest.Series{Labels: []string{"__name__", "m", "pod", name}, Samples: []promtest.Sample{{T: 60_000, V: 1}}})
		if i%every == 0 {
			names = append(names, name)
		}
	}
	dir := t.TempDir()
	damageEntry(t, promtest.WriteBlocks(t, dir, 2*time.Hour, list...)[0], 1)
	sel := promquery.Selector{Metric: "m", Matchers: []promquery.Matcher{{
		Name: "pod", Type: promquery.MatchRegexp, Value: strings.ReplaceAll(strings.Join(names, "|"), ".", `\.`),
	}}, Keep: []string{"pod"}, End: 3_600_000}
	var got []string
	stats, err := open(t, dir).Select(t.Context(), []promquery.Selector{sel}, func(_ int, key []promquery.Symbol, _ *timeline.Points) error {
		got = append(got, key[0].Value())
		return nil
	})
	slices.Sort(got)
	slices.Sort(names)
	if err != nil || !slices.Equal(got, names) || !stats.Whole() {
		t.Errorf("%d of %d names, error %v, warnings %q", len(got), len(names), err, stats.Told())
	}
}
