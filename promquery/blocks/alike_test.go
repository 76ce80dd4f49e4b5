package blocks_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestAlikeRequests asks for the same series at several times at once: each request gets what it gets by itself.
func TestAlikeRequests(t *testing.T) {
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
	sel := func(pod string, from, to int64) promquery.Request {
		s := promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: from, End: to}
		if pod != "" {
			s.Matchers = []promquery.Matcher{{Name: "pod", Value: pod}}
		}
		return s
	}
	sels := []promquery.Request{
		sel("", 0, hour/2), sel("", hour, 2*hour), sel("", 5*hour, 6*hour), // no samples of the second block
		sel("pod-1", 0, 6*hour), sel("pod-1", hour, hour), sel("", hour/2, hour),
	}
	for reader, db := range dbs {
		read := func(rs []promquery.Request) (got []string) {
			stats, err := promtest.Select(t.Context(), db, rs, func(i int, key []promquery.Symbol, p *timeline.Points) error {
				got = append(got, fmt.Sprint(i, " ", key[0].Value(), " ", p.First(), " ", p.Last(), " ", p.Len()))
				return nil
			})
			if err != nil || !stats.Whole() || stats.Series == 0 {
				t.Fatalf("%s: %d series, %v, warnings %q", reader, stats.Series, err, stats.Warnings)
			}
			slices.Sort(got)
			return got
		}
		var want []string
		for i := range sels {
			want = append(want, read(slices.Insert(slices.Repeat([]promquery.Request{{Metric: "none"}}, i), i, sels[i]))...)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, read(sels)); diff != "" {
			t.Errorf("%s: apart, and together (-want +got):\n%s", reader, diff)
		}
	}
}

// TestAlikeRequestsAreAccountedApart wants what is read for a request to be counted for that request.
func TestAlikeRequestsAreAccountedApart(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 6*time.Hour, pods(3, 0, 6)...)
	db := open(t, dir)
	sels := []promquery.Request{{Metric: "m", Start: begin, End: begin + 3*hour}, {Metric: "m", Start: begin + 5*hour, End: begin + 6*hour}}
	bytes := func(sels ...promquery.Request) []int64 {
		stats, err := promtest.Select(t.Context(), db, sels, nil)
		if err != nil {
			t.Fatal(err)
		}
		list := make([]int64, len(sels))
		for _, sent := range stats.Sent {
			for _, p := range sent.Of {
				list[p.Request] += p.Bytes
			}
		}
		return list
	}
	want, got := append(bytes(sels[0]), bytes(sels[1])...), bytes(sels...)
	if diff := cmp.Diff(want, got); diff != "" || want[0] <= want[1] || want[1] == 0 {
		t.Errorf("apart, and together (-want +got):\n%s", diff)
	}
}
