package history_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
)

// Names of manifests in the test of misplaced ones.
const (
	dayManifest  = "sets_daily/year=2026/date=2026-03-02.part-1of1.g1.json"
	hourManifest = "sets_hourly/date=2026-03-02/hour=03.part-1of1.g1.json"
)

// TestMisplaced puts manifests under names that are not theirs. Each is reported as damaged under its new name. No set
// appears twice or disappears: the file under its own name counts.
func TestMisplaced(t *testing.T) {
	day := allocation.Window{Start: hour(0).Start, End: hour(0).Start.Add(24 * time.Hour)}
	for _, tt := range []struct {
		name, from, to string
		period         history.Period
		empty          bool // the sets have no rows, so no files
	}{
		{"a day under the next one", dayManifest, "sets_daily/year=2026/date=2026-03-03.part-1of1.g1.json", history.Daily, false},
		{"a day under the one before", dayManifest, "sets_daily/year=2026/date=2026-03-01.part-1of1.g1.json", history.Daily, false},
		{"a day under another year", dayManifest, "sets_daily/year=2027/date=2027-03-02.part-1of1.g1.json", history.Daily, false},
		{"an empty day under another one", dayManifest, "sets_daily/year=2026/date=2026-03-04.part-1of1.g1.json", history.Daily, true},
		{"a day as another generation", dayManifest, "sets_daily/year=2026/date=2026-03-02.part-1of1.g2.json", history.Daily, false},
		{"a day as a shard's", dayManifest, "sets_daily/year=2026/date=2026-03-02.part-1of2.g1.json", history.Daily, false},
		{"a day under an hour", dayManifest, "sets_hourly/date=2026-03-02/hour=00.part-1of1.g1.json", history.Hourly, false},
		{"an hour under a day", hourManifest, "sets_daily/year=2026/date=2026-03-04.part-1of1.g1.json", history.Daily, false},
		{"an hour under the next one", hourManifest, "sets_hourly/date=2026-03-02/hour=04.part-1of1.g1.json", history.Hourly, false},
		{"an hour under another day", hourManifest, "sets_hourly/date=2026-03-05/hour=03.part-1of1.g1.json", history.Hourly, false},
		{"an empty hour under another one", hourManifest, "sets_hourly/date=2026-03-02/hour=09.part-1of1.g1.json", history.Hourly, true},
		{"an hour as a counted one", hourManifest, "sets_counted/date=2026-03-02/hour=03.part-1of1.g1.json", history.Counted, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := directory(t, history.Options{})
			clusters := []string{"c1", "c2"}
			if tt.empty {
				clusters = nil
			}
			write(t, s, soundSet(1, day, 3, clusters...), history.WriteOptions{Period: history.Daily, Complete: true})
			write(t, s, soundSet(1, hour(3), 3, clusters...), history.WriteOptions{Period: history.Hourly, Complete: true})
			copyFile(t, dir, tt.from, tt.to)

			s = history.New(open(t, dir), history.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
			damaged := all(t, s, tt.period).Corrupt
			if len(damaged) != 1 || damaged[0].Name != tt.to || !strings.Contains(damaged[0].Error(), "remove it") {
				t.Errorf("damaged are %v, want %s", damaged, tt.to)
			}
			if _, err := s.Clean(t.Context()); err != nil {
				t.Fatal(err)
			}
			for p := range history.NumPeriods {
				l := all(t, s, p)
				want := 1
				if p == history.Counted {
					want = 0
				}
				if len(l.Sets) != want || len(l.Partial) != 0 {
					t.Errorf("%d whole and %d partial %s sets, want %d and none", len(l.Sets), len(l.Partial), p, want)
				}
				for i := range l.Sets {
					if _, err := s.Verify(t.Context(), &l.Sets[i]); err != nil {
						t.Error(err)
					}
				}
			}
			if unreferenced, err := s.Unreferenced(t.Context()); err != nil || len(unreferenced) > 0 {
				t.Errorf("unreferenced %v, %v", unreferenced, err)
			}
		})
	}
}

