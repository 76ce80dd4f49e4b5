package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"golang.org/x/sys/unix"

	"github.com/promcost/promcost/promquery/promtest"
)

// window is a stretch of time, half-open.
type window struct{ start, end time.Time }

// yardstick is the tightest reading of the samples that cost needs which Prometheus' own packages allow: one goroutine adds up
// every sample of a window, block by block and metric by metric, and keeps nothing.
type yardstick struct {
	window window
	blocks []*tsdb.Block
	needed [][]*labels.Matcher
	sum    float64 // is kept, so that it is computed
}

// loopCount is what the loop reads.
type loopCount struct{ series, chunks, samples int }

// loopRun is what the loop takes.
type loopRun struct {
	loopCount
	cpu    time.Duration
	median int // samples of a chunk
}

// openYardstick opens the blocks of a window, and checks that their shape is that of the size.
func openYardstick(b *testing.B, dir string, size computeSize) *yardstick {
	b.Helper()
	y := &yardstick{window: window{computeEnd().Add(-size.window), computeEnd()}}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range paths {
		block, err := tsdb.OpenBlock(nil, filepath.Dir(path), nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := block.Close(); err != nil {
				b.Error(err)
			}
		})
		if block.MaxTime() > y.window.start.UnixMilli() && block.MinTime() < y.window.end.UnixMilli() {
			y.blocks = append(y.blocks, block)
		}
	}
	p := parser.NewParser(parser.Options{})
	for _, text := range promtest.NeededSeries() {
		matchers, err := p.ParseMetricSelector(text)
		if err != nil {
			b.Fatal(err)
		}
		y.needed = append(y.needed, matchers)
	}
	y.check(b, size)
	return y
}

// check fails where the blocks do not have the shape of the size, or the loop is too slow.
func (y *yardstick) check(b *testing.B, size computeSize) {
	b.Helper()
	run := y.loop(b)
	if run.median == 0 || run.median > 120 {
		b.Fatalf("a chunk has %d samples, want at most 120: the median of %d", run.median, run.chunks)
	}
	if want := size.shape; want != (loopCount{}) {
		for of, n := range map[string][2]int{"series": {run.series, want.series}, "chunks": {run.chunks, want.chunks}, "samples": {run.samples, want.samples}} {
			if got, want := n[0], n[1]; got*100 < want*95 || got*100 > want*105 {
				b.Fatalf("the loop reads %d %s, want %d within 5 %%", got, of, want)
			}
		}
	}
	walk, fastest := y.walk(b), min(run.cpu, y.loop(b).cpu)
	if fastest > size.mostOfWalk*walk {
		b.Fatalf("the loop takes %s, more than %d times the %s of a walk over the same chunks in memory: it is too slow a yardstick", fastest, int(size.mostOfWalk), walk)
	}
}

// loop runs the loop.
func (y *yardstick) loop(b *testing.B) (run loopRun) {
	b.Helper()
	mint, maxt := y.window.start.UnixMilli(), y.window.end.UnixMilli()-1
	sizes := make([]int, 121) // chunks of so many samples, or more
	var it chunks.Iterator
	var samples chunkenc.Iterator
	began := ownTime(b)
	for _, block := range y.blocks {
		for _, matchers := range y.needed {
			q, err := tsdb.NewBlockChunkQuerier(block, mint, maxt)
			if err != nil {
				b.Fatal(err)
			}
			set := q.Select(b.Context(), false, nil, matchers...)
			for set.Next() {
				run.series++
				for it = set.At().Iterator(it); it.Next(); {
					run.chunks++
					n := 0
					samples, n = y.add(it.At().Chunk, samples, mint, maxt)
					run.samples += n
					sizes[min(n, len(sizes)-1)]++
				}
				if err := it.Err(); err != nil {
					b.Fatal(err)
				}
			}
			if err := set.Err(); err != nil {
				b.Fatal(err)
			}
			if err := q.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	run.cpu = ownTime(b) - began
	for passed := 0; passed*2 < run.chunks; run.median++ {
		passed += sizes[run.median]
	}
	run.median--
	return run
}

// add adds up the samples of a chunk with an iterator that is used again.
func (y *yardstick) add(c chunkenc.Chunk, it chunkenc.Iterator, mint, maxt int64) (chunkenc.Iterator, int) {
	n, sum := 0, 0.0
	it = c.Iterator(it)
	for it.Next() != chunkenc.ValNone {
		if t, v := it.At(); t >= mint && t <= maxt {
			sum, n = sum+v, n+1
		}
	}
	y.sum += sum
	return it, n
}

// walk is the time of adding up the samples of the same chunks once they lie in memory.
func (y *yardstick) walk(b *testing.B) (took time.Duration) {
	b.Helper()
	mint, maxt := y.window.start.UnixMilli(), y.window.end.UnixMilli()-1
	var arena []byte
	var list []*chunkenc.XORChunk
	var it chunks.Iterator
	var samples chunkenc.Iterator
	for _, block := range y.blocks {
		for _, matchers := range y.needed {
			q, err := tsdb.NewBlockChunkQuerier(block, mint, maxt)
			if err != nil {
				b.Fatal(err)
			}
			arena, list = arena[:0], list[:0]
			set := q.Select(b.Context(), false, nil, matchers...)
			for set.Next() {
				for it = set.At().Iterator(it); it.Next(); {
					data := it.At().Chunk.Bytes()
					at := len(arena)
					arena = append(arena, data...)
					c := chunkenc.NewXORChunk()
					c.Reset(slices.Clip(arena[at:]))
					list = append(list, c)
				}
			}
			if err := q.Close(); err != nil {
				b.Fatal(err)
			}
			began := ownTime(b)
			for _, c := range list {
				samples, _ = y.add(c, samples, mint, maxt)
			}
			took += ownTime(b) - began
		}
	}
	return took
}

// ownTime is what this process has used of processors, to the nanosecond.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
