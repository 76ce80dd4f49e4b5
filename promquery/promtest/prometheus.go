package promtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout is how long a server may take to become ready.
	startTimeout = 60 * time.Second
	// attempts is how often a start is tried: another process may take the free port first.
	attempts = 3
)

// Binary returns the path of the Prometheus binary: $PROMETHEUS, else bin/prometheus at the root of the repository. It
// fails the test where there is none.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("PROMETHEUS"); path != "" {
		return path
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("find working directory: %v", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("find repository root: no go.mod above the working directory")
		}
	}
	path := filepath.Join(dir, "bin", "prometheus")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("find Prometheus at %s: %v; run `make tools`, or name a binary by PROMETHEUS", path, err)
	}
	return path
}

// Config is how Start configures the server. The zero value is a server without external labels.
type Config struct {
	External map[string]string // external labels
	Flags    []string          // further command line flags
}

// Start runs a real Prometheus over a copy of the blocks in tsdbDir (empty: no blocks) until the test ends, and returns
// its URL. It scrapes nothing and listens on a free loopback port.
func Start(t testing.TB, tsdbDir string, cfg Config) (url string) {
	t.Helper()
	binary := Binary(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := copyBlocks(tsdbDir, data); err != nil {
		t.Fatalf("copy blocks for Prometheus: %v", err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, configFile(cfg), 0o600); err != nil {
		t.Fatalf("write Prometheus configuration: %v", err)
	}
	var err error
	for range attempts {
		if url, err = start(t, binary, data, config, cfg.Flags); err == nil {
			return url
		}
	}
	t.Fatalf("start Prometheus: %v", err)
	return ""
}

// configFile writes the server's configuration.
func configFile(cfg Config) []byte {
	var b strings.Builder
	b.WriteString("global:\n  scrape_interval: 1m\n")
	names := make([]string, 0, len(cfg.External))
	for name := range cfg.External {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 0 {
		b.WriteString("  external_labels:\n")
	}
	for _, name := range names {
		fmt.Fprintf(&b, "    %s: %q\n", name, cfg.External[name])
	}
	return []byte(b.String())
}

// copyBlocks copies the block directories of src into dst, by hard links where the file system has them: the server
// writes its log beside the blocks, and may compact them, but never changes a file of one.
func copyBlocks(src, dst string) error {
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return err
	}
	if src == "" {
		return nil
	}
	return filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil || rel == "." {
			return err
		}
		to := filepath.Join(dst, rel)
		switch {
		case e.IsDir() && (e.Name() == "wal" || e.Name() == "chunks_head"):
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(to, 0o755)
		case filepath.Dir(rel) == ".":
			return nil // lock, queries.active, truth.json: of the directory, not of a block
		}
		if err := os.Link(path, to); err == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// start runs the server once and waits until it is ready.
func start(t testing.TB, binary, data, config string, flags []string) (string, error) {
	t.Helper()
	addr, err := freeAddr()
	if err != nil {
		return "", err
	}
	args := append([]string{
		"--config.file=" + config, "--storage.tsdb.path=" + data, "--web.listen-address=" + addr,
		"--storage.tsdb.retention.time=100y", "--log.level=warn",
	}, flags...)
	cmd := exec.Command(binary, args...) //nolint:noctx // ended by the clean-up below, gracefully first
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("run %s: %w", binary, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // a server that ends early says why in its output
	}()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has exited
		select {
		case <-exited: // however it ended
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
		}
	}
	url := "http://" + addr
	if err := waitReady(url, exited); err != nil {
		if !errors.Is(err, errExited) {
			stop()
		}
		return "", fmt.Errorf("%w; its output:\n%s", err, output.String())
	}
	t.Cleanup(stop)
	return url, nil
}

// errExited says that the server ended before it was ready.
var errExited = errors.New("it exited")

// waitReady polls /-/ready.
func waitReady(url string, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/-/ready", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			if err := resp.Body.Close(); err != nil {
				return err
			}
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-exited:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("wait for %s/-/ready: %w", url, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// freeAddr returns a loopback address nobody listens on.
func freeAddr() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find free port: %w", err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("free port: %w", err)
	}
	return addr, nil
}
