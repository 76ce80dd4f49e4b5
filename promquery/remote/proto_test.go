package remote_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery/remote"
)

// FuzzSeries compares the walk over a series' fields with the generated protobuf types: what they accept is read alike.
func FuzzSeries(f *testing.F) {
	long := string(bytes.Repeat([]byte("x"), 300)) // its length takes two bytes
	for _, s := range []prompb.ChunkedSeries{
		{},
		{Labels: []prompb.Label{{Name: "__name__", Value: "m"}, {Name: "pod", Value: "a"}, {Name: "id", Value: long}, {Name: "no"}, {Value: "name"}}},
		{
			Labels: []prompb.Label{{Name: "b", Value: "2"}, {Name: "a", Value: "1"}, {Name: "b", Value: "3"}},
			Chunks: []prompb.Chunk{chunk(f, chunkenc.EncXOR, -5, 120), {MinTimeMs: -1, MaxTimeMs: 1 << 60, Type: 77, Data: []byte(long)}, {}},
		},
	} {
		data, err := s.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(append(data, 0xf8, 0x01, 0x05, 0x22, 0x01, 0x00)) // fields that nobody knows
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want prompb.ChunkedSeries
		if want.Unmarshal(data) != nil {
			_, _, _, _ = remote.ParseSeries(data) // must not panic
			return
		}
		if _, _, _, err := remote.ParseSeries(data); err != nil {
			// Fields that nobody knows may be of kinds that no longer exist. As a server writes it, it must be read.
			if data, err = want.Marshal(); err != nil {
				t.Fatal(err)
			}
		}
		key, list, _, err := remote.ParseSeries(data)
		if err != nil {
			t.Fatalf("refused what Prometheus reads: %v", err)
		}
		ls := slices.DeleteFunc(want.Labels, func(l prompb.Label) bool { return l.Name == "__name__" || l.Value == "" })
		slices.SortStableFunc(ls, func(a, b prompb.Label) int { return cmp.Compare(a.Name, b.Name) })
		if len(key) != 2*len(ls) || len(list) != len(want.Chunks) {
			t.Fatalf("got %d labels and %d chunks, want %d and %d", len(key)/2, len(list), len(ls), len(want.Chunks))
		}
		for i, l := range ls {
			if key[2*i].Value() != l.Name || key[2*i+1].Value() != l.Value {
				t.Errorf("label %d: got %q %q, want %q %q", i, key[2*i].Value(), key[2*i+1].Value(), l.Name, l.Value)
			}
		}
		for i, c := range want.Chunks {
			got := list[i]
			if got.MinTime != c.MinTimeMs || got.MaxTime != c.MaxTimeMs || !bytes.Equal(got.Data, c.Data) {
				t.Errorf("chunk %d: got %v, want %v", i, got, c)
			}
			if typ := int64(c.Type); typ >= 0 && typ < 255 && int64(got.Encoding) != typ {
				t.Errorf("chunk %d: got encoding %v, want %v", i, got.Encoding, typ)
			}
		}
	})
}
