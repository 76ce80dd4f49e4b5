package history_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
)

// benchContainers is the size of the cluster that is written and read.
const benchContainers = 10_000

// days are the windows of the first n days of March.
func days(n int) (windows []allocation.Window) {
	for i := range n {
		start := time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC)
		windows = append(windows, allocation.Window{Start: start, End: start.AddDate(0, 0, 1)})
	}
	return windows
}

// BenchmarkWrite stores sets and reports their size.
func BenchmarkWrite(b *testing.B) {
	for _, bc := range []struct {
		name   string
		period history.Period
		w      allocation.Window
		perDay float64
	}{{"hourly", history.Hourly, hour(0), 24}, {"daily", history.Daily, days(1)[0], 1}} {
		set := soundSet(1, bc.w, benchContainers, "c1")
		b.Run(bc.name, func(b *testing.B) {
			s, dir := directory(b, history.Options{})
			var stored history.Stored
			before := cpuTime(b)
			for b.Loop() {
				stored = write(b, s, set, history.WriteOptions{Period: bc.period, Replace: true})
			}
			b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(stored.Bytes)*bc.perDay/benchContainers, "B/container-day")
			b.Log(columnSizes(b, dir, stored.Files()))
		})
	}
}

// columnSizes is a table of what columns take in files, those that take most first.
func columnSizes(b *testing.B, dir string, files []string) string {
	b.Helper()
	type size struct {
		column    string
		bytes     int64
		encodings string
	}
	sizes, rest := []size{}, int64(0)
	for _, name := range files {
		if !strings.HasSuffix(name, ".parquet") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		f, err := parquetgo.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			b.Fatal(err)
		}
		rest += int64(len(data))
		for _, group := range f.Metadata().RowGroups {
			for i := range group.Columns {
				m := &group.Columns[i].MetaData
				if m.TotalCompressedSize < benchContainers/10 {
					continue
				}
				rest -= m.TotalCompressedSize
				names := make([]string, len(m.Encoding))
				for i, e := range m.Encoding {
					names[i] = e.String()
				}
				sizes = append(sizes, size{strings.Join(m.PathInSchema, "."), m.TotalCompressedSize, strings.Join(names, "+")})
			}
		}
	}
	slices.SortStableFunc(sizes, func(a, b size) int { return cmp.Compare(b.bytes, a.bytes) })
	var table strings.Builder
	fmt.Fprintf(&table, "bytes a row: %.2f footers and what is small", float64(rest)/benchContainers)
	for i, s := range sizes {
		fmt.Fprintf(&table, "%s%.2f %s %s", []string{",\n", ", ", ", ", ", ", ", "}[i%5], float64(s.bytes)/benchContainers, s.column, s.encodings)
	}
	return table.String()
}

// BenchmarkRead reads 30 sets, cold: by a store that knows no manifest.
func BenchmarkRead(b *testing.B) {
	b.Run("daily", func(b *testing.B) { benchmarkRead(b, history.Daily, days(30)) })
	b.Run("hourly", func(b *testing.B) { benchmarkRead(b, history.Hourly, hours(30)) })
}

func benchmarkRead(b *testing.B, period history.Period, windows []allocation.Window) {
	b.Helper()
	s, dir := directory(b, history.Options{})
	for _, w := range windows {
		write(b, s, soundSet(1, w, benchContainers, "c1"), history.WriteOptions{Period: period})
	}
	var money []allocation.Column
	for c := range allocation.NumColumns {
		if c.Money() {
			money = append(money, c)
		}
	}
	namespace := []allocation.Property{allocation.Cluster, allocation.Namespace}
	for _, bc := range []struct {
		name string
		p    *allocation.Projection
	}{
		{"namespace-cost", &allocation.Projection{Properties: namespace, Columns: money}},
		{"namespace-cost-rows", &allocation.Projection{Properties: namespace, Columns: money, WithoutAssets: true}},
		{"namespace-all", &allocation.Projection{Properties: namespace, Columns: allColumns(), Volumes: true, Balancers: true}},
		{"everything", nil},
	} {
		b.Run(bc.name, func(b *testing.B) {
			before := cpuTime(b)
			for b.Loop() {
				backend, err := history.OpenDirectory(dir)
				if err != nil {
					b.Fatal(err)
				}
				s := history.New(backend, history.Options{})
				sets, err := s.Read(b.Context(), list(b, s, period, allocation.Window{}), bc.p)
				if err != nil || len(sets) != len(windows) {
					b.Fatal(err, len(sets))
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/float64(len(windows)), "cpu-us/set")
		})
	}
}

// cpuTime returns the processor time that the process has used. Unlike elapsed time, it does not depend on other processes.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func allColumns() (all []allocation.Column) {
	for c := range allocation.NumColumns {
		all = append(all, c)
	}
	return all
}