// copyFile copies a file of a directory to another name.
func copyFile(t *testing.T, dir, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, from))
	if err != nil {
		t.Fatal(err)
	}
	to = filepath.Join(dir, to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRenamed renames a manifest: cleaning keeps the files that it names, so that renaming it back brings the set back.
func TestRenamed(t *testing.T) {
	s, dir := directory(t, history.Options{})
	stored := write(t, s, soundSet(1, hour(3), 3, "c1"), history.WriteOptions{Complete: true})
	wrong := filepath.Join(dir, "sets_hourly/date=2026-03-02/hour=05.part-1of1.g1.json")
	if err := os.Rename(filepath.Join(dir, hourManifest), wrong); err != nil {
		t.Fatal(err)
	}
	s = history.New(open(t, dir), history.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	if c, err := s.Clean(t.Context()); err != nil || c != (history.Cleaned{}) {
		t.Errorf("cleaned %+v, %v", c, err)
	}
	if err := os.Rename(wrong, filepath.Join(dir, hourManifest)); err != nil {
		t.Fatal(err)
	}
	s = history.New(open(t, dir), history.Options{})
	if _, err := s.Verify(t.Context(), &stored); err != nil {
		t.Error(err)
	}
}

// TestOtherFiles exchanges data files of clusters, kinds and hours. Each is reported as damaged.
func TestOtherFiles(t *testing.T) {
	at := func(kind, cluster, hour string) string {
		return kind + "_hourly/cluster=" + cluster + "/date=2026-03-02/hour=" + hour + "/part-1of1.g1.parquet"
	}
	for _, tt := range []struct{ name, from string }{
		{"another cluster's", at("allocations", "c2", "03")},
		{"another kind's", at("assets", "c1", "03")},
		{"another hour's", at("allocations", "c1", "04")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := directory(t, history.Options{})
			stored := write(t, s, soundSet(1, hour(3), 3, "c1", "c2"), history.WriteOptions{Complete: true})
			write(t, s, soundSet(1, hour(4), 3, "c1", "c2"), history.WriteOptions{Complete: true})
			to := at("allocations", "c1", "03")
			if err := os.Remove(filepath.Join(dir, to)); err != nil {
				t.Fatal(err)
			}
			copyFile(t, dir, tt.from, to)
			_, err := history.New(open(t, dir), history.Options{}).Verify(t.Context(), &stored)
			if corrupt, ok := errors.AsType[*history.CorruptError](err); !ok || corrupt.Name != to {
				t.Errorf("verify says %v, want damage of %s", err, to)
			}
		})
	}
}

// TestMisplacedFiles finds files that belong to no set.
func TestMisplacedFiles(t *testing.T) {
	s, dir := directory(t, history.Options{})
	write(t, s, soundSet(1, hour(3), 3, "c1"), history.WriteOptions{Complete: true})
	write(t, s, soundSet(2, hour(3), 3, "c1"), history.WriteOptions{Complete: true, Replace: true})
	data := "allocations_hourly/cluster=c1/date=2026-03-02/hour=03/part-1of1.g2.parquet"
	want := []string{
		"allocations_hourly/cluster=c2/date=2026-03-02/hour=03/part-1of1.g2.parquet",
		"allocations_hourly/copy.parquet",
		"sets_hourly/date=2026-03-02/hour=03 (copy).json",
	}
	for i, name := range []string{data, data, hourManifest} {
		copyFile(t, dir, name, want[i])
	}
	copyFile(t, dir, data, "tmp/part-1")
	if unreferenced, err := s.Unreferenced(t.Context()); err != nil || !slices.Equal(unreferenced, want) {
		t.Errorf("unreferenced %q, %v, want %q", unreferenced, err, want)
	}
}

// TestStats damages the file of a set's stats, which verifying finds.
func TestStats(t *testing.T) {
	const name = "sets_hourly/date=2026-03-02/hour=03.part-1of1.g1.stats.json"
	reading := func(change func(*allocation.Reading)) *allocation.Reading {
		r := &allocation.Reading{Window: hour(3), Resolution: time.Minute, Sources: []allocation.SourceReading{{Name: "blocks", Samples: 12345}}}
		change(r)
		return r
	}
	for _, tt := range []struct {
		name    string
		reading func(*allocation.Reading)
		damage  func(string) string
		want    string // part of the error, "" for none
	}{
		{"sound", func(*allocation.Reading) {}, strings.Clone, ""},
		{"of several hours", func(r *allocation.Reading) { r.Window = allocation.Window{Start: hour(1).Start, End: hour(6).End} }, strings.Clone, ""},
		{"of before there were checksums", func(*allocation.Reading) {}, func(s string) string { return s[:strings.Index(s, `,`+"\n"+`  "CRC32C"`)] + "\n}" }, ""},
		{"a digit differs", func(*allocation.Reading) {}, func(s string) string { return strings.Replace(s, "12345", "12346", 1) }, "checksum"},
		{"cut", func(*allocation.Reading) {}, func(s string) string { return s[:len(s)/2] }, "unexpected end"},
		{"empty", func(*allocation.Reading) {}, func(string) string { return "" }, "unexpected end"},
		{"of another hour", func(r *allocation.Reading) { r.Window = hour(4) }, strings.Clone, "does not contain the set"},
		{"of another resolution", func(r *allocation.Reading) { r.Resolution = time.Hour }, strings.Clone, "resolution"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := directory(t, history.Options{})
			set := soundSet(1, hour(3), 3, "c1")
			set.Reading = reading(tt.reading)
			stored := write(t, s, set, history.WriteOptions{Complete: true})
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.damage(string(data))), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = s.Verify(t.Context(), &stored)
			corrupt, damaged := errors.AsType[*history.CorruptError](err)
			if damaged != (tt.want != "") || damaged && (corrupt.Name != name || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "remove it")) {
				t.Errorf("verify says %v, want %q", err, tt.want)
			}
		})
	}
}
