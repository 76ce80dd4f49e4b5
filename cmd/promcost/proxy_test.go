package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// TestProxyFromEnvironment has a Prometheus elsewhere asked through the proxy that the environment names, and through none where the environment says so.
func TestProxyFromEnvironment(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  []string
		want bool
	}{
		{"HTTP_PROXY", nil, true},
		{"NO_PROXY", []string{"NO_PROXY=example.invalid"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			hosts := map[string]bool{}
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				hosts[r.URL.Host] = true
				http.Error(w, "there is nothing behind this proxy", http.StatusNotFound)
			}))
			defer proxy.Close()
			//nolint:gosec // the program is this test itself
			check := exec.CommandContext(t.Context(), os.Args[0], "check", "source", "--prometheus.url=http://mimir.example.invalid:9090")
			check.Env = append(append(os.Environ(), asProgram+"=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY="), tt.env...)
			out, err := check.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if got := hosts["mimir.example.invalid:9090"]; got != tt.want {
				t.Errorf("the proxy was asked for %v: %v: %s", hosts, err, out)
			}
		})
	}
}
