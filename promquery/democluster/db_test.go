package democluster_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/promquery/democluster"
)

var (
	_ storage.Queryable      = (*democluster.DB)(nil)
	_ storage.ChunkQueryable = (*democluster.DB)(nil)
)

// clock is a clock that tests set.
type clock struct{ millis atomic.Int64 }

func (c *clock) set(t time.Time) { c.millis.Store(t.UnixMilli()) }
func (c *clock) now() time.Time  { return time.UnixMilli(c.millis.Load()) }

func open(t *testing.T, c *democluster.Cluster, opts democluster.DBOptions) *democluster.DB {
	t.Helper()
	db, err := democluster.Open(context.Background(), filepath.Join(t.TempDir(), "data"), c, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, db) })
	return db
}

func TestDBFillsUp(t *testing.T) {
	cfg := democluster.Config{Nodes: 4, Pods: 40, Duration: 13 * time.Hour, ScrapeInterval: time.Minute}
	c := plan(t, cfg)
	db := open(t, c, democluster.DBOptions{})
	before := db.Progress()
	if before.Written != 4 || before.Total != 8 || before.Ready {
		t.Errorf("after Open: %+v, want 4 of 8", before)
	}
	want := read(t, openBlocks(t, writeBlocks(t, c, c.Start(), c.End())), c.Start(), c.End())
	since := c.End().Add(-6 * time.Hour)
	if got := read(t, db, since, c.End(), "__name__", "up"); len(got) != 16 {
		t.Errorf("%d up series right after Open, want 16", len(got))
	}
	if err := db.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := db.Progress(); got != (democluster.Progress{Written: 8, Total: 8, Ready: true}) {
		t.Errorf("after Run: %+v", got)
	}
	equalPoints(t, read(t, db, c.Start(), c.End()), want)
}

func TestDBLivesOn(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: 3 * time.Hour})
	var now clock
	now.set(c.End().Add(20 * time.Second))
	db := open(t, c, democluster.DBOptions{Live: true, Now: now.now})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	for !db.Progress().Ready {
		select {
		case err := <-done:
			t.Fatalf("Run returned before the history was in: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	// The ticker of a live DB is the wall clock's: here the clock jumps ahead, past where the TSDB compacts its head.
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("Run after cancel: %v", err)
	}
	for _, hours := range []time.Duration{1, 2, 4} {
		now.set(c.End().Add(hours * time.Hour))
		if err := db.CatchUp(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	to := now.now()
	want := read(t, openBlocks(t, writeBlocks(t, c, c.Start(), to)), c.Start(), to)
	equalPoints(t, read(t, db, c.Start(), to), want)
}

func TestOpenRefuses(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: time.Hour})
	full := t.TempDir()
	file := filepath.Join(full, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tc := range []struct {
		name, dir, want string
		ctx             context.Context
	}{
		{"not empty", full, "it is not empty (found file); choose an empty directory or remove this one", context.Background()},
		{"a file", file, "open demo database", context.Background()},
		{"below a file", filepath.Join(file, "data"), "demo database", context.Background()},
		{"canceled", filepath.Join(full, "new"), "context canceled", ctx},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db, err := democluster.Open(tc.ctx, tc.dir, c, democluster.DBOptions{})
			if err == nil {
				closed(t, db)
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, want it to say %q", err, tc.want)
			}
		})
	}
}
