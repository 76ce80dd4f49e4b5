package chunks_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery/chunks"
)

const (
	minInt = math.MinInt64
	maxInt = math.MaxInt64
)

type sample struct {
	t int64
	v uint64 // the value's bits: NaNs differ
}

// encode returns the bytes of a chunk of the samples.
func encode(t testing.TB, enc chunkenc.Encoding, samples []sample) []byte {
	t.Helper()
	c, err := chunkenc.NewEmptyChunk(enc)
	if err != nil {
		t.Fatal(err)
	}
	app, err := c.Appender()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		app.Append(0, s.t, math.Float64frombits(s.v))
	}
	return c.Bytes()
}

// iterate is the oracle: what Prometheus' iterator yields.
func iterate(enc chunkenc.Encoding, data []byte) ([]sample, error) {
	c, err := chunkenc.FromData(enc, data)
	if err != nil {
		return nil, err
	}
	var got []sample
	it := c.Iterator(nil)
	for it.Next() == chunkenc.ValFloat {
		t, v := it.At()
		got = append(got, sample{t, math.Float64bits(v)})
	}
	return got, it.Err()
}

func collect(p *timeline.Points) []sample {
	var got []sample
	for t, v := range p.All() {
		got = append(got, sample{t, math.Float64bits(v)})
	}
	return got
}

func clip(samples []sample, mint, maxt int64) []sample {
	var got []sample
	for _, s := range samples {
		if mint <= s.t && s.t <= maxt {
			got = append(got, s)
		}
	}
	return got
}

func equal(a, b []sample) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// shapes generate the k-th sample of a chunk from the one before it.
var shapes = []struct {
	name string
	next func(r *rand.Rand, k int, prev sample) sample
}{
	{"constant", func(_ *rand.Rand, _ int, p sample) sample { return sample{p.t + 15000, p.v} }},
	{"constant but for its end", func(_ *rand.Rand, k int, p sample) sample {
		if k == 119 {
			return sample{p.t + 15000, value.StaleNaN}
		}
		return sample{p.t + 15000, p.v}
	}},
	{"constant, ±1 ms", jittered(15000, 1)},
	{"constant, ±20 ms", jittered(15000, 20)},
	{"constant, ±5 s", jittered(30000, 5000)},
	{"counter with resets", func(r *rand.Rand, _ int, p sample) sample {
		v := math.Float64frombits(p.v) + r.Float64()
		if r.IntN(50) == 0 {
			v = 0
		}
		return sample{p.t + 30000, math.Float64bits(v)}
	}},
	{"gauge of bytes", func(r *rand.Rand, _ int, p sample) sample {
		if r.IntN(3) == 0 {
			return sample{p.t + 60000, p.v}
		}
		return sample{p.t + 60000, math.Float64bits(float64(1e9 + 4096*r.IntN(1000)))}
	}},
	{"gaps", func(r *rand.Rand, _ int, p sample) sample {
		d := int64(15000)
		if r.IntN(20) == 0 {
			d += r.Int64N(1 << (10 + r.IntN(25)))
		}
		return sample{p.t + d, math.Float64bits(float64(r.IntN(3)))}
	}},
	{"any bits, any distance", func(r *rand.Rand, _ int, p sample) sample {
		return sample{p.t + 1 + r.Int64N(1<<(1+r.IntN(40))), r.Uint64()}
	}},
	{"counter, ±20 ms", func(r *rand.Rand, k int, p sample) sample {
		v := math.Float64frombits(p.v) + float64(k%3)*r.Float64()
		return sample{p.t + 30000 + r.Int64N(41) - 20, math.Float64bits(v)}
	}},
	{"gauge that changes seldom, ±20 ms", func(r *rand.Rand, _ int, p sample) sample {
		if t := p.t + 30000 + r.Int64N(41) - 20; r.IntN(12) > 0 {
			return sample{t, p.v}
		}
		return sample{p.t + 30000, math.Float64bits(float64(r.IntN(1000)))}
	}},
}

// jittered keeps a value at times that lie up to jitter beside those of a scrape every interval, both milliseconds.
func jittered(interval, jitter int64) func(r *rand.Rand, k int, prev sample) sample {
	start := int64(0)
	return func(r *rand.Rand, k int, prev sample) sample {
		if k == 1 {
			start = prev.t
		}
		return sample{start + int64(k)*interval + r.Int64N(2*jitter+1) - jitter, prev.v}
	}
}

func generate(r *rand.Rand, shape, n int) []sample {
	samples := []sample{{t: r.Int64N(1 << 41), v: math.Float64bits(float64(r.IntN(100)))}}
	for len(samples) < n {
		samples = append(samples, shapes[shape].next(r, len(samples), samples[len(samples)-1]))
	}
	return samples
}

// decoders decode a chunk: the one of our own, and Prometheus' iterator.
var decoders = map[string]func(d *chunks.Decoder, p *timeline.Points, enc chunkenc.Encoding, data []byte, mint, maxt int64) error{
	"own": (*chunks.Decoder).Append, "iterator": (*chunks.Decoder).AppendIterated,
}

