package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest"
)

var (
	benchHistory    = flag.String("history.dir", "", "directory of the history that BenchmarkHistory reads, which is written where it is not there")
	benchDays       = flag.Int("history.days", 365, "how many days of it are kept as days")
	benchHours      = flag.Int("history.hours", 31*24, "and how many hours as hours")
	benchContainers = flag.Int("history.containers", 10_000, "how many containers run all the time")
)

// benchEnd is when the history of BenchmarkHistory ends.
func benchEnd() time.Time { return time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC) }

// BenchmarkHistory asks a server in a process of its own, without a source, questions of weeks: of days, of days with hours
// before and after them, and of hours. It asks DuckDB the same of the same files. Cold is the first answer of a process once it
// is idle, warm the median of the answers after it. The client reads answers and drops them on the same processors, which takes
// 20 ms for 47 MB.
func BenchmarkHistory(b *testing.B) {
	dir := *benchHistory
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(dir + "/allocations_hourly"); err != nil {
		writeBenchHistory(b, dir)
	}
	b.Run("disk", func(b *testing.B) {
		for b.Loop() {
			for _, of := range [...]string{"allocations", "assets", "sets"} {
				b.ReportMetric(float64(bytesIn(b, dir+"/"+of+"_hourly"))/float64(*benchContainers**benchHours/24), "B/container-day-"+of+"-hourly")
				b.ReportMetric(float64(bytesIn(b, dir+"/"+of+"_daily"))/float64(*benchContainers**benchDays), "B/container-day-"+of+"-daily")
			}
		}
	})
	window := func(from, until int) string {
		at := func(hours int) string { return benchEnd().Add(time.Duration(hours) * time.Hour).Format(time.RFC3339) }
		return "window=" + at(from) + "," + at(until)
	}
	for _, form := range []struct{ name, path, query, kept string }{
		{"days=30", "/model/allocation", window(-30*24, 0), "daily"},
		{"days=90", "/model/allocation", window(-90*24, 0), ""},
		{"days=365", "/model/allocation", window(-365*24, 0), ""},
		{"edges", "/model/allocation/compute", window(-30*24-19, -19), ""},
		{"hours", "/model/allocation", "step=1h&" + window(-30*24, 0), "hourly"},
	} {
		for _, q := range []struct{ name, query, encoding, sql string }{
			{"namespace", "aggregate=namespace&accumulate=true", "identity", "GROUP BY namespace"},
			{"controller-a-day", "aggregate=controller&accumulate=day", "identity", "GROUP BY controller_kind, controller, date"},
			{"controller-a-day-gzip", "aggregate=controller&accumulate=day", "gzip", ""},
			{"pods", "aggregate=pod&accumulate=true&filter=namespace:%22ns-7%22", "identity", "AND namespace = 'ns-7' GROUP BY pod"},
			{"pods-a-day", "aggregate=pod&accumulate=day&filter=namespace%3C~:%22ns-1%22", "identity", ""},
			{"label", "aggregate=label:team&accumulate=true", "identity", "GROUP BY labels['team']"},
			{"namespace-costs", "aggregate=namespace&accumulate=true&fields=cpuCost,ramCost,totalCost", "identity", ""},
			{"namespace-each", "aggregate=namespace", "identity", ""},
		} {
			b.Run(form.name+"/"+q.name, func(b *testing.B) {
				benchmarkHistory(b, dir, form.path+"?"+form.query+"&"+q.query, q.encoding)
			})
			if form.kept != "" && q.sql != "" {
				b.Run(form.name+"/"+q.name+"-duckdb", func(b *testing.B) {
					benchmarkDuckDB(b, dir+"/allocations_"+form.kept, q.sql)
				})
			}
		}
	}
	for name, query := range map[string]string{"namespace": "aggregate=namespace", "namespace-drill": "aggregate=namespace&drill=controller"} {
		b.Run("change-days=30/"+name, func(b *testing.B) {
			benchmarkHistory(b, dir, "/model/allocation/change?"+window(-30*24, 0)+"&baseline="+strings.TrimPrefix(window(-60*24, -30*24), "window=")+"&"+query, "identity")
		})
	}
}

// bytesIn are the bytes of the files in a directory.
func bytesIn(b *testing.B, dir string) (sum int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum
}

