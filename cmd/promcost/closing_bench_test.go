package main

import (
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/promquery/promtest"
)

// BenchmarkLoadOfClosing lets the loop of a server close hours of 3,000 pods by remote read from a real Prometheus: each is
// computed, kept and counted, and metrics show it. It reports medians of 6 hours: the processor time until the process is at rest again,
// how long it took until the hour was counted, and the peak of anonymous memory above that of the process at rest (rest-MB, that of the
// benchmark itself included). Hours close after the default grace. Two hours pass before.
func BenchmarkLoadOfClosing(b *testing.B) {
	const hours, before, grace = 6, 2, ledger.DefaultGrace
	blocks := computeData(b, computeSizes()[1])
	url, usage := promtest.StartMeasured(b, blocks, promtest.Config{})
	for b.Loop() {
		var now atomic.Int64
		now.Store(computeEnd().Add(-(hours+before+1)*time.Hour + grace).Unix())
		svc, _, end := serveArgsByClock(b, func() time.Time { return time.Unix(now.Load(), 0).UTC() },
			"--prometheus.url="+url, "--source=remote-read", "--storage.path="+b.TempDir(), "--history.backfill=1h")
		closed := func() bool {
			counted := svc.recorder.Accrued()
			return counted != nil && counted.Window.End.Unix() == now.Load()-int64(grace/time.Second) && svc.recorder.Store().Missing == 0
		}
		waitFor(b, closed)
		waitForRest(b)
		var took, waited, peaks []float64
		rest := 0
		server := 0.0
		for hour := range before + hours {
			if hour == before {
				server = usage().CPUSeconds
			}
			debug.FreeOSMemory()
			rest = anonymous(os.Getpid())
			cpu, began, peak := ownTime(b), time.Now(), rest
			now.Add(int64(time.Hour / time.Second))
			svc.recorder.Refresh()
			waitFor(b, func() bool {
				peak = max(peak, anonymous(os.Getpid()))
				return closed()
			})
			wall := time.Since(began)
			if waitForRest(b); hour < before {
				continue
			}
			took, waited = append(took, (ownTime(b)-cpu).Seconds()), append(waited, wall.Seconds())
			peaks = append(peaks, float64(peak-rest))
		}
		end()
		median := func(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
		b.ReportMetric(median(took)*1e3, "cpu-ms/hour")
		b.ReportMetric(median(waited)*1e3, "wall-ms/hour")
		b.ReportMetric((usage().CPUSeconds-server)/hours*1e3, "server-cpu-ms/hour")
		b.ReportMetric(median(peaks)/1e3, "above-rest-MB")
		b.ReportMetric(float64(rest)/1e3, "rest-MB")
	}
}

// waitFor looks every few milliseconds whether something is done.
func waitFor(b *testing.B, done func() bool) {
	b.Helper()
	for !done() {
		select {
		case <-time.After(20 * time.Millisecond): // looking takes time, too
		case <-b.Context().Done():
			b.Fatal("it does not end")
		}
	}
}

// waitForRest waits until the process has done next to nothing for a fifth of a second: a disk or another process can stop for a while
// a loop that has more to do, which would then compute the next hour before it is told to, and once more when it is.
func waitForRest(b *testing.B) {
	b.Helper()
	last, quietLooks := ownTime(b), 0
	waitFor(b, func() bool {
		was := last
		last = ownTime(b)
		if quietLooks++; last-was >= time.Millisecond {
			quietLooks = 0
		}
		return quietLooks == 10
	})
}
