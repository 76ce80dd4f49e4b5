package blocks_test

import (
	"fmt"
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
		"names":    {[]promquery.Matcher{{Name: "pod", Type: promquery.MatchRegexp, Value: `c|x\.y|b|0`}}, []string{" c", "cpu b"}},
		"a prefix": {[]promquery.Matcher{{Name: "pod", Type: promquery.MatchRegexp, Value: "b.*|c"}}, []string{" c", "cpu b"}},
		"or none":  {[]promquery.Matcher{{Name: "resource", Type: promquery.MatchRegexp, Value: "cpu|"}}, []string{" c", "cpu a", "cpu b"}},
	} {
		for _, damaged := range []labels.Label{{}, {Name: "resource", Value: "cpu"}, {Name: "pod", Value: "b"}} {
			dir := t.TempDir()
			block := promtest.WriteBlocks(t, dir, 2*time.Hour, list...)[0]
			if damaged.Name != "" {
				damagePostings(t, filepath.Join(block, "index"), damaged)
			}
			sel := promquery.Request{Metric: "m", Matchers: tc.matchers, Keep: promquery.Labels("resource", "pod"), End: 3_600_000}
			var got []string
			stats, err := promtest.Select(t.Context(), open(t, dir), []promquery.Request{sel}, func(_ int, key []promquery.Symbol, _ *timeline.Points) error {
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

// TestSeriesWithALabel reads series that have a label, which few of them have, also where the postings of a value are damaged.
func TestSeriesWithALabel(t *testing.T) {
	var list []promtest.Series
	for i := range 40 {
		of := []string{"__name__", "m", "pod", fmt.Sprint("pod", i)}
		switch i {
		case 7, 23:
			of = append(of, "container", "main")
		case 8:
			of = append(of, "container", "side", "old", "main")
		case 9:
			of = append(of, "old", "main")
		}
		list = append(list, promtest.Series{Labels: of, Samples: []promtest.Sample{{T: 60_000, V: 1}}})
	}
	for name, tc := range map[string]struct {
		matchers []promquery.Matcher
		want     []string
	}{
		"a label":      {[]promquery.Matcher{{Name: "container", Type: promquery.MatchNotEqual}}, []string{"pod23", "pod7", "pod8"}},
		"but a value":  {[]promquery.Matcher{{Name: "container", Type: promquery.MatchNotEqual}, {Name: "container", Type: promquery.MatchNotEqual, Value: "main"}}, []string{"pod8"}},
		"two labels":   {[]promquery.Matcher{{Name: "container", Type: promquery.MatchNotEqual}, {Name: "old", Type: promquery.MatchNotEqual}}, []string{"pod8"}},
		"another":      {[]promquery.Matcher{{Name: "container"}, {Name: "old", Type: promquery.MatchNotEqual}}, []string{"pod9"}},
		"of many":      {[]promquery.Matcher{{Name: "old"}, {Name: "pod", Type: promquery.MatchNotEqual}, {Name: "container", Value: "main"}}, []string{"pod23", "pod7"}},
		"no such name": {[]promquery.Matcher{{Name: "none", Type: promquery.MatchNotEqual}}, nil},
	} {
		for _, damaged := range []bool{false, true} {
			dir := t.TempDir()
			block := promtest.WriteBlocks(t, dir, 2*time.Hour, list...)[0]
			if damaged {
				damagePostings(t, filepath.Join(block, "index"), labels.Label{Name: "container", Value: "side"})
			}
			sel := promquery.Request{Metric: "m", Matchers: tc.matchers, Keep: promquery.Labels("pod"), End: 3_600_000}
			var got []string
			stats, err := promtest.Select(t.Context(), open(t, dir), []promquery.Request{sel}, func(_ int, key []promquery.Symbol, _ *timeline.Points) error {
				got = append(got, key[0].Value())
				return nil
			})
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil || !stats.Whole() {
				t.Errorf("%s, damaged %v: %v, warnings %q, series (-want +got):\n%s", name, damaged, err, stats.Warnings, diff)
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