// benchmarkDuckDB has DuckDB sum all columns of the 30 days of the files in a directory: a yardstick on the same files. What it
// takes to start is left out.
func benchmarkDuckDB(b *testing.B, dir, grouped string) {
	b.Helper()
	binary := promtest.DuckDB(b)
	var sums []string
	for c := range allocation.NumColumns {
		sums = append(sums, "sum("+c.Field()+") AS "+c.Field())
	}
	run := func(sql string) (took, used time.Duration) {
		cmd := exec.CommandContext(b.Context(), binary)
		cmd.Stdin = strings.NewReader(sql)
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("DuckDB: %v: %s", err, out)
		}
		return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	from := benchEnd().AddDate(0, 0, -30).Format(time.DateOnly)
	sql := fmt.Sprintf("SELECT count(COLUMNS(*)) FROM (SELECT %s FROM read_parquet('%s/**/*.parquet', hive_partitioning = true) WHERE date >= '%s' %s)",
		strings.Join(sums, ", "), dir, from, grouped)
	idle, idleUsed := run("SELECT 1")
	var all, allUsed []time.Duration
	for b.Loop() {
		took, used := run(sql)
		all, allUsed = append(all, took-idle), append(allUsed, used-idleUsed)
	}
	b.ReportMetric(float64(median(all).Milliseconds()), "ms")
	b.ReportMetric(float64(median(allUsed).Milliseconds()), "cpu-ms")
}

// median sorts times.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// benchmarkHistory asks one question of a process, and again. It returns the processor time of answers after the first.
func benchmarkHistory(b *testing.B, dir, path, encoding string, flags ...string) (warmed time.Duration) {
	b.Helper()
	base, pid := startHistory(b, dir, flags...)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, ReadBufferSize: 256 << 10}}
	b.Cleanup(client.CloseIdleConnections)
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, base+path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", encoding)
	peak := 0
	ask := func() (took, used time.Duration) {
		stop, peaked := make(chan struct{}), make(chan int, 1)
		go func() { peaked <- peakAnonymous(pid, stop) }()
		before, start := processTime(b, pid), time.Now()
		response, err := client.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		took = time.Since(start)
		close(stop)
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatalf("%v: %s", err, response.Status)
		}
		used, peak = processTime(b, pid)-before, max(peak, <-peaked)
		return took, used
	}
	cold, coldUsed := ask()
	coldPeak := peak
	var warm, warmUsed []time.Duration
	for b.Loop() {
		took, used := ask()
		warm, warmUsed = append(warm, took), append(warmUsed, used)
	}
	b.ReportMetric(float64(cold.Milliseconds()), "cold-ms")
	b.ReportMetric(float64(coldUsed.Milliseconds()), "cold-cpu-ms")
	b.ReportMetric(float64(coldPeak)/1000, "cold-RssAnon-MB")
	b.ReportMetric(float64(median(warm).Milliseconds()), "warm-ms")
	b.ReportMetric(float64(median(warmUsed).Milliseconds()), "warm-cpu-ms")
	b.ReportMetric(float64(peak)/1000, "warm-RssAnon-MB")
	return median(warmUsed)
}

