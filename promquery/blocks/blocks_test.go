package blocks_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

const (
	minute = int64(60_000)
	hour   = 60 * minute
	begin  = int64(1_767_571_200_000)
)

// pods returns n series of a value per minute over the hours [from, to).
func pods(n int, from, to int64) []promtest.Series {
	var list []promtest.Series
	for i := range n {
		list = append(list, promtest.Series{
			Labels:  []string{"__name__", "m", "pod", "p" + string(rune('a'+i))},
			Samples: promtest.Regular(begin+from*hour, begin+to*hour-1, minute, func(t int64) float64 { return float64(t % 7) }),
		})
	}
	return list
}

var all = promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: begin, End: begin + 24*hour}

// count selects and returns the number of samples by pod.
func count(t *testing.T, db *blocks.DB, sel promquery.Request) (map[string]int, promquery.Stats) {
	t.Helper()
	got := map[string]int{}
	stats, err := promtest.Select(t.Context(), db, []promquery.Request{sel}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
		got[key[0].Value()] += p.Len()
		return nil
	})
	if err != nil {
		t.Fatalf("Select: %v", err)
	}
	return got, stats
}

func open(t *testing.T, dir string) *blocks.DB {
	t.Helper()
	db, err := blocks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func TestOpenRejects(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, dir, want string }{
		{"missing", filepath.Join(empty, "none"), "does not exist"},
		{"file", file, "it is a file"},
		{"empty", empty, "holds no blocks"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := blocks.Open(tc.dir)
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range []string{tc.dir, tc.want, "--storage.tsdb.path", "promcost demo --write"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

// TestOpenBeside opens the directory of a Prometheus before it has a block, and finds the first one when it is there.
func TestOpenBeside(t *testing.T) {
	for _, tc := range []struct {
		name, entry, want string
	}{
		{"empty", "", ""},
		{"new", "wal", ""},
		{"another directory", "photos", "holds no blocks"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, tc.entry), 0o700); err != nil {
				t.Fatal(err)
			}
			db, err := blocks.OpenBeside(dir)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if c, err := db.Cover(t.Context()); err != nil || c.Until != 0 || len(c.Gaps) != 0 {
				t.Errorf("Cover() = %+v, %v", c, err)
			}
			promtest.WriteBlocks(t, dir, 2*time.Hour, pods(1, 0, 2)...)
			if oldest, _, err := db.Bounds(); err != nil || oldest != begin {
				t.Errorf("Bounds() = %d, %v", oldest, err)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 6)...)
	db := open(t, dir)
	oldest, newest, err := db.Bounds()
	if err != nil || oldest != begin || newest != begin+6*hour-minute+1 {
		t.Errorf("Bounds() = %d, %d, %v", oldest, newest, err)
	}
	infos, err := db.Blocks()
	if err != nil || len(infos) != 3 || infos[0].MinTime != begin || infos[2].Samples != 240 || infos[1].Series != 2 {
		t.Errorf("Blocks() = %+v, %v", infos, err)
	}
}

func TestOnlyBlocksInRangeAreRead(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(1, 0, 6)...)
	sel := all
	sel.Start, sel.End = begin+3*hour, begin+3*hour+10*minute
	got, stats := count(t, open(t, dir), sel)
	if diff := cmp.Diff(map[string]int{"pa": 11}, got); diff != "" || stats.Requests != 1 {
		t.Errorf("read %d blocks, want 1; samples (-want +got):\n%s", stats.Requests, diff)
	}
}

// damage changes a file of a block.
func damage(t *testing.T, path string, change func(data []byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(slices.Clone(data)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOverlappingBlocks(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 4)...)
	promtest.WriteBlocks(t, dir, 8*time.Hour, pods(3, 1, 5)...)
	for name, db := range readers(t, dir) {
		got, _ := count(t, db, all)
		if diff := cmp.Diff(map[string]int{"pa": 300, "pb": 300, "pc": 240}, got); diff != "" {
			t.Errorf("%s: samples (-want +got):\n%s", name, diff)
		}
	}
}

// TestWhilePrometheusWrites lets Prometheus' own code compact, delete and replace blocks while they are open here.
func TestWhilePrometheusWrites(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 8)...)
	db := open(t, dir)
	if got, _ := count(t, db, all); got["pa"] != 480 {
		t.Fatalf("got %v, want 480 samples", got)
	}
	opts := tsdb.DefaultOptions()
	opts.RetentionDuration = 100 * 365 * 24 * hour
	owner, err := tsdb.Open(dir, nil, nil, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := owner.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx := context.Background()

	t.Run("tombstones", func(t *testing.T) {
		if err := owner.Delete(ctx, begin, begin+hour-1, labels.MustNewMatcher(labels.MatchEqual, "pod", "pb")); err != nil {
			t.Fatal(err)
		}
		got, _ := count(t, db, all)
		if diff := cmp.Diff(map[string]int{"pa": 480, "pb": 420}, got); diff != "" {
			t.Errorf("samples (-want +got):\n%s", diff)
		}
	})
	t.Run("compaction", func(t *testing.T) {
		before, err := db.Blocks()
		if err != nil {
			t.Fatal(err)
		}
		deleted := false
		_, err = promtest.Select(t.Context(), db, []promquery.Request{all}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
			if !deleted { // in the midst of reading, all blocks vanish and one appears
				deleted = true
				if err := owner.CleanTombstones(); err != nil {
					return err
				}
				if err := owner.Compact(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		after, err := db.Blocks()
		if err != nil || slices.Equal(before, after) {
			t.Errorf("blocks did not change: %v, %v", after, err)
		}
		got, stats := count(t, db, all)
		if diff := cmp.Diff(map[string]int{"pa": 480, "pb": 420}, got); diff != "" || !stats.Whole() {
			t.Errorf("warnings %q, samples (-want +got):\n%s", stats.Warnings, diff)
		}
	})
}

// TestParentsAreLeftOut sees to it that a block and those it was compacted from are not read both.
func TestParentsAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 4)...)
	c, err := tsdb.NewLeveledCompactor(t.Context(), nil, nil, []int64{4 * hour}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compact(dir, dirs, nil); err != nil {
		t.Fatal(err)
	}
	db := open(t, dir)
	got, stats := count(t, db, all)
	if diff := cmp.Diff(map[string]int{"pa": 240, "pb": 240}, got); diff != "" || stats.Requests != 1 {
		t.Errorf("read %d blocks, want the compacted one; samples (-want +got):\n%s", stats.Requests, diff)
	}
}

func TestNewAndVanishedBlocks(t *testing.T) {
	dir := t.TempDir()
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(1, 0, 4)...)
	db := open(t, dir)
	for _, step := range []struct {
		name   string
		change func() error
		want   int
	}{
		{"as opened", func() error { return nil }, 240},
		{"one deleted", func() error { return os.RemoveAll(dirs[0]) }, 120},
		{"two new", func() error { promtest.WriteBlocks(t, dir, 2*time.Hour, pods(1, 4, 8)...); return nil }, 360},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if got, stats := count(t, db, all); got["pa"] != step.want || !stats.Whole() {
			t.Errorf("%s: got %d samples, want %d; warnings %q", step.name, got["pa"], step.want, stats.Warnings)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err := promtest.Select(t.Context(), db, []promquery.Request{all}, nil)
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("directory gone: got %v", err)
	}
}

func TestReadAfterClose(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(1, 0, 2)...)
	db, err := blocks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := promtest.Select(t.Context(), db, []promquery.Request{all}, nil); err == nil || !strings.Contains(err.Error(), "already closed") {
		t.Errorf("got %v", err)
	}
}

// TestReadOnly compares the directory before and after reading.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 4)...)
	before := list(t, dir)
	count(t, open(t, dir), all)
	if diff := cmp.Diff(before, list(t, dir)); diff != "" {
		t.Errorf("reading changed the directory (-before +after):\n%s", diff)
	}
}

// list returns the files below dir with size and time of change.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		files = append(files, path+" "+info.ModTime().String()+" "+info.Mode().String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// BenchmarkSelect reads 24 hours of 100 pods' constant, counter and gauge series at 30 s from 2-hour blocks.
func BenchmarkSelect(b *testing.B) {
	dir := b.TempDir()
	var list []promtest.Series
	for i := range 100 {
		pod := "pod-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		for name, f := range map[string]func(int64) float64{
			"requests": func(int64) float64 { return 0.5 },
			"cpu":      func(t int64) float64 { return float64(t-begin) * 0.000123456 * float64(i+1) },
			"memory":   func(t int64) float64 { return float64(4096 * (t / 90_000 * 7919 % 65536)) },
		} {
			list = append(list, promtest.Series{
				Labels:  []string{"__name__", name, "container", "main", "instance", "10.0.0.1:8080", "job", "kubelet", "namespace", "shop", "node", "n1", "pod", pod},
				Samples: promtest.Regular(begin, begin+24*hour-1, 30_000, f),
			})
		}
	}
	promtest.WriteBlocks(b, dir, 2*time.Hour, list...)
	db, err := blocks.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	}()
	for _, metric := range []string{"requests", "cpu", "memory"} {
		b.Run("metric="+metric, func(b *testing.B) {
			sel := promquery.Request{Metric: metric, Keep: promquery.Labels("namespace", "pod", "container", "node"), Start: begin, End: begin + 24*hour}
			samples := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				stats, err := promtest.Select(b.Context(), db, []promquery.Request{sel}, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
				samples += stats.Samples
			}
			b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
