package blocks_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

// manyBlocks writes two blocks with many series of three metrics: constant ones, and long ones that change. Of the third there is one.
func manyBlocks(t *testing.T) (dir string, sels []promquery.Selector) {
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
		sels = append(sels, promquery.Selector{Metric: metric, Keep: []string{"pod"}, End: end})
	}
	return dir, sels
}

// TestReadAhead reads series for one of several workers: they come in the same order and with the same samples as those for a single one,
// also where some cannot be read.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	dir, sels := manyBlocks(t)
	db := open(t, dir)
	t.Run("intact", func(t *testing.T) { compareAhead(t, db, sels, 1_801, 0) })
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
	t.Run("damaged", func(t *testing.T) { compareAhead(t, open(t, dir), sels, 1_801, 1) })
}

// compareAhead reads sels, which have some series and losses, for one of several workers and for a single one.
func compareAhead(t *testing.T, db *blocks.DB, sels []promquery.Selector, series, losses int) {
	t.Helper()
	read := func(n int) (got []string, stats promquery.Stats) {
		stats, err := db.SelectParallel(t.Context(), sels, promquery.Workers{N: n, Yield: func(worker, i int, key []promquery.Symbol, p *timeline.Points) error {
			sum := 0.0
			for at, v := range p.All() {
				sum += v * float64(1+at%7)
			}
			got = append(got, fmt.Sprint(worker, i, key[0].Value(), p.Len(), p.First(), p.Last(), sum))
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return got, stats
	}
	want, told := read(1)
	for _, n := range []int{2, 4} {
		got, stats := read(n)
		if diff := cmp.Diff(want, got); diff != "" || len(got) != series {
			t.Errorf("%d workers: %d series (-1 worker +%d):\n%s", n, len(got), n, diff)
		}
		if stats.Series != told.Series || stats.Samples != told.Samples || stats.Bytes != told.Bytes {
			t.Errorf("%d workers: %d series, %d samples, %d bytes, want %d, %d, %d", n, stats.Series, stats.Samples, stats.Bytes, told.Series, told.Samples, told.Bytes)
		}
		if diff := cmp.Diff(told.Losses, stats.Losses); diff != "" || len(stats.Losses) != losses {
			t.Errorf("%d workers: %d losses, want %d (-1 worker +%d):\n%s", n, len(stats.Losses), losses, n, diff)
		}
	}
}

// TestReadAheadEnds refuses a series, or panics, while those that follow are decoded.
func TestReadAheadEnds(t *testing.T) {
	t.Parallel()
	dir, sels := manyBlocks(t)
	db := open(t, dir)
	refused := errors.New("refused")
	for _, at := range []int{1, 700, 1_600, 1_801} {
		for _, panics := range []bool{false, true} {
			yielded := 0
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				_, err = db.SelectParallel(t.Context(), sels, promquery.Workers{N: 4, Yield: func(int, int, []promquery.Symbol, *timeline.Points) error {
					if yielded++; yielded < at {
						return nil
					}
					if panics {
						panic(refused)
					}
					return refused
				}})
				return err
			}()
			if !errors.Is(err, refused) || yielded != at {
				t.Errorf("series %d, panics %v: error %v after %d series", at, panics, err, yielded)
			}
		}
	}
}
