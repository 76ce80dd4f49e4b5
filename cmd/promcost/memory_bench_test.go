package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkMemory computes windows of demo clusters from blocks in a process of its own and reports the peak of its
// anonymous memory (RssAnon), beside what it may take: 150 MB and 4 kB a container, whatever the window.
func BenchmarkMemory(b *testing.B) {
	end := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for _, size := range []struct {
		name        string
		nodes, pods int
		windows     []time.Duration
	}{
		{"S", 10, 300, []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}},
		{"M", 100, 3000, []time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}},
		{"L", 330, 10_000, []time.Duration{24 * time.Hour}},
	} {
		dir := filepath.Join(b.TempDir(), "demo")
		longest := size.windows[len(size.windows)-1]
		program(b, nil, "demo", "--write="+dir, "--demo.end="+end.Format(time.RFC3339), "--demo.duration="+(longest+time.Hour).String(),
			fmt.Sprint("--demo.nodes=", size.nodes), fmt.Sprint("--demo.pods=", size.pods))
		for _, window := range size.windows {
			query := []string{
				"query", "allocation", "--source=blocks", "--tsdb.path=" + dir, "--resolution=exact", "-o", "csv",
				"--window=" + end.Add(-window).Format(time.RFC3339) + "," + end.Format(time.RFC3339),
			}
			rows, _ := program(b, nil, append(query, "--aggregate=namespace,pod,container")...)
			containers := bytes.Count(rows, []byte("\n")) - 1
			budget := 150 + 4*float64(containers)/1000
			limit := fmt.Sprintf("GOMEMLIMIT=%dMiB", int(budget*0.8))
			b.Run(fmt.Sprint(size.name, "/", window), func(b *testing.B) {
				peak := 0.0
				for b.Loop() {
					_, kb := program(b, []string{limit}, append(query, "--aggregate=namespace")...)
					peak = max(peak, float64(kb)/1000)
				}
				b.ReportMetric(peak, "RssAnon-MB")
				b.ReportMetric(budget, "budget-MB")
				b.ReportMetric(float64(containers), "containers")
			})
		}
	}
}

// BenchmarkBackfill fills a history with 24 hours of demo clusters from blocks, by a process of its own, and reports the hours that
// it computes and keeps a second, and the peak of its anonymous memory.
func BenchmarkBackfill(b *testing.B) {
	end := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	const hours = 24
	for _, size := range []struct {
		name        string
		nodes, pods int
	}{{"S", 10, 300}, {"M", 100, 3000}, {"L", 330, 10_000}} {
		dir := filepath.Join(b.TempDir(), "demo")
		program(b, nil, "demo", "--write="+dir, "--demo.end="+end.Format(time.RFC3339), fmt.Sprintf("--demo.duration=%dh", hours+1),
			fmt.Sprint("--demo.nodes=", size.nodes), fmt.Sprint("--demo.pods=", size.pods))
		b.Run(size.name, func(b *testing.B) {
			peak := 0
			for b.Loop() {
				_, kb := program(b, nil, "backfill", "--source=blocks", "--tsdb.path="+dir, "--storage.path="+b.TempDir(),
					"--from="+end.Add(-hours*time.Hour).Format(time.RFC3339), "--to="+end.Format(time.RFC3339))
				peak = max(peak, kb)
			}
			b.ReportMetric(float64(hours*b.N)/b.Elapsed().Seconds(), "hours/s")
			b.ReportMetric(float64(peak)/1000, "RssAnon-MB")
		})
	}
}

// program runs promcost as a process to its end and returns its output and the peak of its anonymous memory in kB.
func program(b *testing.B, env []string, args ...string) (out []byte, peak int) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
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
			return stdout.Bytes(), peak
		case <-time.After(5 * time.Millisecond):
			peak = max(peak, anonymous(cmd.Process.Pid))
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
