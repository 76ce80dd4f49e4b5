package promtest

import (
	"context"
	"net/http"
	"testing"
)

// StartVictoria runs a real VictoriaMetrics until the test ends, $VICTORIA_METRICS or bin/victoria-metrics, with the
// samples of the blocks in tsdbDir, and returns its URL. Without markers the samples come without staleness markers. It
// fails the test where there is no binary.
func StartVictoria(t testing.TB, tsdbDir string, markers bool, flags ...string) (url string) {
	t.Helper()
	data := t.TempDir()
	url = run(t, process{
		name: "VictoriaMetrics", binary: needBinary(t, "VICTORIA_METRICS", "victoria-metrics"), ready: "/health",
		args: func(addr []string) []string {
			return append([]string{
				"-storageDataPath=" + data, "-httpListenAddr=" + addr[0], "-retentionPeriod=100y", "-search.latencyOffset=0s",
				"-search.maxUniqueTimeseries=1000000", "-memory.allowedBytes=256MB", "-loggerLevel=WARN",
			}, flags...)
		},
	})[0]
	Push(t, url+"/api/v1/write", tsdbDir, markers)
	if _, _, err := exchange(context.Background(), http.MethodGet, url+"/internal/force_flush", nil, nil); err != nil {
		t.Fatalf("make the pushed samples visible: %v", err)
	}
	return url
}
