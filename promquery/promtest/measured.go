package promtest

import (
	"path/filepath"
	"testing"
	"time"
)

// What StartMeasured and its like return works on Linux only and fails the test elsewhere.

// StartMeasured is Start for benchmarks of the load on the server: usage is what its process has used so far.
func StartMeasured(t testing.TB, tsdbDir string, cfg Config) (url string, usage func() Usage) {
	t.Helper()
	var p processes
	url, _ = startPrometheus(t, Binary(t), tsdbDir, cfg, p.add)
	return url, p.usage(t)
}

// StartVictoriaMeasured is StartVictoria for benchmarks. The server has as much memory as it takes by default.
func StartVictoriaMeasured(t testing.TB, tsdbDir string) (url string, usage func() Usage) {
	t.Helper()
	var p processes
	url = startVictoria(t, tsdbDir, true, p.add, "-memory.allowedBytes=0", "-search.maxQueryDuration=10m", "-search.maxSamplesPerQuery=0")
	return url, p.usage(t)
}

// StartThanosMeasured runs Thanos Query over one sidecar for benchmarks: what is used are these two and their Prometheus. It waits for
// samples of metric at the instant at. The blocks in tsdbDir are as long as block.
func StartThanosMeasured(t testing.TB, tsdbDir string, block time.Duration, metric string, at time.Time) (url, store string, usage func() Usage) {
	t.Helper()
	var p processes
	url, store = startThanos(t, tsdbDir, []string{"a"}, block, metric, at, p.add)
	return url, store, p.usage(t)
}

// StartMimirMeasured runs Mimir for benchmarks over the blocks in tsdbDir, which its store-gateway reads from its bucket. They are as long
// as block. It waits for samples of metric at the instant at.
func StartMimirMeasured(t testing.TB, tsdbDir string, block time.Duration, metric string, at time.Time) (url string, usage func() Usage) {
	t.Helper()
	dir := t.TempDir()
	if err := copyBlocks(tsdbDir, filepath.Join(dir, "blocks", "anonymous")); err != nil {
		t.Fatalf("copy blocks for Mimir: %v", err)
	}
	var p processes
	url = startMimir(t, dir, p.add,
		"-compactor.block-ranges="+block.String(), "-compactor.cleanup-interval=10s", "-blocks-storage.bucket-store.sync-interval=10s",
		"-blocks-storage.bucket-store.bucket-index.update-on-error-interval=1s") + "/prometheus"
	waitSeries(t, url, metric, at)
	return url, p.usage(t)
}

// processes are those of one server.
type processes struct{ pids []int }

func (p *processes) add(pid int) { p.pids = append(p.pids, pid) }

// usage adds up what they have used.
func (p *processes) usage(t testing.TB) func() Usage {
	return func() (sum Usage) {
		t.Helper()
		for _, pid := range p.pids {
			u, err := readUsage(pid)
			if err != nil {
				t.Fatal(err)
			}
			sum.CPUSeconds += u.CPUSeconds
			sum.AnonymousBytes += u.AnonymousBytes
		}
		return sum
	}
}
