package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkMemory asks fresh servers of blocks for a window and reports the peak of their anonymous memory (RssAnon), beside what
// it may be: 150 MB and 4 kB a container, whatever the window.
func BenchmarkMemory(b *testing.B) {
	for _, size := range computeSizes() {
		b.Run(size.name, func(b *testing.B) {
			dir := computeData(b, size)
			for _, part := range []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour} {
				if part <= size.window {
					w := window{computeEnd().Add(-part), computeEnd()}
					b.Run(part.String(), func(b *testing.B) { benchmarkMemory(b, dir, w) })
				}
			}
		})
	}
}

func benchmarkMemory(b *testing.B, dir string, w window) {
	rows := program(b, "query", "allocation", "--source=blocks", "--tsdb.path="+dir, "--resolution=exact", "-o", "csv",
		"--window="+w.start.Format(time.RFC3339)+","+w.end.Format(time.RFC3339), "--aggregate=namespace,pod,container")
	containers := bytes.Count(rows.out, []byte("\n")) - 1
	for _, resolution := range []string{"exact", "1m"} {
		b.Run(resolution, func(b *testing.B) {
			peak := int64(0)
			for b.Loop() {
				p := startCompute(b, dir, 4)
				p.ask(b, "aggregate=cluster&resolution="+resolution, w, 0)
				p.end()
				peak = max(peak, p.peak.Load())
			}
			b.ReportMetric(float64(peak)/1000, "RssAnon-MB")
			b.ReportMetric(150+4*float64(containers)/1000, "budget-MB")
			b.ReportMetric(float64(containers), "containers")
		})
	}
}

// BenchmarkBackfill fills a history with the window of clusters from blocks, by a process of its own, and reports the hours that
// it computes and keeps a second, its processor time, and the peak of its anonymous memory.
func BenchmarkBackfill(b *testing.B) {
	for _, size := range computeSizes() {
		b.Run(size.name, func(b *testing.B) {
			dir := computeData(b, size)
			var took programRun
			for b.Loop() {
				run := backfillBlocks(b, dir, b.TempDir(), size.window)
				took.cpu, took.peak = took.cpu+run.cpu, max(took.peak, run.peak)
			}
			b.ReportMetric(size.window.Hours()*float64(b.N)/b.Elapsed().Seconds(), "hours/s")
			b.ReportMetric(float64(took.cpu.Milliseconds())/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(took.peak)/1000, "RssAnon-MB")
		})
	}
}

// backfillBlocks keeps the last hours of blocks in a history.
func backfillBlocks(b *testing.B, blocks, history string, hours time.Duration, args ...string) programRun {
	b.Helper()
	return program(b, append([]string{
		"backfill", "--source=blocks", "--tsdb.path=" + blocks, "--storage.path=" + history,
		"--from=" + computeEnd().Add(-hours).Format(time.RFC3339), "--to=" + computeEnd().Format(time.RFC3339),
	}, args...)...)
}

// programRun is what a process wrote and took.
type programRun struct {
	out  []byte
	cpu  time.Duration
	peak int // anonymous memory, kB
}

// program runs promcost as a process to its end, with the garbage collector's defaults.
func program(b *testing.B, args ...string) (run programRun) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GOGC=", "GOMEMLIMIT=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				b.Fatalf("promcost %v: %v: %s", args, err, stderr.Bytes())
			}
			run.out, run.cpu = stdout.Bytes(), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
			return run
		case <-time.After(5 * time.Millisecond):
			run.peak = max(run.peak, anonymous(cmd.Process.Pid))
		}
	}
}

// anonymous is the anonymous memory of a process in kB, 0 where it cannot be read.
func anonymous(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		if kb, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(kb), " kB"))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
