package democluster_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery/democluster"
)

type point struct {
	t int64
	v float64
}

// read returns all samples of the selected series by their labels.
func read(t testing.TB, q storage.Queryable, from, to time.Time, selector ...string) map[string][]point {
	t.Helper()
	querier, err := q.Querier(from.UnixMilli(), to.UnixMilli()-1)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, querier)
	matchers := []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+")}
	for i := 0; i < len(selector); i += 2 {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, selector[i], selector[i+1]))
	}
	out := map[string][]point{}
	set := querier.Select(context.Background(), true, nil, matchers...)
	var it chunkenc.Iterator
	for set.Next() {
		var list []point
		it = set.At().Iterator(it)
		for it.Next() == chunkenc.ValFloat {
			at, v := it.At()
			list = append(list, point{at, v})
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		key := set.At().Labels().String()
		if out[key] != nil {
			t.Fatalf("series %s comes twice", key)
		}
		out[key] = list
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func closed(t testing.TB, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func writeBlocks(t testing.TB, c *democluster.Cluster, from, to time.Time) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := c.WriteBlocks(context.Background(), dir, from, to, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openBlocks(t testing.TB, dir string) storage.Queryable {
	t.Helper()
	db, err := tsdb.OpenDBReadOnly(dir, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, db) })
	return db
}

func head(t testing.TB) *tsdb.DB {
	t.Helper()
	options := tsdb.DefaultOptions()
	options.MinBlockDuration = (1000 * time.Hour).Milliseconds()
	options.MaxBlockDuration = options.MinBlockDuration
	options.RetentionDuration = 0
	db, err := tsdb.Open(t.TempDir(), nil, nil, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, db) })
	return db
}

func equalPoints(t testing.TB, got, want map[string][]point) {
	t.Helper()
	for key, list := range want {
		other := got[key]
		if len(other) != len(list) {
			t.Fatalf("%s: %d samples, want %d", key, len(other), len(list))
		}
		for i := range list {
			if list[i].t != other[i].t || math.Float64bits(list[i].v) != math.Float64bits(other[i].v) {
				t.Fatalf("%s: sample %d is %v, want %v", key, i, other[i], list[i])
			}
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d series, want %d", len(got), len(want))
	}
}

// Blocks cut anywhere and a head fed in uneven steps must hold the same samples.
func TestBlocksEqualAppends(t *testing.T) {
	for name, cfg := range map[string]democluster.Config{
		"30s":       {Nodes: 4, Pods: 40, Duration: 3*time.Hour + 13*time.Minute},
		"15s":       {Nodes: 4, Pods: 40, Duration: 2 * time.Hour, ScrapeInterval: 15 * time.Second, Seed: 2},
		"60s dense": {Nodes: 4, Pods: 90, Duration: 5 * time.Hour, ScrapeInterval: time.Minute, Seed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := plan(t, cfg)
			to := c.End().Add(20 * time.Minute)
			blocks := read(t, openBlocks(t, writeBlocks(t, c, c.Start(), to)), c.Start(), to)

			db := head(t)
			steps := []time.Duration{time.Second, 29 * time.Second, 700 * time.Millisecond, 41 * time.Minute, 7 * time.Minute}
			for from, i := c.Start(), 0; from.Before(to); i++ {
				next := from.Add(steps[i%len(steps)])
				if next.After(to) {
					next = to
				}
				app := db.Appender(context.Background())
				if err := c.Append(context.Background(), app, from, next); err != nil {
					t.Fatal(err)
				}
				if err := app.Commit(); err != nil {
					t.Fatal(err)
				}
				from = next
			}
			equalPoints(t, blocks, read(t, db, c.Start(), to))
		})
	}
}