func TestDecodersGiveWhatWasEncoded(t *testing.T) {
	for i, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			var dec chunks.Decoder
			var p timeline.Points
			for round := range 400 {
				samples := generate(r, i, 1+r.IntN(240))
				first, last := samples[0].t, samples[len(samples)-1].t
				mint, maxt := int64(minInt), int64(maxInt)
				if round%2 == 1 {
					mint, maxt = first+r.Int64N(last-first+1)-1, last-r.Int64N(last-first+1)+1
				}
				for _, enc := range []chunkenc.Encoding{chunkenc.EncXOR, chunkenc.EncXOR2} {
					data, want := encode(t, enc, samples), clip(samples, mint, maxt)
					for name, decode := range decoders {
						p.Reset()
						if err := decode(&dec, &p, enc, data, mint, maxt); err != nil {
							t.Fatalf("%s, round %d, %s: %v", name, round, enc, err)
						}
						if got := collect(&p); !equal(got, want) || p.Len() != len(want) {
							t.Fatalf("%s, round %d, %s, [%d, %d]: got %v, want %v", name, round, enc, mint, maxt, got, want)
						}
					}
				}
			}
		})
	}
}

// TestDecoderConstantIsRun sees to it that constant chunks are not decoded: a run takes no memory.
func TestDecoderConstantIsRun(t *testing.T) {
	data := encode(t, chunkenc.EncXOR, generate(rand.New(rand.NewPCG(1, 1)), 0, 120))
	var dec chunks.Decoder
	var p timeline.Points
	allocs := testing.AllocsPerRun(100, func() {
		p.Reset()
		if err := dec.Append(&p, chunkenc.EncXOR, data, minInt, maxInt); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 || p.Len() != 120 {
		t.Errorf("got %d samples with %v allocations, want 120 with none", p.Len(), allocs)
	}
}

func TestDecoderAppendsOnlyLater(t *testing.T) {
	samples := generate(rand.New(rand.NewPCG(1, 1)), 3, 100)
	for name, decode := range decoders {
		var dec chunks.Decoder
		var p timeline.Points
		for _, part := range [][]sample{samples[:60], samples[40:], samples[:100]} {
			if err := decode(&dec, &p, chunkenc.EncXOR, encode(t, chunkenc.EncXOR, part), minInt, maxInt); err != nil {
				t.Fatal(err)
			}
		}
		if got := collect(&p); !equal(got, samples) {
			t.Errorf("%s: got %v, want %v", name, got, samples)
		}
	}
}

func TestDecoderRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	whole := encode(t, chunkenc.EncXOR, generate(r, 3, 100))
	whole2 := encode(t, chunkenc.EncXOR2, generate(r, 3, 100))
	for _, tc := range []struct {
		name string
		enc  chunkenc.Encoding
		data []byte
	}{
		{"nothing", chunkenc.EncXOR, nil},
		{"half a header", chunkenc.EncXOR, whole[:1]},
		{"header alone", chunkenc.EncXOR, whole[:2]},
		{"half the first sample", chunkenc.EncXOR, whole[:9]},
		{"half of it", chunkenc.EncXOR, whole[:len(whole)/2]},
		{"all but one byte", chunkenc.EncXOR, whole[:len(whole)-1]},
		{"nothing of XOR2", chunkenc.EncXOR2, nil},
		{"first sample of XOR2", chunkenc.EncXOR2, whole2[:4]},
		{"descending", chunkenc.EncXOR, encode(t, chunkenc.EncXOR, []sample{{5000, 0}, {4000, 1}, {3000, 0}})},
		{"repeated", chunkenc.EncXOR, encode(t, chunkenc.EncXOR, []sample{{1000, 0}, {2000, 1}, {2000, 0}})},
		{"beyond all time", chunkenc.EncXOR, encode(t, chunkenc.EncXOR, []sample{{math.MaxInt64 - 1, 0}, {math.MaxInt64, 1}})},
		{"unknown encoding", 77, whole},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var dec chunks.Decoder
			var p timeline.Points
			p.Append(1, 1)
			if err := dec.Append(&p, tc.enc, tc.data, minInt, maxInt); err == nil {
				t.Error("got no error")
			}
			if p.Len() != 1 || p.Last() != 1 {
				t.Errorf("a rejected chunk left %d samples", p.Len()-1)
			}
		})
	}
	for _, enc := range []chunkenc.Encoding{chunkenc.EncHistogram, chunkenc.EncFloatHistogram, chunkenc.EncHistogramST, chunkenc.EncFloatHistogramST} {
		var dec chunks.Decoder
		if err := dec.Append(&timeline.Points{}, enc, whole, minInt, maxInt); !errors.Is(err, chunks.ErrHistogram) {
			t.Errorf("%s: got %v, want ErrHistogram", enc, err)
		}
	}
}

