package blocks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestGrade grades series by the texts of their keys, in two blocks: of some only the times are wanted, and of some nothing.
func TestGrade(t *testing.T) {
	const uid = "0f2d3c1a-0000-4000-8000-000000000001"
	var list []promtest.Series
	for _, pod := range []string{"all", "nothing", "times"} {
		list = append(list, promtest.Series{
			Labels:  []string{"__name__", "m", "cluster", "one", "pod", pod, "id", "/kubepods/pod" + uid + "/" + pod},
			Samples: promtest.Regular(0, 4*3_600_000, 60_000, func(int64) float64 { return 1 }),
		})
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	sel := promquery.Selector{Metric: "m", Keep: []string{"pod", "cluster", "id", "none"}, Cgroup: "id", Common: []string{"cluster"}, End: 4 * 3_600_000}
	plain := sel
	plain.Common = nil
	var got []string
	left := map[int]bool{}
	_, err := open(t, dir).SelectParallel(t.Context(), []promquery.Selector{sel, plain}, promquery.Workers{
		N: 1, Left: func(i int) { left[i] = true },
		Grade: func(_ int, key []string) (id uint64, nothing bool) {
			if key[1] != "one" || key[2] != uid || key[3] != "" {
				t.Errorf("key %q", key)
			}
			switch key[0] {
			case "times":
				return 7, false
			case "nothing":
				return 0, true
			}
			return 0, false
		},
		Yield: func(_, i int, key []promquery.Symbol, p *timeline.Points) error {
			texts := make([]string, len(key))
			for k := range key {
				texts[k] = key[k].Value()
			}
			if p.Len() != 4*60+1 {
				t.Errorf("%q: %d samples", texts, p.Len())
			}
			if p.Series() == 7 {
				texts = append(texts, "times")
			}
			got = append(got, strings.Join(append(texts, []string{"graded", "plain"}[i]), ","))
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"all,one," + uid + ",,graded", ",one,,,times,graded",
		"all,one," + uid + ",,plain", "nothing,one," + uid + ",,plain", "times,one," + uid + ",,plain",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]bool{0: true}, left); diff != "" {
		t.Errorf("selectors of which series were left out (-want +got):\n%s", diff)
	}
}

// TestWants looks at the times of series before it makes their keys.
func TestWants(t *testing.T) {
	var list []promtest.Series
	for pod, from := range map[string]int64{"early": 0, "late": 2 * 3_600_000, "later": 3 * 3_600_000} {
		list = append(list, promtest.Series{
			Labels:  []string{"__name__", "m", "pod", pod},
			Samples: promtest.Regular(from, from+1_800_000, 60_000, func(int64) float64 { return 1 }),
		})
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	sel := promquery.Selector{Metric: "m", Keep: []string{"pod"}, Common: []string{"cluster"}, End: 4 * 3_600_000}
	var graded, got []string
	_, err := open(t, dir).SelectParallel(t.Context(), []promquery.Selector{sel}, promquery.Workers{
		N:     1,
		Wants: func(_ int, p *timeline.Points) bool { return p.First() <= 2*3_600_000 && p.Last() >= 2*3_600_000 },
		Grade: func(_ int, key []string) (id uint64, nothing bool) {
			graded = append(graded, strings.Clone(key[0]))
			return 0, false
		},
		Yield: func(_, _ int, key []promquery.Symbol, p *timeline.Points) error {
			if p.Len() != 31 {
				t.Errorf("%s: %d samples", key[0].Value(), p.Len())
			}
			got = append(got, key[0].Value())
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string][]string{"graded": graded, "yielded": got} {
		if diff := cmp.Diff([]string{"late"}, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestNothingOfMany makes symbols of the only series of which something is wanted.
func TestNothingOfMany(t *testing.T) {
	var list []promtest.Series
	for n := range 2_000 {
		list = append(list, promtest.Series{Labels: []string{"__name__", "m", "pod", fmt.Sprintf("pod-%04d", n)}, Samples: []promtest.Sample{{T: 0, V: 1}}})
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	sel := promquery.Selector{Metric: "m", Keep: []string{"pod"}, Common: []string{}, End: 1000}
	number := 0
	_, err := open(t, dir).SelectParallel(t.Context(), []promquery.Selector{sel}, promquery.Workers{
		N:     1,
		Grade: func(_ int, key []string) (id uint64, nothing bool) { return 0, key[0] != "pod-1999" },
		Yield: func(_, _ int, key []promquery.Symbol, _ *timeline.Points) error {
			number = key[0].Number()
			return nil
		},
	})
	if err != nil || number != 1 {
		t.Errorf("the symbol has number %d, %v, want the first one", number, err)
	}
}
