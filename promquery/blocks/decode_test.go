package blocks_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

// manyBlocks writes two blocks with many series of three metrics: constant ones, and long ones that change. Of the third there is one.
func manyBlocks(t *testing.T) (dir string, sels []promquery.Request) {
	t.Helper()
	var series []promtest.Series
	end := 4 * time.Hour.Milliseconds()
	for i := range 1_500 {
		constant := promtest.Regular(0, end, 600_000, func(int64) float64 { return float64(i) })
		series = append(series, promtest.Series{Labels: []string{"__name__", "constant", "pod", fmt.Sprintf("pod-%04d", i)}, Samples: constant})
		if i < 300 {
			moving := promtest.Regular(0, end, 30_000, func(at int64) float64 { return math.Sin(float64(at + int64(i))) })
			series = append(series, promtest.Series{Labels: []string{"__name__", "moving", "pod", fmt.Sprintf("pod-%04d", i)}, Samples: moving})
		}
	}
	series = append(series, promtest.Series{Labels: []string{"__name__", "one", "pod", "last"}, Samples: []promtest.Sample{{T: 1, V: 1}}})
	dir = t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	for _, metric := range []string{"constant", "none", "moving", "one"} {
		sels = append(sels, promquery.Request{Metric: metric, Keep: promquery.Labels("pod"), End: end})
	}
	return dir, sels
}

// TestDecoders reads series with several processors: they come in the same order and with the same samples as with one, also where some
// cannot be read.
func TestDecoders(t *testing.T) {
	dir, rs := manyBlocks(t)
	db := open(t, dir)
	t.Run("intact", func(t *testing.T) { compareDecoders(t, db, rs, 1_801, 0) })
	files, err := filepath.Glob(filepath.Join(dir, "*", "chunks", "000001"))
	if err != nil {
		t.Fatal(err)
	}
	damage(t, files[0], func(data []byte) []byte {
		for at := 1_000; at < len(data); at += 20_000 {
			data[at]++
		}
		return data
	})
	t.Run("damaged", func(t *testing.T) { compareDecoders(t, open(t, dir), rs, 1_801, 1) })
}

// compareDecoders reads rs, which have some series and losses, with one processor and with several.
func compareDecoders(t *testing.T, db *blocks.DB, rs []promquery.Request, series, losses int) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	read := func(n int) (got []string, stats promquery.Stats) {
		runtime.GOMAXPROCS(n)
		stats, err := promtest.Select(t.Context(), db, rs, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			sum := 0.0
			for at, v := range p.All() {
				sum += v * float64(1+at%7)
			}
			got = append(got, fmt.Sprint(i, key[0].Value(), p.Len(), p.First(), p.Last(), sum))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got, stats
	}
	want, first := read(1)
	for _, n := range []int{2, 4} {
		got, stats := read(n)
		if diff := cmp.Diff(want, got); diff != "" || len(got) != series {
			t.Errorf("%d processors: %d series (-1 +%d):\n%s", n, len(got), n, diff)
		}
		if stats.Series != first.Series || stats.Samples != first.Samples || stats.Bytes != first.Bytes {
			t.Errorf("%d processors: %d series, %d samples, %d bytes, want %d, %d, %d", n, stats.Series, stats.Samples, stats.Bytes, first.Series, first.Samples, first.Bytes)
		}
		if diff := cmp.Diff(first.Losses, stats.Losses); diff != "" || len(stats.Losses) != losses {
			t.Errorf("%d processors: %d losses, want %d (-1 +%d):\n%s", n, len(stats.Losses), losses, n, diff)
		}
	}
}

// TestReadingEnds refuses a series, or panics, while those that follow are decoded.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	dir, rs := manyBlocks(t)
	db := open(t, dir)
	refused := errors.New("refused")
	for _, at := range []int{1, 700, 1_600, 1_801} {
		for _, panics := range []bool{false, true} {
			series := 0
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				_, err = promtest.Select(t.Context(), db, rs, func(int, []promquery.Symbol, *timeline.Points) error {
					if series++; series < at {
						return nil
					}
					if panics {
						panic(refused)
					}
					return refused
				})
				return err
			}()
			if !errors.Is(err, refused) || series != at {
				t.Errorf("series %d, panics %v: error %v after %d series", at, panics, err, series)
			}
		}
	}
}

// TestManySeries reads more series of a request than are looked up at a time. Each comes once, in their order, with the samples of all
// blocks.
func TestManySeries(t *testing.T) {
	t.Parallel()
	const many = 10_000
	var list []promtest.Series
	var want []string
	for m, metric := range []string{"a", "b"} {
		for i := range many {
			pod := fmt.Sprintf("pod-%05d", i)
			list = append(list, promtest.Series{
				Labels:  []string{"__name__", metric, "pod", pod},
				Samples: []promtest.Sample{{T: 1, V: float64(i)}, {T: 2*time.Hour.Milliseconds() + 1, V: float64(i)}},
			})
			want = append(want, fmt.Sprint(m, pod, 2))
		}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	rs := make([]promquery.Request, 2)
	for i, metric := range []string{"a", "b"} {
		rs[i] = promquery.Request{Metric: metric, Keep: promquery.Labels("pod"), End: 3 * time.Hour.Milliseconds()}
	}
	var got []string
	stats, err := promtest.Select(t.Context(), open(t, dir), rs, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		got = append(got, fmt.Sprint(i, key[0].Value(), p.Len()))
		return nil
	})
	if err != nil || stats.Series != 2*many || !slices.Equal(got, want) {
		t.Errorf("%d series, error %v, as they should be %v", stats.Series, err, slices.Equal(got, want))
	}
}

// TestOddBlocksSideBySide reads blocks that are not as ours from several goroutines.
func TestOddBlocksSideBySide(t *testing.T) {
	dir := t.TempDir()
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 8)...)
	if err := os.WriteFile(filepath.Join(dirs[0], "chunks", ".stray"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, dir)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 10 {
				n := 0
				stats, err := promtest.Select(t.Context(), db, []promquery.Request{all}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
					n += p.Len()
					return nil
				})
				if err != nil || n != 960 || !stats.Whole() {
					t.Errorf("%d samples, warnings %q, error %v", n, stats.Warnings, err)
				}
			}
		})
	}
	wait.Wait()
}
