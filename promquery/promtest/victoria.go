package promtest

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// StartVictoria runs a real VictoriaMetrics until the test ends, $VICTORIA_METRICS or bin/victoria-metrics, with the samples of
// the blocks in tsdbDir, and returns its URL. Without markers the samples come without staleness markers. It fails the test if
// there is no binary.
func StartVictoria(t testing.TB, tsdbDir string, markers bool, flags ...string) (url string) {
	t.Helper()
	return startVictoria(t, tsdbDir, markers, nil, flags...)
}

// startVictoria is StartVictoria that tells started the process unless nil.
func startVictoria(t testing.TB, tsdbDir string, markers bool, started func(pid int), flags ...string) (url string) {
	t.Helper()
	data := t.TempDir()
	url = run(t, process{
		name: "VictoriaMetrics", binary: needBinary(t, "VICTORIA_METRICS", "victoria-metrics"), ready: "/health", started: started,
		args: func(addr []string) []string {
			return append([]string{
				"-storageDataPath=" + data, "-httpListenAddr=" + addr[0], "-retentionPeriod=100y", "-search.latencyOffset=0s",
				"-search.maxUniqueTimeseries=1000000", "-memory.allowedBytes=256MB", "-loggerLevel=WARN",
			}, flags...)
		},
	})[0]
	// Push a day at a time: its blocks, and so the count of samples read, then do not depend on when it merges them.
	showAll(t, url, push(t, url+"/api/v1/write", tsdbDir, markers, (24*time.Hour).Milliseconds()))
	return url
}

// showAll waits until the server's queries see all of so many samples. Its flush does not wait for samples that are on
// their way into a part already, which takes a while on a busy machine: queries lack them meanwhile and do not say so.
func showAll(t testing.TB, url string, samples int64) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(50 * time.Millisecond) {
		_, _, err := exchange(context.Background(), http.MethodGet, url+"/internal/force_flush", nil, nil)
		if err != nil {
			t.Fatalf("make the pushed samples visible: %v", err)
		}
		_, text, err := exchange(context.Background(), http.MethodGet, url+"/metrics", nil, nil)
		if err != nil {
			t.Fatalf("count the visible samples: %v", err)
		}
		visible := rowsOf(string(text))
		if visible == samples {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("wait for the pushed samples: %d of %d are visible", visible, samples)
		}
	}
}

// rowsOf is how many samples are in parts, where queries look, as the server's own metrics say.
func rowsOf(metrics string) (rows int64) {
	for line := range strings.Lines(metrics) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(name, `vm_rows{type="storage/`) {
			n, err := strconv.ParseInt(value, 10, 64)
			if err == nil {
				rows += n
			}
		}
	}
	return rows
}
