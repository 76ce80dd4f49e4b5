package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestManifestsTLS starts a promcost with exactly the flags and the config of a container that has a certificate, but for where files
// and the Prometheus are, and asks it as the chart's test does.
func TestManifestsTLS(t *testing.T) {
	t.Parallel()
	blocks, truth := writeTruth(t, "--demo.end=2026-03-03T12:00:00Z", "--demo.duration=3h")
	server := promtest.Start(t, blocks, promtest.Config{})
	objects := manifestsOf(t, "--prometheus.url="+server, "--namespace=costs", "--web.secret=tls")
	dir := t.TempDir()
	for d := yaml.NewDecoder(bytes.NewReader(objects)); ; {
		var o struct{ Data map[string]string }
		if err := d.Decode(&o); err != nil {
			break
		}
		for name, text := range o.Data {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "/etc/promcost/web", dir)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	another := httptest.NewTLSServer(http.NotFoundHandler())
	defer another.Close()
	writeCertificate(t, another, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	args := manifests.Args(objects)[0]
	for i, arg := range args {
		args[i] = strings.NewReplacer("=/data", "="+dir, "=/etc/promcost/config", "="+dir).Replace(arg)
	}
	address := strings.TrimPrefix(spawn(t, args...), "http://")
	if code, _ := get(t, "http://"+address+"/-/healthy"); code != http.StatusBadRequest {
		t.Errorf("it answers %d to HTTP", code)
	}
	for authority, want := range map[string]string{"tls.crt": "", "config.yaml": "certificate signed by unknown authority"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "query", "allocation", "--server=https://"+address, "--window="+truth.Start.Format("2006-01-02T15:04:05Z")+","+truth.End.Format("2006-01-02T15:04:05Z"))
		cmd.Env = append(os.Environ(), asProgram+"=1", "SSL_CERT_FILE="+filepath.Join(dir, authority))
		out, err := cmd.CombinedOutput()
		if (err != nil) != (want != "") || !strings.Contains(string(out), want) {
			t.Errorf("trusting %s: %v, want %q: %s", authority, err, want, out)
		}
	}
}
