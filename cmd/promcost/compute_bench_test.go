package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/promcost/promcost/promquery/democluster"
)

// computeSize is a cluster and the window of it that is computed.
type computeSize struct {
	name           string
	nodes, pods    int
	window, scrape time.Duration
	shape          loopCount // what the loop reads, within 5 %; zero is not checked
	// mostOfWalk is how many times the walk over chunks in memory the loop may take. A slower one is no yardstick.
	mostOfWalk time.Duration
}

// computeSizes are the sizes of BenchmarkCompute. M is the cluster that the targets are set for.
func computeSizes() []computeSize {
	return []computeSize{
		{name: "S", nodes: 10, pods: 200, window: 24 * time.Hour, scrape: 30 * time.Second, mostOfWalk: 3},
		{
			name: "M", nodes: 100, pods: 3000, window: 24 * time.Hour, scrape: time.Minute, mostOfWalk: 3,
			shape: loopCount{series: 262_000, chunks: 648_000, samples: 70_000_000},
		},
		{name: "L", nodes: 330, pods: 10_000, window: 24 * time.Hour, scrape: time.Minute, mostOfWalk: 3},
		// Series of 180 samples: to find them in the index is more of the loop than elsewhere.
		{name: "XL", nodes: 1000, pods: 30_000, window: 6 * time.Hour, scrape: 2 * time.Minute, mostOfWalk: 5},
	}
}

// computeEnd is when the windows of BenchmarkCompute end: at the end of a block.
func computeEnd() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }

// BenchmarkCompute measures a whole answer from blocks against a tight loop over the samples that cost needs (see yardstick).
// Each answer is that of a fresh process with default flags. Its processor time is that from exec to the end of a garbage
// collection that is forced once the answer was read, minus that of a process that starts and is asked nothing. Both are ready
// before that: they have computed the hour that /metrics shows. The loop runs before and after it, and the smaller time counts.
//
//   - x-first is the processor time of the first answer over that of the loop, cpu-ms the time itself, wall-ms how long the client waited;
//   - x-again is that of a second question in the same process, whose window is shifted by a second;
//   - RssAnon-MB is the peak of the process' anonymous memory.
func BenchmarkCompute(b *testing.B) {
	for _, size := range computeSizes() {
		b.Run(size.name, func(b *testing.B) {
			dir := computeData(b, size)
			y := openYardstick(b, dir, size)
			b.Run("loop", func(b *testing.B) { benchmarkLoop(b, y) })
			for _, asked := range []struct{ name, query string }{{"cluster", "aggregate=cluster"}, {"rows", "aggregate="}} {
				for _, resolution := range []string{"exact", "1m"} {
					for _, procs := range []int{1, 4} {
						b.Run(fmt.Sprintf("%s/%s/procs=%d", asked.name, resolution, procs), func(b *testing.B) {
							benchmarkAnswer(b, y, dir, asked.query+"&resolution="+resolution, procs)
						})
					}
				}
			}
		})
	}
}

// benchmarkLoop reports what the yardstick is, and fails where it is too slow to be one.
func benchmarkLoop(b *testing.B, y *yardstick) {
	var run loopRun
	for b.Loop() {
		run = y.loop(b)
	}
	walk := y.walk(b)
	b.ReportMetric(float64(run.series), "series")
	b.ReportMetric(float64(run.chunks), "chunks")
	b.ReportMetric(float64(run.samples), "samples")
	b.ReportMetric(float64(run.cpu.Milliseconds()), "cpu-ms")
	b.ReportMetric(run.cpu.Seconds()/walk.Seconds(), "x-walk")
}

// benchmarkAnswer asks fresh processes a question, and the same a second later.
func benchmarkAnswer(b *testing.B, y *yardstick, dir, query string, procs int) {
	idle := startCompute(b, dir, procs)
	idle.collect(b)
	idleTime := idle.time(b)
	idle.end()
	var first, again, wall, loop time.Duration
	var peak int
	for b.Loop() {
		before := y.loop(b).cpu
		p := startCompute(b, dir, procs)
		waited := p.ask(b, query, y.window, 0)
		p.collect(b)
		one := p.time(b)
		p.ask(b, query, y.window, -time.Second)
		p.collect(b)
		two := p.time(b)
		p.end()
		took := min(before, y.loop(b).cpu)
		if loop == 0 || one-idleTime < first { // the run that was disturbed least
			first, again, wall = one-idleTime, two-one, waited
		}
		loop = min(cmp.Or(loop, took), took)
		peak = max(peak, int(p.peak.Load()))
	}
	b.ReportMetric(first.Seconds()/loop.Seconds(), "x-first")
	b.ReportMetric(again.Seconds()/loop.Seconds(), "x-again")
	b.ReportMetric(float64(loop.Milliseconds()), "loop-ms")
	b.ReportMetric(float64(first.Milliseconds()), "cpu-ms")
	b.ReportMetric(float64(wall.Milliseconds()), "wall-ms")
	b.ReportMetric(float64(peak)/1000, "RssAnon-MB")
}

