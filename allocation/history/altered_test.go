package history_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
)

// TestAltered changes the content of manifests and gives them matching checksums. Each is reported as damaged and is not a
// set; written again, it is sound.
func TestAltered(t *testing.T) {
	day := allocation.Window{Start: hour(0).Start, End: hour(0).Start.Add(24 * time.Hour)}
	files := func(m map[string]any) []any { return m["files"].([]any) }
	for _, tt := range []struct {
		name, manifest string
		period         history.Period
		change         func(m map[string]any)
		want           string
	}{
		{"a day names a file twice", dayManifest, history.Daily, func(m map[string]any) { m["files"] = append(files(m), files(m)[0]) }, "twice"},
		{"an hour names a file twice", hourManifest, history.Hourly, func(m map[string]any) { m["files"] = append(files(m), files(m)[2]) }, "twice"},
		{"a day of 48 hours", dayManifest, history.Daily, func(m map[string]any) { m["end"] = "2026-03-04T00:00:00Z" }, "its window is"},
		{"a day of 23 hours", dayManifest, history.Daily, func(m map[string]any) { m["end"] = "2026-03-02T23:00:00Z" }, "its window is"},
		{"a day of 27 hours in an unknown zone", dayManifest, history.Daily, func(m map[string]any) { m["zone"], m["end"] = "Mars/Olympus", "2026-03-03T03:00:00Z" }, "its window is"},
		{"a day that begins later", dayManifest, history.Daily, func(m map[string]any) { m["start"] = "2026-03-02T01:00:00Z" }, "its window is"},
		{"a day of another zone", dayManifest, history.Daily, func(m map[string]any) { m["zone"] = "+05:30" }, "its window is"},
		{"an hour of two", hourManifest, history.Hourly, func(m map[string]any) { m["end"] = "2026-03-02T05:00:00Z" }, "its window is"},
		{"a day's file of another cluster", dayManifest, history.Daily, func(m map[string]any) { files(m)[1].(map[string]any)["cluster"] = "c9" }, "as a file of the cluster"},
		{"a day without files, whose hours have some", dayManifest, history.Daily, func(m map[string]any) { m["files"] = []any{} }, "it names no files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := directory(t, history.Options{})
			write(t, s, soundSet(1, day, 3, "c1", "c2"), history.WriteOptions{Period: history.Daily, Complete: true})
			write(t, s, soundSet(1, hour(3), 3, "c1", "c2"), history.WriteOptions{Period: history.Hourly, Complete: true})
			alter(t, filepath.Join(dir, tt.manifest), tt.change)

			s = history.New(open(t, dir), history.Options{})
			l := all(t, s, tt.period)
			if len(l.Sets) != 0 || len(l.Corrupt) != 1 || l.Corrupt[0].Name != tt.manifest || !strings.Contains(l.Corrupt[0].Error(), tt.want) {
				t.Fatalf("%d sets, damaged %v, want %q", len(l.Sets), l.Corrupt, tt.want)
			}
			w := day
			if tt.period == history.Hourly {
				w = hour(3)
			}
			write(t, s, soundSet(1, w, 3, "c1", "c2"), history.WriteOptions{Period: tt.period, Complete: true})
			if l := all(t, s, tt.period); len(l.Sets) != 1 || len(l.Corrupt) != 0 || l.Sets[0].Window != w {
				t.Errorf("written again: %d sets, damaged %v", len(l.Sets), l.Corrupt)
			}
		})
	}
}

// alter changes a manifest.
func alter(t *testing.T, path string, change func(m map[string]any)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), "\n")
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	if data, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	data = fmt.Appendf(data, "\n%08x\n", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCheckSizes damages a data file. A missing file is always found, another length if the backend knows lengths.
func TestCheckSizes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(path string) error
		want   string // "" for nothing
	}{
		{"sound", func(string) error { return nil }, ""},
		{"missing", os.Remove, "missing"},
		{"empty", func(path string) error { return os.Truncate(path, 0) }, "it has 0 bytes"},
		{"cut", func(path string) error { return os.Truncate(path, 100) }, "it has 100 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := directory(t, history.Options{})
			stored := write(t, s, soundSet(1, hour(3), 3, "c1", "c2"), history.WriteOptions{Complete: true})
			name := stored.Files()[1]
			if err := tt.change(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			damaged, err := s.CheckSizes(t.Context(), []history.Stored{stored})
			if err != nil || (len(damaged) == 1) != (tt.want != "") {
				t.Fatalf("damaged are %v, %v, want %q", damaged, err, tt.want)
			}
			if tt.want != "" && (damaged[0].Name != name || !strings.Contains(damaged[0].Error(), tt.want)) {
				t.Errorf("%v, want %q", damaged[0], tt.want)
			}
		})
	}
}

// TestCheckSizesOfBackends holds that nothing is wrong with sound sets, whatever the backend tells.
func TestCheckSizesOfBackends(t *testing.T) {
	eachBackend(t, func(t *testing.T, b history.Backend) {
		s := history.New(b, history.Options{})
		sets := []history.Stored{write(t, s, soundSet(1, hour(3), 3, "c1"), history.WriteOptions{})}
		if damaged, err := s.CheckSizes(t.Context(), sets); err != nil || len(damaged) > 0 {
			t.Errorf("damaged are %v, %v", damaged, err)
		}
		if err := b.Delete(t.Context(), sets[0].Files()[0]); err != nil {
			t.Fatal(err)
		}
		if damaged, err := s.CheckSizes(t.Context(), sets); err != nil || len(damaged) != 1 {
			t.Errorf("damaged are %v, %v", damaged, err)
		}
	})
}
