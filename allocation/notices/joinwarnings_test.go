package notices_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
)

// TestJoinWarnings joins warnings of several sets.
func TestJoinWarnings(t *testing.T) {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	at := func(hour int) string {
		return start.Add(time.Duration(hour) * time.Hour).UTC().Format(time.RFC3339)
	}
	lacks := func(they, have, names string) string {
		return they + " a price: " + have + " neither kubecost_load_balancer_cost nor a rule of the price sheet; the default price was used (" + names + "). Give prices with --pricing.file"
	}
	hole := func(from, to int, why string) string {
		return notices.HoleWarning(allocation.Window{Start: start.Add(time.Duration(from) * time.Hour), End: start.Add(time.Duration(to) * time.Hour)}, why)
	}
	for name, tc := range map[string]struct{ in, want []string }{
		"none":          {nil, nil},
		"others":        {[]string{"b", "a", "b"}, []string{"a", "b"}},
		"adjacent":      {[]string{hole(1, 2, "x"), hole(0, 1, "x"), hole(2, 5, "x")}, []string{hole(0, 5, "x")}},
		"overlapping":   {[]string{hole(0, 3, "x"), hole(1, 2, "x"), hole(2, 4, "x")}, []string{hole(0, 4, "x")}},
		"apart":         {[]string{hole(0, 1, "x"), hole(2, 3, "x")}, []string{"no costs from " + at(0) + " to " + at(1) + ", from " + at(2) + " to " + at(3) + ": x"}},
		"other reasons": {[]string{hole(0, 1, "x"), hole(1, 2, "y"), hole(2, 3, "x"), "z"}, []string{"no costs from " + at(0) + " to " + at(1) + ", from " + at(2) + " to " + at(3) + ": x", hole(1, 2, "y"), "z"}},
		"no times":      {[]string{"no costs from here to there: x", "no costs from 2026-02-31T00:00:00Z to 2026-03-04T00:00:00Z: x"}, []string{"no costs from 2026-02-31T00:00:00Z to 2026-03-04T00:00:00Z: x", "no costs from here to there: x"}},
		"listed times": {
			[]string{"cluster a: no sample from " + at(0) + " to " + at(1) + " and from " + at(3) + " to " + at(4) + ", while pods ran, of x", "cluster a: no sample from " + at(1) + " to " + at(2) + ", while pods ran, of x", "cluster b: no sample from " + at(1) + " to " + at(2) + ", while pods ran, of x"},
			[]string{"cluster a: no sample from " + at(0) + " to " + at(2) + ", from " + at(3) + " to " + at(4) + ", while pods ran, of x", "cluster b: no sample from " + at(1) + " to " + at(2) + ", while pods ran, of x"},
		},
		"one with times alone stays": {[]string{"x from " + at(0) + " to " + at(1) + " and 3 times more y"}, []string{"x from " + at(0) + " to " + at(1) + " and 3 times more y"}},
		"more times than are listed": {[]string{"x from " + at(0) + " to " + at(1) + " and 3 times more", "x from " + at(1) + " to " + at(2)}, []string{"x from " + at(0) + " to " + at(2) + ", …"}},
		"one and another": {
			[]string{lacks("1 load balancer lacks", "it has", "web/a"), lacks("1 load balancer lacks", "it has", "web/b")},
			[]string{lacks("2 load balancers lack", "they have", "web/a, web/b")},
		},
		"one and the same": {
			[]string{lacks("1 load balancer lacks", "it has", "web/a"), lacks("2 load balancers lack", "they have", "web/a, web/b")},
			[]string{lacks("2 load balancers lack", "they have", "web/a, web/b")},
		},
		"the plural of one": {[]string{lacks("1 load balancers lack", "they have", "web/a")}, []string{lacks("1 load balancer lacks", "it has", "web/a")}},
		"not all are named": {
			[]string{lacks("5 load balancers lack", "they have", "web/a, web/b, web/c, …"), lacks("1 load balancer lacks", "it has", "web/d")},
			[]string{lacks("at least 5 load balancers lack", "they have", "web/a, web/b, web/c, …")},
		},
		"more are named": {
			[]string{lacks("3 load balancers lack", "they have", "a, b, c"), lacks("3 load balancers lack", "they have", "b, c, d")},
			[]string{lacks("4 load balancers lack", "they have", "a, b, c, …")},
		},
		"joined before": {
			[]string{lacks("at least 5 load balancers lack", "they have", "a, b, c, …"), lacks("1 load balancer lacks", "it has", "a")},
			[]string{lacks("at least 5 load balancers lack", "they have", "a, b, c, …")},
		},
		"without names": {
			[]string{notices.OwnPrices.Text(1, nil), notices.OwnPrices.Text(3, nil)},
			[]string{notices.Notice("at least "+strings.Replace(string(notices.OwnPrices), "{n}", "3", 1)).Text(3, nil)},
		},
		"others of a metric": {
			[]string{notices.HistogramChunks.Text(1, nil, "a"), notices.HistogramChunks.Text(1, nil, "b")},
			[]string{"metric a: 1 chunk of native histograms skipped: cost is computed from float samples; record it as such", "metric b: 1 chunk of native histograms skipped: cost is computed from float samples; record it as such"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, notices.JoinWarnings(tc.in)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHoles reads times without costs out of warnings.
func TestHoles(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	w := allocation.Window{Start: day(5), End: day(10)}
	hole := func(from, to int) string {
		return notices.HoleWarning(allocation.Window{Start: day(from), End: day(to)}, "no data: it is gone")
	}
	for name, tc := range map[string]struct {
		in   []string
		want []allocation.Window
	}{
		"none":            {nil, nil},
		"others":          {[]string{"cluster a: no sample from 2026-01-06T00:00:00Z to 2026-01-07T00:00:00Z of x", "no costs of x"}, nil},
		"a part":          {[]string{hole(6, 7)}, []allocation.Window{{Start: day(6), End: day(7)}}},
		"beyond the edge": {[]string{hole(1, 6), hole(9, 20)}, []allocation.Window{{Start: day(5), End: day(6)}, {Start: day(9), End: day(10)}}},
		"outside":         {[]string{hole(1, 5), hole(10, 20)}, nil},
		"adjacent":        {[]string{hole(7, 8), hole(6, 7)}, []allocation.Window{{Start: day(6), End: day(8)}}},
		"joined":          {notices.JoinWarnings([]string{hole(6, 7), hole(8, 9)}), []allocation.Window{{Start: day(6), End: day(7)}, {Start: day(8), End: day(9)}}},
		"all":             {[]string{"no data from 2026-01-01T00:00:00Z to 2026-02-01T00:00:00Z: the source has nothing"}, []allocation.Window{w}},
	} {
		t.Run(name, func(t *testing.T) {
			same := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
			if diff := cmp.Diff(tc.want, notices.Holes(tc.in, w), same); diff != "" {
				t.Error(diff)
			}
		})
	}
}
