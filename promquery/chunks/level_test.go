package chunks_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery/chunks"
)

// FuzzLevel compares decoded chunks, in which equal values at any times are one level, with their samples one by one: steps
// exactly, cells by the time that they cover and hold, and by their sum.
func FuzzLevel(f *testing.F) {
	r := rand.New(rand.NewPCG(2, 1))
	for i := range shapes {
		for _, n := range []int{2, 9, 120} {
			f.Add(encode(f, chunkenc.EncXOR, generate(r, i, n)), int64(60_000), int64(0), uint16(0))
		}
		f.Add(encode(f, chunkenc.EncXOR, generate(r, i, 120)), int64(15_000), int64(45_000), uint16(r.IntN(1<<16)))
		f.Add(encode(f, chunkenc.EncXOR, generate(r, i, 120)), int64(0), int64(300_000), uint16(r.IntN(1<<16)))
	}
	for k := range 24 { // a gap, another value or an end anywhere in a level
		samples := generate(r, 2+k%3, 120)
		at, by := 1+r.IntN(118), 1+r.Int64N(600_000)
		for i := at; i < len(samples); i++ {
			samples[i].t += by
		}
		switch k % 4 {
		case 1:
			samples[at].v++
		case 2:
			samples[119].v = value.StaleNaN
		}
		f.Add(encode(f, chunkenc.EncXOR, samples), int64(k%3)*30_000, int64(300_000), uint16(k))
	}
	f.Fuzz(func(t *testing.T, data []byte, step, lookback int64, clip uint16) {
		if len(data) < 2 {
			return
		}
		want, err := iterate(chunkenc.EncXOR, data)
		if err != nil || len(want) == 0 || !sane(want) || want[len(want)-1].t-want[0].t > 1<<32 {
			return
		}
		first, last := want[0].t, want[len(want)-1].t
		mint, maxt := first+int64(clip&255)*1000-1, last-int64(clip>>8)*1000
		var dec chunks.Decoder
		var got, plain timeline.Points
		if err := dec.Append(&got, chunkenc.EncXOR, data, mint, maxt); err != nil {
			return
		}
		for _, s := range want {
			if mint <= s.t && s.t <= maxt {
				plain.Append(s.t, math.Float64frombits(s.v))
			}
		}
		if step = max(0, min(step, 3600_000)); step > 0 {
			step = max(step, (last-first)/10_000, 1000)
		}
		s := timeline.Sampling{Start: first, End: last + 600_000, Step: step, Lookback: max(1000, min(lookback, timeline.Lookback)), Interval: 30_000}
		if d := cmp.Diff(s.Steps(&plain), s.Steps(&got)); d != "" {
			t.Fatalf("steps differ: %s", d)
		}
		if plain.Interval() != got.Interval() || plain.Last() != got.Last() || plain.First() != got.First() {
			t.Fatal("ends or intervals differ")
		}
		sameCells(t, s.Counter(nil, &plain), s.Counter(nil, &got))
		sameCells(t, s.Gauge(nil, &plain), s.Gauge(nil, &got))
	})
}

// sameCells compares the times that cells cover and hold, and what they amount to.
func sameCells(t *testing.T, want, got []timeline.Cell) {
	t.Helper()
	for _, held := range []bool{false, true} {
		if d := cmp.Diff(covered(want, held), covered(got, held)); d != "" {
			t.Fatalf("covered times differ, of held cells only: %v: %s", held, d)
		}
	}
	a, b, size := 0.0, 0.0, 0.0
	for _, c := range want {
		a, size = a+c.Amount, size+math.Abs(c.Amount)
	}
	for _, c := range got {
		b += c.Amount
	}
	if math.Abs(a-b) > 1e-9*size {
		t.Fatalf("amounts are %v and %v", a, b)
	}
}

// covered are the times of cells, or of held cells only.
func covered(cells []timeline.Cell, held bool) timeline.Intervals {
	var out timeline.Intervals
	for _, c := range cells {
		if c.From < c.To && (c.Held || !held) {
			out = append(out, timeline.Interval{From: c.From, To: c.To})
		}
	}
	return timeline.Union(out)
}

// BenchmarkFunction makes steps of the constant series of a day, decoding included, by this package's decoder and by
// Prometheus' iterator and points sample by sample.
func BenchmarkFunction(b *testing.B) {
	for i := range shapes[:5] {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		series := generate(r, i, 2880)
		var data [][]byte
		for k := 0; k < len(series); k += 120 {
			data = append(data, encode(b, chunkenc.EncXOR, series[k:k+120]))
		}
		s := timeline.Sampling{Start: series[0].t, End: series[len(series)-1].t, Step: 60_000, Lookback: timeline.Lookback, Interval: 30_000}
		var p timeline.Points
		measure := func(name string, decode func()) {
			b.Run("shape="+shapes[i].name+"/decoder="+name, func(b *testing.B) {
				steps := 0
				for b.Loop() {
					p.Reset()
					decode()
					steps += len(s.Steps(&p))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(series)), "ns/sample")
			})
		}
		var dec chunks.Decoder
		measure("own", func() {
			for _, d := range data {
				if err := dec.Append(&p, chunkenc.EncXOR, d, minInt, maxInt); err != nil {
					b.Fatal(err)
				}
			}
		})
		var it chunkenc.Iterator
		measure("prometheus", func() {
			for _, d := range data {
				c, err := chunkenc.FromData(chunkenc.EncXOR, d)
				if err != nil {
					b.Fatal(err)
				}
				for it = c.Iterator(it); it.Next() == chunkenc.ValFloat; {
					p.Append(it.At())
				}
			}
		})
	}
}
