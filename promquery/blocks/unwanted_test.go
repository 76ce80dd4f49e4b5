package blocks_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// wantsBut wants nothing of one pod.
func wantsBut(uid, unwanted string) promquery.Wanted {
	if uid == unwanted {
		return promquery.WantsNothing
	}
	return promquery.WantsAll
}

// TestUnwantedPods leaves out the series of pods, in two blocks. It leaves out none where some series have the UID in another label.
func TestUnwantedPods(t *testing.T) {
	unwanted := &promquery.UIDs{Wanted: func(uid string) promquery.Wanted {
		if uid == "one" {
			return promquery.WantsRuns
		}
		return wantsBut(uid, "two")
	}}
	series := func(labels ...string) promtest.Series {
		s := promtest.Series{Labels: append([]string{"__name__", "m"}, labels...)}
		for at := range 4 * 60 {
			s.Samples = append(s.Samples, promtest.Sample{T: int64(at) * 60_000, V: 1})
		}
		return s
	}
	list := []promtest.Series{series("pod", "a", "uid", "one"), series("pod", "b", "uid", "two"), series("pod", "c", "uid", "two", "x", "y"), series("pod", "d")}
	for name, tc := range map[string]struct {
		more     []promtest.Series
		matchers []promquery.Matcher
		uids     []string
		timeless bool
		want     []string
		left     bool
	}{
		"by uid":               {uids: []string{"exported_uid", "uid"}, want: []string{"a", "d"}, left: true},
		"by what it shows":     {uids: []string{"uid"}, timeless: true, want: []string{"d"}, left: true},
		"not by the selector":  {want: []string{"a", "b", "c", "d"}},
		"no such label":        {uids: []string{"none"}, want: []string{"a", "b", "c", "d"}},
		"others match":         {uids: []string{"uid"}, matchers: []promquery.Matcher{{Name: "pod", Value: "a"}}, want: []string{"a"}},
		"one of several":       {uids: []string{"uid"}, matchers: []promquery.Matcher{{Name: "x", Value: "y"}}, left: true},
		"in one of two labels": {more: []promtest.Series{series("pod", "e", "uid", "two", "exported_uid", "three")}, uids: []string{"exported_uid", "uid"}, want: []string{"a", "b", "c", "d", "e"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, append(slices.Clone(list), tc.more...)...)
			sel := promquery.Selector{Metric: "m", Matchers: tc.matchers, Keep: []string{"pod"}, UIDs: tc.uids, Timeless: tc.timeless, End: 4 * 3_600_000}
			var got []string
			left := false
			_, err := open(t, dir).SelectParallel(t.Context(), []promquery.Selector{sel}, promquery.Workers{
				N: 1, SkipUIDs: unwanted, Left: func(int) { left = true },
				Yield: func(_, _ int, key []promquery.Symbol, _ *timeline.Points) error {
					got = append(got, key[0].Value())
					return nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" || left != tc.left {
				t.Errorf("left out some: %v, want %v; pods (-want +got):\n%s", left, tc.left, diff)
			}
		})
	}
}