// FuzzDecoder feeds arbitrary bytes. Whatever ours accepts, Prometheus' iterator yields alike; the reverse does not hold,
// for that iterator makes up samples at the end of truncated data. Written out properly, ours must decode those too.
func FuzzDecoder(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range shapes {
		for _, n := range []int{1, 2, 3, 120} {
			data := encode(f, chunkenc.EncXOR, generate(r, i, n))
			f.Add(data, int64(minInt), int64(maxInt))
			f.Add(data[:len(data)*2/3], int64(0), int64(1)<<41)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, mint, maxt int64) {
		var dec chunks.Decoder
		var p timeline.Points
		_ = dec.Append(&p, chunkenc.EncXOR2, data, mint, maxt) // must not panic; the iterator is Prometheus' own
		p.Reset()
		err := dec.Append(&p, chunkenc.EncXOR, data, mint, maxt)
		padded(t, data, mint, maxt, err, &p)
		if len(data) < 2 {
			return
		}
		want, werr := iterate(chunkenc.EncXOR, data)
		switch got := collect(&p); {
		case err == nil && werr != nil:
			t.Fatalf("accepted what Prometheus rejects: %v", werr)
		case err == nil && !equal(got, clip(want, mint, maxt)):
			t.Fatalf("got %v, want %v", got, clip(want, mint, maxt))
		}
		if werr != nil || !sane(want) {
			return
		}
		p.Reset()
		if err := dec.Append(&p, chunkenc.EncXOR, encode(t, chunkenc.EncXOR, want), minInt, maxInt); err != nil {
			t.Fatalf("rejected proper data: %v", err)
		}
		if got := collect(&p); !equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// padded checks that data within a larger buffer, whatever follows it there, is decoded, or refused, as it was by itself.
func padded(t *testing.T, data []byte, mint, maxt int64, failed error, want *timeline.Points) {
	t.Helper()
	for _, fill := range []byte{0, 0xff, 0x80} {
		buf := append(slices.Clone(data), bytes.Repeat([]byte{fill}, chunks.Padding)...)
		var dec chunks.Decoder
		var p timeline.Points
		var got []sample
		var err error
		if yerr := dec.Each(&p, []chunks.Encoded{{Encoding: chunkenc.EncXOR, Data: buf[:len(data)], Padded: true}}, mint, maxt,
			func(e error) { err = e },
			func() error { got = collect(&p); return nil }); yerr != nil {
			t.Fatal(yerr)
		}
		if (err != nil) != (failed != nil) || !equal(got, collect(want)) {
			t.Fatalf("padded with %#x: got %v and error %v, want %v and %v", fill, got, err, collect(want), failed)
		}
	}
}

// sane reports whether samples are such as a server writes: ascending times that are not absurd.
func sane(samples []sample) bool {
	for i, s := range samples {
		if s.t < -(1<<45) || s.t > 1<<45 || i > 0 && s.t <= samples[i-1].t {
			return false
		}
	}
	return true
}

func BenchmarkDecode(b *testing.B) {
	for i, shape := range shapes {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		data := make([][]byte, 200)
		for k := range data {
			data[k] = encode(b, chunkenc.EncXOR, generate(r, i, 120))
		}
		b.Run("shape="+shape.name+"/decoder=own", func(b *testing.B) {
			var dec chunks.Decoder
			var p timeline.Points
			for b.Loop() {
				for _, d := range data {
					p.Reset()
					if err := dec.Append(&p, chunkenc.EncXOR, d, minInt, maxInt); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(data)*120), "ns/sample")
		})
		b.Run("shape="+shape.name+"/decoder=prometheus", func(b *testing.B) {
			var it chunkenc.Iterator
			sum := 0.0
			for b.Loop() {
				for _, d := range data {
					c, err := chunkenc.FromData(chunkenc.EncXOR, d)
					if err != nil {
						b.Fatal(err)
					}
					for it = c.Iterator(it); it.Next() == chunkenc.ValFloat; {
						_, v := it.At()
						sum += v
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(data)*120), "ns/sample")
		})
	}
}

// TestStartTimes decodes chunks that begin at times of any length, from before 1970 to long after, and compares their starts with
// what an index says.
func TestStartTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for bits := range 60 {
		for range 20 {
			at := (1<<bits | r.Int64N(1<<bits)) * (1 - 2*r.Int64N(2))
			want := []sample{{at, 1}, {at + 1 + r.Int64N(1<<40), 2}}
			data := encode(t, chunkenc.EncXOR, want[:1+r.IntN(2)])
			var dec chunks.Decoder
			var p timeline.Points
			if err := dec.Append(&p, chunkenc.EncXOR, data, minInt, maxInt); err != nil || p.First() != at {
				t.Fatalf("chunk from %d begins at %d: %v", at, p.First(), err)
			}
			for _, off := range []int64{-1, 0, 1} {
				if err := chunks.CheckStart(chunkenc.EncXOR, data, at+off); (err != nil) != (off != 0) {
					t.Fatalf("chunk from %d, index says %d: %v", at, at+off, err)
				}
			}
		}
	}
}
