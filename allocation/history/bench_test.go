package history_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
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

// BenchmarkWrite stores sets and tells their size.
func BenchmarkWrite(b *testing.B) {
	for _, bc := range []struct {
		name   string
		period history.Period
		w      allocation.Window
		perDay float64
	}{{"hourly", history.Hourly, hour(0), 24}, {"daily", history.Daily, days(1)[0], 1}} {
		set := soundSet(1, bc.w, benchContainers, "c1")
		b.Run(bc.name, func(b *testing.B) {
			s, _ := directory(b, history.Options{})
			var bytes int64
			for b.Loop() {
				bytes = write(b, s, set, history.WriteOptions{Period: bc.period, Replace: true}).Bytes
			}
			b.ReportMetric(float64(bytes)*bc.perDay/benchContainers, "B/container-day")
		})
	}
}

// BenchmarkRead reads 30 days, cold: by a store that knows no manifest.
func BenchmarkRead(b *testing.B) {
	s, dir := directory(b, history.Options{})
	for _, w := range days(30) {
		write(b, s, soundSet(1, w, benchContainers, "c1"), history.WriteOptions{Period: history.Daily})
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
		p    *encode.Projection
	}{
		{"namespace-cost", &encode.Projection{Properties: namespace, Columns: money}},
		{"namespace-all", &encode.Projection{Properties: namespace, Columns: allColumns(), Volumes: true, Balancers: true}},
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
				sets, err := s.Read(b.Context(), list(b, s, history.Daily, allocation.Window{}), bc.p)
				if err != nil || len(sets) != 30 {
					b.Fatal(err, len(sets))
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpuTime is what the process has used of all processors: unlike the time that passes, it does not tell of others.
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
