package promtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Binary returns the path of the Prometheus binary: $PROMETHEUS, or else bin/prometheus at the root of the repository. It fails
// the test if there is none.
func Binary(t testing.TB) string {
	t.Helper()
	return needBinary(t, "PROMETHEUS", "prometheus")
}

// Promtool returns the path of the promtool binary: $PROMTOOL, or else bin/promtool at the root of the repository. It fails the
// test if there is none.
func Promtool(t testing.TB) string {
	t.Helper()
	return needBinary(t, "PROMTOOL", "promtool")
}

// Config is how Start configures the server. The zero value is a server without external labels.
type Config struct {
	External map[string]string // external labels
	Flags    []string          // further command line flags
	Behind   time.Duration     // how far pushed samples may lie behind the newest; an old Prometheus wants 0
	Scrape   string            // HOST:PORT that is scraped every second as the job promcost, with honor_labels
	Rules    []string          // absolute names of rule files, which are evaluated every second
	YAML     string            // further sections of the configuration, such as remote_read
}

// Start runs a real Prometheus over a copy of the blocks in tsdbDir (empty: no blocks) until the test ends, and returns its URL.
// It scrapes nothing unless configured to, and listens on a free loopback port.
func Start(t testing.TB, tsdbDir string, cfg Config) (url string) {
	t.Helper()
	url, _ = startPrometheus(t, Binary(t), tsdbDir, cfg, nil)
	return url
}

// startPrometheus runs the given Prometheus, tells started its process unless nil, and returns its data directory too.
func startPrometheus(t testing.TB, binary, tsdbDir string, cfg Config, started func(pid int)) (url, data string) {
	t.Helper()
	dir := t.TempDir()
	data = filepath.Join(dir, "data")
	if err := copyBlocks(tsdbDir, data); err != nil {
		t.Fatalf("copy blocks for Prometheus: %v", err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, configFile(cfg), 0o600); err != nil {
		t.Fatalf("write Prometheus configuration: %v", err)
	}
	urls := run(t, process{
		name: "Prometheus", binary: binary, ready: "/-/ready", started: started,
		args: func(addr []string) []string {
			return append([]string{
				"--config.file=" + config, "--storage.tsdb.path=" + data, "--web.listen-address=" + addr[0],
				"--storage.tsdb.retention.time=100y", "--log.level=warn",
			}, cfg.Flags...)
		},
	})
	return urls[0], data
}

// configFile writes the server's configuration.
func configFile(cfg Config) []byte {
	var b strings.Builder
	b.WriteString("global:\n  scrape_interval: 1m\n  evaluation_interval: 1s\n")
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
	if cfg.Behind > 0 {
		fmt.Fprintf(&b, "storage:\n  tsdb:\n    out_of_order_time_window: %ds\n", int64(cfg.Behind.Seconds()))
	}
	if cfg.Scrape != "" {
		fmt.Fprintf(&b, "scrape_configs:\n  - job_name: promcost\n    scrape_interval: 1s\n    scrape_timeout: 1s\n    honor_labels: true\n    static_configs: [{targets: [%q]}]\n", cfg.Scrape)
	}
	if len(cfg.Rules) > 0 {
		fmt.Fprintf(&b, "rule_files: [%s]\n", strings.Join(cfg.Rules, ", "))
	}
	b.WriteString(cfg.YAML)
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
