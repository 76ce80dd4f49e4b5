package history_test

import (
	"flag"
	"runtime"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/passes"
)

var (
	queryDays  = flag.Int("query.days", 30, "how many days the queries of daily sets are over")
	queryHours = flag.Int("query.hours", 24, "how many hours the queries of hourly sets are over: storing an hour takes a third of a second")
)

// query is a question that people ask of weeks, and how DuckDB is asked it.
type query struct {
	name, aggregate string
	properties      []allocation.Property
	accumulate      allocation.Period
	only            string // the namespace
	sql             string // the columns that rows are grouped by, and what selects them
}

// queries are those of the measurements.
func queries() []query {
	return []query{
		{"namespace", "namespace", []allocation.Property{allocation.Namespace}, allocation.All, "", "GROUP BY namespace"},
		{"controller-a-day", "controller", []allocation.Property{allocation.ControllerKind, allocation.Controller}, allocation.Day, "", "GROUP BY controller_kind, controller, window_start"},
		{"pods", "pod", []allocation.Property{allocation.Namespace, allocation.Pod}, allocation.All, "ns-7", "WHERE namespace = 'ns-7' GROUP BY pod"},
		{"label", "label:team", []allocation.Property{allocation.Labels}, allocation.All, "", "GROUP BY labels['team']"},
	}
}

// inNamespace selects the rows of a namespace.
type inNamespace string

func (inNamespace) Needs() *allocation.Projection {
	return allocation.OfRows([]allocation.Property{allocation.Namespace})
}

func (n inNamespace) Bind(s *allocation.Set) (func(row int) bool, error) {
	return func(row int) bool { return s.Text(allocation.Namespace, row) == string(n) }, nil
}

// ask answers a query one day at a time, so that only one day is in memory.
func ask(b *testing.B, s *history.Store, p history.Period, q query) {
	b.Helper()
	keys, err := allocation.ParseKeys(q.aggregate, nil)
	if err != nil {
		b.Fatal(err)
	}
	o := passes.Options{Aggregate: keys, Accumulate: q.accumulate}
	if q.only != "" {
		o.Filter = inNamespace(q.only)
	}
	stored := list(b, s, p, allocation.Window{})
	projection := &allocation.Projection{Properties: append([]allocation.Property{allocation.Cluster}, q.properties...), Columns: allColumns(), Volumes: true, Balancers: true}
	for len(stored) > 0 {
		n := min(24, len(stored))
		sets, err := s.Read(b.Context(), stored[:n], projection)
		if err != nil {
			b.Fatal(err)
		}
		out, err := passes.Apply(sets, o)
		if err != nil || len(out) == 0 || out[0].Len() == 0 {
			b.Fatal(err, len(out))
		}
		stored = stored[n:]
	}
}

// BenchmarkQuery runs queries over a month, with a new store and with one that has read before.
func BenchmarkQuery(b *testing.B) {
	for _, bc := range []struct {
		period  history.Period
		windows []allocation.Window
	}{{history.Daily, days(*queryDays)}, {history.Hourly, hours(*queryHours)}} {
		s, dir := directory(b, history.Options{})
		for _, w := range bc.windows {
			write(b, s, soundSet(1, w, benchContainers, "c1"), history.WriteOptions{Period: bc.period})
		}
		for _, q := range queries() {
			b.Run(bc.period.String()+"/"+q.name, func(b *testing.B) {
				b.Run("cold", func(b *testing.B) {
					measure(b, len(bc.windows), func() {
						backend, err := history.OpenDirectory(dir)
						if err != nil {
							b.Fatal(err)
						}
						ask(b, history.New(backend, history.Options{}), bc.period, q)
					})
				})
				b.Run("warm", func(b *testing.B) {
					measure(b, len(bc.windows), func() { ask(b, s, bc.period, q) })
				})
			})
		}
	}
}

// measure tells what a query takes, of how many sets it is, and how much memory was in use at most.
func measure(b *testing.B, sets int, query func()) {
	b.Helper()
	before := cpuTime(b)
	for b.Loop() {
		query()
	}
	b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/float64(sets), "cpu-us/set")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys-m.HeapReleased)/(1<<20), "heap-MB")
}

// hours are the windows of n hours.
func hours(n int) (windows []allocation.Window) {
	for i := range n {
		start := time.Date(2026, 3, 1, i, 0, 0, 0, time.UTC)
		windows = append(windows, allocation.Window{Start: start, End: start.Add(time.Hour)})
	}
	return windows
}
