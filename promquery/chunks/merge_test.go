package chunks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery/chunks"
)

// TestMerge merges the chunks of a series in two blocks. Only those that overlap, and can be decoded, change.
func TestMerge(t *testing.T) {
	chunk := func(first, last int64) chunks.Encoded {
		var list []sample
		for at := first; at <= last; at += 10 {
			list = append(list, sample{at, 0})
		}
		return chunks.Encoded{Encoding: chunkenc.EncXOR, Data: encode(t, chunkenc.EncXOR, list), MinTime: first, MaxTime: last}
	}
	malformed, unknown := chunk(15, 45), chunk(15, 45)
	malformed.Data, unknown.Encoding = []byte{0, 9}, 77
	for name, tc := range map[string]struct {
		list []chunks.Encoded
		ends []int
		want int // chunks
	}{
		"none":         {nil, []int{0, 0}, 0},
		"one block":    {[]chunks.Encoded{chunk(0, 30), chunk(40, 60)}, []int{2, 2}, 2},
		"apart":        {[]chunks.Encoded{chunk(40, 60), chunk(0, 30)}, []int{1, 2}, 2},
		"overlapping":  {[]chunks.Encoded{chunk(0, 30), chunk(40, 60), chunk(15, 45)}, []int{2, 3}, 1},
		"interleaving": {[]chunks.Encoded{chunk(0, 10), chunk(40, 60), chunk(20, 30)}, []int{2, 3}, 3},
		"malformed":    {[]chunks.Encoded{chunk(0, 30), malformed}, []int{1, 2}, 2},
		"unknown":      {[]chunks.Encoded{chunk(0, 30), unknown}, []int{1, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(list []chunks.Encoded) (times []int64) {
				var dec chunks.Decoder
				var p timeline.Points
				if err := dec.Each(&p, list, minInt, maxInt, func(error) {}, func() error {
					for at := range p.All() {
						times = append(times, at)
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				return times
			}
			got := chunks.Merge(tc.list, tc.ends)
			if len(got) != tc.want {
				t.Errorf("%d chunks, want %d", len(got), tc.want)
			}
			if diff := cmp.Diff(read(tc.list), read(got)); diff != "" {
				t.Errorf("times (-before +after):\n%s", diff)
			}
		})
	}
}