// computeData is a directory of blocks of a cluster, written once for each version of what makes it up.
func computeData(b *testing.B, size computeSize) string {
	b.Helper()
	const jobs = 200 // an hour, of 3,000 pods
	cfg := democluster.Config{
		End: computeEnd(), Duration: size.window + 6*time.Hour, Nodes: size.nodes, Pods: size.pods, ScrapeInterval: size.scrape,
		JobsPerHour: size.pods * jobs / 3000,
	}
	hash := sha256.New()
	fmt.Fprint(hash, cfg)
	sources, err := filepath.Glob("../../promquery/democluster/*.go")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			_, _ = hash.Write(text)
		}
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("promcost-compute-%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	c, err := democluster.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	writing := fmt.Sprintf("%s.%d", dir, os.Getpid())
	const block = 6 * time.Hour // as Prometheus compacts them after a day
	for at := c.Start(); at.Before(c.End()); at = at.Add(block) {
		if err := c.WriteBlock(b.Context(), writing, at, at.Add(block)); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Rename(writing, dir); err != nil {
		b.Fatal(err)
	}
	return dir
}

// computeProcess is a server of blocks that is measured.
type computeProcess struct {
	cmd  *exec.Cmd
	base string
	peak atomic.Int64 // anonymous memory, kB
	stop chan struct{}
}

// startCompute starts a server with default flags on so many processors, and returns once it is ready.
func startCompute(b *testing.B, dir string, procs int) *computeProcess {
	b.Helper()
	p := &computeProcess{stop: make(chan struct{})}
	p.cmd = exec.CommandContext(b.Context(), os.Args[0], "serve", "--source=blocks", "--tsdb.path="+dir, "--storage.path=", "--web.listen-address=127.0.0.1:0", "--web.enable-pprof")
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "GOGC=", "GOMEMLIMIT=", fmt.Sprint("GOMAXPROCS=", procs))
	out, err := p.cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		for {
			p.peak.Store(max(p.peak.Load(), int64(anonymous(p.cmd.Process.Pid))))
			select {
			case <-p.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	lines := bufio.NewScanner(out)
	for p.base == "" && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			p.base = "http://" + found[1]
		}
	}
	if p.base == "" {
		b.Fatal("promcost does not listen")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	eventually(b, "it is not ready", func() bool { code, _ := get(b, p.base+"/-/ready"); return code == http.StatusOK })
	return p
}

// end kills the process.
func (p *computeProcess) end() {
	close(p.stop)
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// ask reads an answer for a window and drops it, and returns how long that took.
func (p *computeProcess) ask(b *testing.B, query string, w window, shift time.Duration) time.Duration {
	b.Helper()
	at := func(t time.Time) string { return t.Add(shift).Format(time.RFC3339) }
	return p.get(b, "/model/allocation/compute?window="+at(w.start)+","+at(w.end)+"&"+query)
}

// collect forces a garbage collection.
func (p *computeProcess) collect(b *testing.B) {
	b.Helper()
	p.get(b, "/debug/pprof/heap?gc=1")
}

func (p *computeProcess) get(b *testing.B, path string) time.Duration {
	b.Helper()
	began := time.Now()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, p.base+path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || n == 0 || response.StatusCode != http.StatusOK {
		b.Fatalf("GET %s: %s, %d bytes: %v", path, response.Status, n, err)
	}
	return time.Since(began)
}

// time is the processor time of the process since it was started, of all its threads.
func (p *computeProcess) time(b *testing.B) time.Duration {
	b.Helper()
	const scheduled = 2 // as CPUCLOCK_SCHED of Linux: to the nanosecond
	var t unix.Timespec
	if err := unix.ClockGettime(^int32(p.cmd.Process.Pid)<<3|scheduled, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
