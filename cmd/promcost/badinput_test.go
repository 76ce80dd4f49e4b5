package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// answering starts a server that gives every request the same answer, and returns its URL.
func answering(t *testing.T, code int, contentType, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// closedURL is a URL that nobody listens on, and nobody can until the test ends: its port is bound.
func closedURL(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) }) // it holds only the port
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", address.(*syscall.SockaddrInet4).Port)
}

// writeFiles writes files into a new directory and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := writeFiles(t, map[string]string{
		"unknown.yaml":   "defaults:\n  cpuPerHour: 1\n",
		"negative.yaml":  "defaults:\n  cpuPerCoreHour: -0.03\n",
		"badly.yaml":     "defaults: [",
		"http.yaml":      "basic_auth: {user: me}\n",
		"web.yaml":       "tls: yes\n",
		"bucket.yaml":    "type: TAPE\nconfig: {}\n",
		"not-a-database": "text\n",
	})
	checkTranscript(t, "bad-flags", place{"DIR", dir}, place{"TAKEN", taken.Addr().String()}, place{"EMPTY", t.TempDir()})
}

func TestBadSources(t *testing.T) {
	t.Parallel()
	closed := closedURL(t)
	dir := writeFiles(t, map[string]string{"missing-credentials.yaml": "authorization: {credentials_file: missing}\n"})
	places := []place{
		{"DIR", dir},
		{"CLOSED", closed},
		{"ADDRESS", strings.TrimPrefix(closed, "http://")},
		{"HTML", answering(t, http.StatusOK, "text/html", "<html>a login page</html>")},
		{"DENIED", answering(t, http.StatusUnauthorized, "text/plain", "Unauthorized\n")},
		{"NOBODY", promtest.Start(t, "", promtest.Config{})},
	}
	checkTranscript(t, "bad-sources", places...)
}
