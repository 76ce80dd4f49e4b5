package blocks_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestCoverUntil finds up to when all that came in order is in blocks: one of samples that came late says nothing of that.
func TestCoverUntil(t *testing.T) {
	const hours = 60 * 60 * 1000
	first := int64(100 * hours)
	dir := t.TempDir()
	one := promtest.Regular(first, first+6*hours-1, 60_000, func(int64) float64 { return 1 })
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, promtest.Series{Labels: []string{"__name__", "m"}, Samples: one})
	complete := func() int64 {
		t.Helper()
		db, err := blocks.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		cover, err := db.Cover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return cover.Until
	}
	last := one[len(one)-1].T
	if got := complete(); got <= last || got > first+6*hours {
		t.Errorf("complete until %d, want the end of the newest block, after %d", got, last)
	}
	file := filepath.Join(dirs[2], "meta.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var meta tsdb.BlockMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		t.Fatal(err)
	}
	meta.Compaction.SetOutOfOrder()
	if text, err = json.Marshal(meta); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := complete(); got > meta.MinTime || got < meta.MinTime-2*hours {
		t.Errorf("complete until %d, want the end of the block before the one from %d", got, meta.MinTime)
	}
}

// TestCoverGaps finds what is before, between and damaged in blocks.
func TestCoverGaps(t *testing.T) {
	const hours = 60 * 60 * 1000
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, dirs []string)
		want []promquery.Gap // apart from what is before the first block, and no longer than a scrape
	}{
		{"nothing", func(*testing.T, []string) {}, nil},
		{"gone", func(t *testing.T, dirs []string) {
			if err := os.RemoveAll(dirs[1]); err != nil {
				t.Fatal(err)
			}
		}, []promquery.Gap{{From: 102 * hours, To: 104 * hours}}},
		{"without meta.json", func(t *testing.T, dirs []string) {
			damage(t, filepath.Join(dirs[1], "meta.json"), func([]byte) []byte { return nil })
		}, []promquery.Gap{{From: 102 * hours, To: 104 * hours, Damaged: true}}},
		{"without index", func(t *testing.T, dirs []string) {
			damage(t, filepath.Join(dirs[1], "index"), func([]byte) []byte { return nil })
		}, []promquery.Gap{{From: 102 * hours, To: 104 * hours, Damaged: true}}},
		{"a chunk", func(t *testing.T, dirs []string) {
			damage(t, filepath.Join(dirs[2], "chunks/000001"), func(d []byte) []byte {
				d[20] ^= 1 // in the first, of one hour
				return d
			})
		}, []promquery.Gap{{From: 104 * hours, To: 105 * hours, Damaged: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			samples := promtest.Regular(100*hours, 106*hours-1, 30_000, func(int64) float64 { return 1 })
			tt.do(t, promtest.WriteBlocks(t, dir, 2*time.Hour, promtest.Series{Labels: []string{"__name__", "m"}, Samples: samples}))
			db := open(t, dir)
			for range 2 { // the second time, all is known
				_, stats := count(t, db, promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: 100 * hours, End: 106 * hours})
				damaged := len(tt.want) > 0 && tt.want[0].Damaged
				if tt.name != "without meta.json" && stats.Damaged != damaged {
					t.Errorf("damaged: %t, want %t", stats.Damaged, damaged)
				}
				cover, err := db.Cover(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var got []promquery.Gap
				for _, l := range cover.Gaps {
					if l.From != promquery.Ever && (l.To-l.From > 60_000 || l.Damaged) {
						const minute = 60_000
						l.From, l.To = (l.From+minute)/hours*hours, (l.To+minute)/hours*hours
						got = append(got, l)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("lacks (-want +got):\n%s", diff)
				}
			}
		})
	}
}