// startHistory starts a server of the history of a directory and waits until it rests: what it does when it starts is not part
// of an answer.
func startHistory(b *testing.B, dir string, flags ...string) (base string, pid int) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], append([]string{"serve", "--source=none", "--storage.path=" + dir, "--web.listen-address=127.0.0.1:0"}, flags...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for base == "" && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			base = "http://" + found[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	pid = cmd.Process.Pid
	const rest = 300 * time.Millisecond
	for was := time.Duration(-1); was != processTime(b, pid); time.Sleep(rest) {
		was = processTime(b, pid)
	}
	return base, pid
}

// peakAnonymous is the most anonymous memory that a process has until stop is closed, in kB.
func peakAnonymous(pid int, stop <-chan struct{}) (peak int) {
	for {
		peak = max(peak, anonymous(pid))
		select {
		case <-stop:
			return peak
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// processTime is what a process has used of all processors.
func processTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields, ticks := strings.Fields(string(rest)), int64(0)
	for _, field := range fields[11:13] { // of the user and of the system
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100)
}

// writeBenchHistory writes the days and hours that end at benchEnd.
func writeBenchHistory(b *testing.B, dir string) {
	b.Helper()
	backend, err := history.OpenDirectory(filepath.Clean(dir))
	if err != nil {
		b.Fatal(err)
	}
	store := history.New(backend, history.Options{})
	type job struct {
		period history.Period
		window allocation.Window
	}
	jobs := make(chan job)
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for j := range jobs {
				if _, err := store.Write(context.Background(), benchSet(j.window), history.WriteOptions{Period: j.period, Zone: time.UTC, Complete: true}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, of := range []struct {
		period history.Period
		length time.Duration
		n      int
	}{{history.Daily, 24 * time.Hour, *benchDays}, {history.Hourly, time.Hour, *benchHours}} {
		for i := range of.n {
			end := benchEnd().Add(-time.Duration(i) * of.length)
			jobs <- job{of.period, allocation.Window{Start: end.Add(-of.length), End: end}}
		}
	}
	close(jobs)
	writers.Wait()
}

// benchSet is a cluster whose containers run all the time; a tenth of its pods are others every day, each from an hour of its own.
func benchSet(w allocation.Window) *allocation.Set {
	rng := rand.New(rand.NewPCG(1, uint64(w.Start.Unix())))
	s := allocation.NewSet(w, allocation.NewDict())
	hours, start := w.Duration().Hours(), int(w.Start.Unix())
	nodes := make([]allocation.Node, 1+*benchContainers/50)
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		nodes[i] = allocation.Node{
			Cluster: "c1", Name: name, ProviderID: "aws:///eu-west-1a/i-" + name, InstanceType: "m5.4xlarge", Region: "eu-west-1", Zone: "eu-west-1a",
			Labels: map[string]string{"pool": "a"}, Start: w.Start, End: w.End, RunningSeconds: w.Duration().Seconds(),
		}
	}
	for i := range *benchContainers {
		node, app, namespace := &nodes[i%len(nodes)], fmt.Sprint("app-", i/10), fmt.Sprint("ns-", i/200)
		serial := uint32(i)
		if i%10 == 0 {
			serial += uint32((start+i/10%24*3600)/86400) * 1_000_003
		}
		ids := rand.New(rand.NewPCG(uint64(serial), 7))
		r := &allocation.Row{Start: w.Start, End: w.End, Services: []string{app}, NSLabels: map[string]string{"kubernetes_io_metadata_name": namespace}}
		r.Labels = map[string]string{"app_kubernetes_io_name": app, "app_kubernetes_io_instance": app, "team": fmt.Sprint("team-", i/500), "kubernetes_io_metadata_name": namespace}
		r.Text = [allocation.Services]string{
			"c1", node.Name, namespace, fmt.Sprintf("%s-%08x-%05x", app, i/10, ids.Uint32()>>12),
			fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", ids.Uint32(), ids.Uint32()>>16, ids.Uint32()>>20, ids.Uint32()>>20, ids.Uint64()>>16),
			"main", "deployment", app, node.ProviderID,
		}
		for res, request := range [...]float64{0.1 * float64(1+i/10%8), float64(int(128)<<(i/10%4)) * (1 << 20)} {
			res := allocation.Resource(res)
			usage := request * rng.ExpFloat64() * 0.4
			used := max(request, usage)
			r.Values[allocation.RequestHours.Of(res)], r.Values[allocation.LimitHours.Of(res)] = request*hours, 2*request*hours
			r.Values[allocation.UsageHours.Of(res)], r.Values[allocation.Hours.Of(res)] = usage*hours, used*hours
			r.Values[allocation.UsageMax.Of(res)] = usage * 1.5
			cost := used * hours * 0.03 / res.PerPriceUnit()
			r.Values[allocation.Cost.Of(res)] = cost
			node.Cost[res], node.Hours[res], node.PriceSource[res] = node.Cost[res]+cost, 16*hours, "sheet"
		}
		r.Values[allocation.RunningSeconds] = hours * 3600
		r.Values[allocation.LeastSeconds], r.Values[allocation.MostSeconds] = hours*3600*0.98, hours*3600*1.02
		r.Values[allocation.NetworkTransferBytes], r.Values[allocation.NetworkReceiveBytes] = float64(rng.IntN(1e8)), float64(rng.IntN(1e8))
		s.Append(r)
	}
	s.Nodes = nodes
	return s
}
