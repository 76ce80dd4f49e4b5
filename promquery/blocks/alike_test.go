package blocks_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestAlikeSelectors asks for the same series at several times at once, with one worker and with several: each selector gets what it gets
// by itself.
func TestAlikeSelectors(t *testing.T) {
	dir, hour := t.TempDir(), time.Hour.Milliseconds()
	var list []promtest.Series
	for n := range 600 { // more than are found at once
		s := promtest.Series{Labels: []string{"__name__", "m", "pod", fmt.Sprint("pod-", n), "uid", fmt.Sprint("uid-", n%7)}}
		for at := int64(n % 5 * 60); at < 6*60; at += 5 { // some begin later
			s.Samples = append(s.Samples, promtest.Sample{T: at * 60_000, V: float64(n)})
		}
		list = append(list, s)
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	dbs := readers(t, dir)
	sel := func(pod string, from, to int64) promquery.Selector {
		s := promquery.Selector{Metric: "m", Keep: []string{"pod"}, UIDs: []string{"uid"}, Start: from, End: to}
		if pod != "" {
			s.Matchers = []promquery.Matcher{{Name: "pod", Value: pod}}
		}
		return s
	}
	sels := []promquery.Selector{
		sel("", 0, hour/2), sel("", hour, 2*hour), sel("", 5*hour, 6*hour), // no samples of the second block
		sel("pod-1", 0, 6*hour), sel("pod-1", hour, hour), sel("", hour/2, hour),
	}
	for name, with := range map[string]func(w *promquery.Workers){
		"all": func(*promquery.Workers) {},
		"some": func(w *promquery.Workers) {
			w.SkipUIDs = &promquery.UIDs{Wanted: func(uid string) promquery.Wanted { return wantsBut(uid, "uid-3") }}
		},
		"skipped": func(w *promquery.Workers) {
			w.Skip = func(_ int, key []promquery.Symbol) bool { return key[0].Value() == "pod-9" }
		},
		"shared": func(w *promquery.Workers) {
			w.Of = func(_ int, key []promquery.Symbol) int { return len(key[0].Value()) % (w.N + 1) }
		},
		"wanted": func(w *promquery.Workers) {
			w.Wants = func(_ int, p *timeline.Points) bool { return p.Last() >= hour/2 }
		},
	} {
		for reader, db := range dbs {
			for _, workers := range []int{1, 4} {
				t.Run(fmt.Sprintf("%s, %d workers, %s", name, workers, reader), func(t *testing.T) {
					read := func(sels []promquery.Selector) (got []string, left []int) {
						var mu sync.Mutex
						w := promquery.Workers{N: workers, Left: func(i int) { left = append(left, i) }}
						w.Yield = func(_, i int, key []promquery.Symbol, p *timeline.Points) error {
							mu.Lock()
							defer mu.Unlock()
							got = append(got, fmt.Sprint(i, " ", key[0].Value(), " ", p.First(), " ", p.Last(), " ", p.Len()))
							return nil
						}
						with(&w)
						stats, err := db.SelectParallel(t.Context(), sels, w)
						if err != nil || !stats.Whole() || stats.Series == 0 {
							t.Fatalf("%d series, %v, warnings %q", stats.Series, err, stats.Warnings)
						}
						slices.Sort(got)
						return got, left
					}
					var want []string
					var wantLeft []int
					for i := range sels {
						got, left := read(slices.Insert(slices.Repeat([]promquery.Selector{{Metric: "none"}}, i), i, sels[i]))
						want, wantLeft = append(want, got...), append(wantLeft, left...)
					}
					slices.Sort(want)
					got, left := read(sels)
					if name == "wanted" { // a selector may get more where another one wants the series
						got = slices.DeleteFunc(got, func(s string) bool { _, found := slices.BinarySearch(want, s); return !found })
					}
					if reader != "own reader" { // Prometheus' reader leaves out nothing, which is not told apart by selector
						left, wantLeft = nil, nil
					}
					if diff := cmp.Diff(want, got) + cmp.Diff(wantLeft, left); diff != "" {
						t.Errorf("apart, and together (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// TestAlikeSelectorsAreAccountedApart wants what is read for a selector to be told of that selector.
func TestAlikeSelectorsAreAccountedApart(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 6*time.Hour, pods(3, 0, 6)...)
	db := open(t, dir)
	sels := []promquery.Selector{{Metric: "m", Start: begin, End: begin + 3*hour}, {Metric: "m", Start: begin + 5*hour, End: begin + 6*hour}}
	for _, workers := range []int{1, 4} {
		bytes := func(sels ...promquery.Selector) []int64 {
			w := promquery.Workers{N: workers, Yield: func(int, int, []promquery.Symbol, *timeline.Points) error { return nil }}
			stats, err := db.SelectParallel(t.Context(), sels, w)
			if err != nil {
				t.Fatal(err)
			}
			list := make([]int64, len(sels))
			for _, sent := range stats.Sent {
				for _, p := range sent.Of {
					list[p.Selector] += p.Bytes
				}
			}
			return list
		}
		want, got := append(bytes(sels[0]), bytes(sels[1])...), bytes(sels...)
		if diff := cmp.Diff(want, got); diff != "" || want[0] <= want[1] || want[1] == 0 {
			t.Errorf("%d workers: apart, and together (-want +got):\n%s", workers, diff)
		}
	}
}
