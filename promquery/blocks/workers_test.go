package blocks_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestForeignBlocksSideBySide reads blocks that are not as ours from several goroutines.
func TestForeignBlocksSideBySide(t *testing.T) {
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
				stats, err := db.Select(t.Context(), []promquery.Selector{all}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
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

// TestWorkersEndBeforeFilesAreLetGo panics in the first worker while the second is at work. A single worker fails the same way.
func TestWorkersEndBeforeFilesAreLetGo(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(8, 0, 24)...)
	db := open(t, dir)
	for _, n := range []int{1, 2} {
		busy, ended := make(chan struct{}), make(chan struct{})
		if n == 1 {
			close(busy)
			close(ended)
		}
		_, err := db.SelectParallel(t.Context(), []promquery.Selector{all}, promquery.Workers{
			N:  n,
			Of: func(_ int, key []promquery.Symbol) int { return int(key[0].Value()[1]) % n },
			Yield: func(worker, _ int, _ []promquery.Symbol, _ *timeline.Points) error {
				if worker == 0 {
					<-busy
					panic("boom")
				}
				select {
				case <-busy:
				default:
					close(busy)
					time.Sleep(100 * time.Millisecond) // the first worker has panicked meanwhile
					close(ended)
				}
				return nil
			},
		})
		if err == nil || !strings.Contains(err.Error(), "internal error: boom") {
			t.Errorf("%d workers: error %v, want one about the panic", n, err)
		}
		select {
		case <-ended:
		default:
			t.Errorf("%d workers: it returned while one was at work", n)
		}
	}
}

// TestWorkersEndTogether has one of several workers refuse a series: all end, with the error of that one.
func TestWorkersEndTogether(t *testing.T) {
	t.Parallel()
	dir, sels := manyBlocks(t)
	db := open(t, dir)
	refused := errors.New("refused")
	for _, at := range []int32{1, 300, 540} {
		var own atomic.Int32
		_, err := db.SelectParallel(t.Context(), sels, promquery.Workers{
			N:  3,
			Of: func(_ int, key []promquery.Symbol) int { return int(key[0].Value()[len(key[0].Value())-1]) % 3 },
			Yield: func(worker, _ int, _ []promquery.Symbol, _ *timeline.Points) error {
				if worker == 1 && own.Add(1) >= at {
					return refused
				}
				return nil
			},
		})
		if !errors.Is(err, refused) || own.Load() != at {
			t.Errorf("series %d: error %v after %d series", at, err, own.Load())
		}
	}
}

// TestManySeries reads more series of a selector than are looked up at a time. Each comes once, to its worker, with the samples of
// all blocks. Those of a worker come in their order. Those of several workers come when all others of the selector have.
func TestManySeries(t *testing.T) {
	t.Parallel()
	const many, n = 10_000, 3
	var series []promtest.Series
	for i := range many {
		for _, metric := range []string{"a", "b"} {
			series = append(series, promtest.Series{
				Labels:  []string{"__name__", metric, "pod", fmt.Sprintf("pod-%05d", i)},
				Samples: []promtest.Sample{{T: 1, V: float64(i)}, {T: 2*time.Hour.Milliseconds() + 1, V: float64(i)}},
			})
		}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	db := open(t, dir)
	db.UseLibrary(2)
	number := func(key []promquery.Symbol) int {
		var i int
		if _, err := fmt.Sscanf(key[0].Value(), "pod-%05d", &i); err != nil {
			t.Error(err)
		}
		return i
	}
	sels := make([]promquery.Selector, 2)
	for i, metric := range []string{"a", "b"} {
		sels[i] = promquery.Selector{Metric: metric, Keep: []string{"pod"}, End: 3 * time.Hour.Milliseconds()}
	}
	for _, of := range []int{n, n + 1} { // without series of several workers, and with some
		var mu sync.Mutex
		seen, last := [2][]int{}, [n + 1]int{}
		others := 0 // seven of ten: a fourth are of several workers, half of the tenth that is skipped are not
		stats, err := db.SelectParallel(t.Context(), sels, promquery.Workers{
			N:    n,
			Skip: func(_ int, key []promquery.Symbol) bool { return number(key)%10 == 9 },
			Of:   func(_ int, key []promquery.Symbol) int { return number(key) % of },
			Yield: func(worker, i int, key []promquery.Symbol, p *timeline.Points) error {
				mu.Lock()
				defer mu.Unlock()
				k := number(key)
				if seen[i] = append(seen[i], k); worker != k%of || p.Len() != 2 {
					t.Errorf("series %d: %d samples for worker %d", k, p.Len(), worker)
				}
				if at := i*many + k; at < last[worker] {
					t.Errorf("worker %d: series %d of selector %d comes too late", worker, k, i)
				} else {
					last[worker] = at
				}
				if worker < n {
					others++
				} else if want := (i + 1) * many * 7 / 10; others != want {
					t.Errorf("series %d of several workers comes after %d others, want %d", k, others, want)
				}
				return nil
			},
		})
		if err != nil || stats.Series != 2*many*9/10 {
			t.Errorf("%d series, error %v", stats.Series, err)
		}
		for i := range seen {
			if slices.Sort(seen[i]); len(slices.Compact(seen[i])) != many*9/10 {
				t.Errorf("selector %d: %d different series, want %d", i, len(slices.Compact(seen[i])), many*9/10)
			}
		}
	}
}

// TestSoon checks that each worker is told of all series that it gets, in their order and before they come, but for those that come last.
func TestSoon(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(300, 0, 8)...)
	db := open(t, dir)
	for name, workers := range map[string]promquery.Workers{
		"one":                               {N: 1},
		"one, decoded by another goroutine": {N: 2},
		"two":                               {N: 2, Of: func(_ int, key []promquery.Symbol) int { return len(key[0].Value()) % 2 }},
		"some at the end":                   {N: 2, Of: func(_ int, key []promquery.Symbol) int { return len(key[0].Value()) % 3 }},
	} {
		t.Run(name, func(t *testing.T) {
			told, got := make([][]string, workers.N+1), make([]int, workers.N+1) // by worker
			workers.Soon = func(worker, _ int, keys [][]promquery.Symbol) {
				if len(keys) > promquery.SoonAtOnce || worker < workers.N && got[worker] != len(told[worker]) {
					t.Errorf("worker %d is told of %d series after it got %d of %d", worker, len(keys), got[worker], len(told[worker]))
				}
				for _, key := range keys {
					told[worker] = append(told[worker], fmt.Sprint(key))
				}
			}
			workers.Yield = func(worker, _ int, key []promquery.Symbol, _ *timeline.Points) error {
				if n := got[worker]; worker < workers.N && (n >= len(told[worker]) || told[worker][n] != fmt.Sprint(key)) {
					t.Errorf("worker %d was not told of series %d, %v", worker, n, key)
				}
				got[worker]++
				return nil
			}
			if _, err := db.SelectParallel(t.Context(), []promquery.Selector{all}, workers); err != nil {
				t.Fatal(err)
			}
			if sum := got[0] + got[1] + got[len(got)-1]; sum < 300 {
				t.Errorf("got %v series", got)
			}
		})
	}
}
