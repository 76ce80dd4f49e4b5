package blocks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestFileCutUnderTheMap cuts the files of a block that is open. To read what is cut off is a fault, which would end the process; the block
// is left out with a warning, and the others answer.
func TestFileCutUnderTheMap(t *testing.T) {
	for _, file := range []string{"index", "chunks/000001"} {
		for _, part := range []int64{0, 1, 2, 3} { // quarters that are left
			for _, way := range []string{"own reader", "Prometheus' reader", "both readers"} {
				t.Run(fmt.Sprintf("%s, %d quarters, %s", file, part, way), func(t *testing.T) {
					dir := t.TempDir()
					dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(300, 0, 6)...)
					db := readers(t, dir)[way]
					if _, stats := count(t, db, all); len(stats.Missing()) > 0 {
						t.Fatalf("warnings %q", stats.Missing())
					}
					cut(t, filepath.Join(dirs[1], file), part)
					for range 2 {
						got, stats := count(t, db, all)
						lost := 0
						for _, n := range got {
							if n < 240 {
								t.Fatalf("got %d samples, want at least the 240 of the sound blocks", n)
							}
							lost += 360 - n
						}
						if lost == 0 && part == 3 {
							break // what is cut off was not needed
						}
						if told := strings.Join(stats.Missing(), "\n"); len(got) != 300 || lost == 0 || !strings.Contains(told, "block "+filepath.Base(dirs[1])) || !strings.Contains(told, "remove its directory") {
							t.Errorf("%d series, %d samples lost, warnings %q", len(got), lost, stats.Missing())
						}
					}
				})
			}
		}
	}
}

// cut leaves so many quarters of a file.
func cut(t *testing.T, path string, quarters int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()*quarters/4); err != nil {
		t.Fatal(err)
	}
}

// TestFileCutWhileItIsRead cuts the files of a block in the middle of a read. A warning says that samples are missing, or the read fails and
// says why.
func TestFileCutWhileItIsRead(t *testing.T) {
	for _, file := range []string{"index", "chunks/000001"} {
		for _, at := range []int{0, 1, 100, 1000} { // series
			dir := t.TempDir()
			dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(3000, 0, 4)...)
			db := open(t, dir)
			seen, samples := 0, 0
			stats, err := promtest.Select(t.Context(), db, []promquery.Request{all}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
				if seen++; seen == at+1 {
					cut(t, filepath.Join(dirs[1], file), 0)
				}
				samples += p.Len()
				return nil
			})
			if err == nil && samples < 3000*240 && len(stats.Missing()) == 0 || err != nil && !strings.Contains(err.Error(), "the system cannot read its file") {
				t.Errorf("%s cut at series %d: %d samples, error %v, warnings %q", file, at, samples, err, stats.Missing())
			}
			got, stats := count(t, db, all)
			if len(got) != 3000 || len(stats.Missing()) == 0 {
				t.Errorf("%s, read again: %d series, warnings %q", file, len(got), stats.Missing())
			}
		}
	}
}
