package blocks_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/index"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestSeriesOfAValue reads series of some values of a label, also where the postings of a value are damaged, which those of the metric
// make up for.
func TestSeriesOfAValue(t *testing.T) {
	series := func(labels ...string) promtest.Series {
		return promtest.Series{Labels: append([]string{"__name__", "m"}, labels...), Samples: []promtest.Sample{{T: 60_000, V: 1}}}
	}
	list := []promtest.Series{
		series("resource", "cpu", "pod", "a"), series("resource", "cpu", "pod", "b"), series("resource", "gpu", "pod", "a"),
		series("resource", "memory", "pod", "a"), series("pod", "c"),
	}
	for name, tc := range map[string]struct {
		matchers []promquery.Matcher
		want     []string
	}{
		"one":      {[]promquery.Matcher{{Name: "resource", Value: "cpu"}}, []string{"cpu a", "cpu b"}},
		"several":  {[]promquery.Matcher{{Name: "resource", Type: promquery.MatchRegexp, Value: "cpu|gpu"}}, []string{"cpu a", "cpu b", "gpu a"}},
		"of two":   {[]promquery.Matcher{{Name: "resource", Value: "cpu"}, {Name: "pod", Value: "b"}}, []string{"cpu b"}},
		"no value": {[]promquery.Matcher{{Name: "resource", Value: "disk"}}, nil},
		"no label": {[]promquery.Matcher{{Name: "phase", Value: "cpu"}}, nil},
		"not one":  {[]promquery.Matcher{{Name: "resource", Type: promquery.MatchNotEqual, Value: "cpu"}}, []string{" c", "gpu a", "memory a"}},
		"not none": {[]promquery.Matcher{{Name: "resource", Type: promquery.MatchNotEqual, Value: "disk"}}, []string{" c", "cpu a", "cpu b", "gpu a", "memory a"}},
		"neither":  {[]promquery.Matcher{{Name: "resource", Type: promquery.MatchNotEqual}, {Name: "resource", Type: promquery.MatchNotEqual, Value: "cpu"}}, []string{"gpu a", "memory a"}},
		"or none":  {[]promquery.Matcher{{Name: "resource", Type: promquery.MatchRegexp, Value: "cpu|"}}, []string{" c", "cpu a", "cpu b"}},
	} {
		for _, damaged := range []bool{false, true} {
			dir := t.TempDir()
			block := promtest.WriteBlocks(t, dir, 2*time.Hour, list...)[0]
			if damaged {
				damagePostings(t, filepath.Join(block, "index"), labels.Label{Name: "resource", Value: "cpu"})
			}
			sel := promquery.Selector{Metric: "m", Matchers: tc.matchers, Keep: []string{"resource", "pod"}, End: 3_600_000}
			var got []string
			stats, err := open(t, dir).Select(t.Context(), []promquery.Selector{sel}, func(_ int, key []promquery.Symbol, _ *timeline.Points) error {
				got = append(got, key[0].Value()+" "+key[1].Value())
				return nil
			})
			if err != nil || !stats.Whole() {
				t.Fatalf("%s, damaged %v: %v, warnings %q", name, damaged, err, stats.Warnings)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s, damaged %v: series (-want +got):\n%s", name, damaged, diff)
			}
		}
	}
}

// damagePostings damages the list of the series that have a label.
func damagePostings(t *testing.T, path string, of labels.Label) {
	t.Helper()
	r, err := index.NewFileReader(path, index.DecodePostingsRaw)
	if err != nil {
		t.Fatal(err)
	}
	ranges, err := r.PostingsRanges()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, path, func(data []byte) []byte {
		data[ranges[of].End-1] ^= 1
		return data
	})
}