func hashDir(t testing.TB, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		sum.Write([]byte(name))
		sum.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func TestSameConfigSameBytes(t *testing.T) {
	cfg := democluster.Config{Nodes: 4, Pods: 40, Duration: 3 * time.Hour}
	write := func(cfg democluster.Config, before func(*democluster.Cluster)) string {
		c := plan(t, cfg)
		before(c)
		return hashDir(t, writeBlocks(t, c, c.Start(), c.End()))
	}
	nothing := func(*democluster.Cluster) {}
	want := write(cfg, nothing)
	if got := write(cfg, nothing); got != want {
		t.Error("the same configuration wrote other bytes")
	}
	if got := write(cfg, func(c *democluster.Cluster) { c.Truth(c.End(), c.End().Add(5*time.Hour)) }); got != want {
		t.Error("planning further ahead changed the bytes")
	}
	cfg.Seed = 2
	if got := write(cfg, nothing); got == want {
		t.Error("another seed wrote the same bytes")
	}
}

func TestBlocksAreSound(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: 5 * time.Hour})
	dir := writeBlocks(t, c, c.Start(), c.End())
	if err := c.WriteBlocks(context.Background(), dir, c.Start(), c.End(), nil); err != nil {
		t.Fatalf("writing what is there already: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(c.Blocks(c.Start(), c.End())); len(entries) != want {
		t.Fatalf("%d entries in the directory, want %d blocks", len(entries), want)
	}
	for _, e := range entries {
		block, err := tsdb.OpenBlock(nil, filepath.Join(dir, e.Name()), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkBlock(t, block)
		if err := block.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkBlock reads every series and chunk: bounds, order and the figures of meta.json.
func checkBlock(t *testing.T, block *tsdb.Block) {
	t.Helper()
	q, err := tsdb.NewBlockChunkQuerier(block, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, q)
	meta := block.Meta()
	var stats tsdb.BlockStats
	last := labels.EmptyLabels()
	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+"))
	for set.Next() {
		s := set.At()
		if labels.Compare(last, s.Labels()) >= 0 {
			t.Fatalf("%s comes after %s", s.Labels(), last)
		}
		last = s.Labels()
		stats.NumSeries++
		before := int64(math.MinInt64)
		for it := s.Iterator(nil); it.Next(); {
			m := it.At()
			stats.NumChunks++
			if m.MinTime < meta.MinTime || m.MaxTime >= meta.MaxTime || m.Chunk.NumSamples() > 120 {
				t.Fatalf("%s: chunk [%d, %d] of %d samples in block [%d, %d)", last, m.MinTime, m.MaxTime, m.Chunk.NumSamples(), meta.MinTime, meta.MaxTime)
			}
			first := true
			for samples := m.Chunk.Iterator(nil); samples.Next() != chunkenc.ValNone; {
				at := samples.AtT()
				if at <= before || first && at != m.MinTime {
					t.Fatalf("%s: sample at %d after %d in chunk [%d, %d]", last, at, before, m.MinTime, m.MaxTime)
				}
				before, first = at, false
				stats.NumSamples++
			}
			if before != m.MaxTime {
				t.Fatalf("%s: chunk ends at %d, its entry says %d", last, before, m.MaxTime)
			}
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	stats.NumFloatSamples = stats.NumSamples
	if stats != meta.Stats {
		t.Fatalf("the block has %+v, its meta.json says %+v", stats, meta.Stats)
	}
}

func TestWriteBlockFails(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: time.Hour})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	canceled := t.TempDir()
	for _, tc := range []struct {
		name     string
		ctx      context.Context
		dir      string
		from, to time.Time
	}{
		{"empty", context.Background(), t.TempDir(), c.End(), c.End()},
		{"a file for a directory", context.Background(), file, c.Start(), c.End()},
		{"canceled", ctx, canceled, c.Start(), c.End()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := c.WriteBlock(tc.ctx, tc.dir, tc.from, tc.to); err == nil {
				t.Error("no error")
			}
		})
	}
	if entries, err := os.ReadDir(canceled); err != nil || len(entries) > 0 {
		t.Errorf("a canceled write left %v behind (%v)", entries, err)
	}
}

func isStale(p point) bool { return value.IsStaleNaN(p.v) }
