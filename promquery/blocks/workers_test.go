package blocks_test

import (
	"os"
	"path/filepath"
	"sync"
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

// TestWorkersEndBeforeFilesAreLetGo panics in the first worker while the second is at work.
func TestWorkersEndBeforeFilesAreLetGo(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(8, 0, 24)...)
	db := open(t, dir)
	busy, ended := make(chan struct{}), make(chan struct{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_, _ = db.SelectParallel(t.Context(), []promquery.Selector{all}, promquery.Workers{
			N:  2,
			Of: func(_ int, key []promquery.Symbol) int { return int(key[0].Value()[1]) % 2 },
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
	}()
	select {
	case <-ended:
	default:
		t.Error("it returned while a worker was at work")
	}
}
