package promtest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// optional returns a server's binary. If there is none, it skips the test with a reason.
func optional(t testing.TB, variable, file string) string {
	t.Helper()
	path, err := findBinary(variable, file)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// Helm is the program that installs charts, $HELM or bin/helm. It skips the test where there is none.
func Helm(t testing.TB) (binary string) {
	t.Helper()
	return optional(t, "HELM", "helm")
}

// Kubectl is Kubernetes' command line, $KUBECTL or bin/kubectl. It skips the test where there is none.
func Kubectl(t testing.TB) (binary string) {
	t.Helper()
	return optional(t, "KUBECTL", "kubectl")
}

// StartOld is Start with an old Prometheus: $PROMETHEUS_OLD, or else the one that the operating system has installed. It skips the
// test if there is none.
func StartOld(t testing.TB, tsdbDir string, cfg Config) (url string) {
	t.Helper()
	const installed = "/usr/bin/prometheus"
	binary := os.Getenv("PROMETHEUS_OLD")
	if binary == "" {
		binary = installed
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("find an old Prometheus: %v; install one there, or name its binary by PROMETHEUS_OLD", err)
	}
	url, _ = startPrometheus(t, binary, tsdbDir, cfg, nil)
	return url
}

// DuckDB is a program that runs the SQL of its standard input and writes the rows of each statement as a line of JSON, $DUCKDB or
// bin/duckdb. It skips the test if there is none.
func DuckDB(t testing.TB) (binary string) {
	t.Helper()
	return optional(t, "DUCKDB", "duckdb")
}

// MCPInspector is the command line of the Model Context Protocol's inspector, $MCP_INSPECTOR or bin/mcp-inspector, which wants Node.
// It skips the test if one of them is missing.
func MCPInspector(t testing.TB) (binary string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("find node: %v; install Node.js", err)
	}
	return optional(t, "MCP_INSPECTOR", "mcp-inspector")
}

// StartThanos runs a Thanos Query, $THANOS or bin/thanos, over two sidecars, each beside a Prometheus with the blocks of tsdbDir,
// and returns its URL, and the address of its StoreAPI. The two are replicas with different values of the external label replica. It waits until both replicas
// return samples of metric at the instant at. It skips the test if there is no binary.
func StartThanos(t testing.TB, tsdbDir, metric string, at time.Time) (url, store string) {
	t.Helper()
	return startThanos(t, tsdbDir, []string{"a", "b"}, 2*time.Hour, metric, at, nil)
}

// startThanos runs a Thanos Query over replicas of a Prometheus whose blocks are so long, and tells started its processes unless nil.
func startThanos(t testing.TB, tsdbDir string, replicas []string, block time.Duration, metric string, at time.Time, started func(pid int)) (url, store string) {
	t.Helper()
	binary := optional(t, "THANOS", "thanos")
	args := []string{"query", "--query.replica-label=replica"}
	for _, replica := range replicas {
		prometheus, data := startPrometheus(t, Binary(t), tsdbDir, Config{External: map[string]string{"replica": replica}, Flags: BlocksOf(block)}, started)
		sidecar := run(t, process{name: "Thanos sidecar", binary: binary, ready: "/-/ready", ports: 2, started: started, args: func(addr []string) []string {
			return []string{
				"sidecar", "--prometheus.url=" + prometheus, "--tsdb.path=" + data, "--http-address=" + addr[0], "--grpc-address=" + addr[1],
			}
		}})
		args = append(args, "--endpoint="+strings.TrimPrefix(sidecar[1], "http://"))
	}
	addresses := run(t, process{name: "Thanos Query", binary: binary, ready: "/-/ready", ports: 2, started: started, args: func(addr []string) []string {
		return append(args, "--http-address="+addr[0], "--grpc-address="+addr[1])
	}})
	url, store = addresses[0], strings.TrimPrefix(addresses[1], "http://")
	for _, replica := range replicas {
		waitSeries(t, url, fmt.Sprintf("%s{replica=%q}", metric, replica), at)
	}
	return url, store
}

// BlocksOf are the flags of a Prometheus that does not compact blocks of this length.
func BlocksOf(length time.Duration) []string {
	return []string{"--storage.tsdb.min-block-duration=" + length.String(), "--storage.tsdb.max-block-duration=" + length.String()}
}

// waitSeries waits until an instant query finds series.
func waitSeries(t testing.TB, base, query string, at time.Time) {
	t.Helper()
	params := url.Values{"query": {query}, "time": {strconv.FormatInt(at.Unix(), 10)}, "dedup": {"false"}}
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(100 * time.Millisecond) {
		_, text, err := exchange(context.Background(), http.MethodGet, base+"/api/v1/query?"+params.Encode(), nil, nil)
		if err == nil && strings.Contains(string(text), `"metric"`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("wait for series of %s at %s: %s %v", query, base, text, err)
		}
	}
}

// mimirConfig is a single process that stores on disk. The verbs are its directory and its two ports.
const mimirConfig = `
multitenancy_enabled: false
usage_stats: {enabled: false}
activity_tracker: {filepath: %[1]s/activity}
server: {http_listen_address: 127.0.0.1, http_listen_port: %[2]s, grpc_listen_address: 127.0.0.1, grpc_listen_port: %[3]s, log_level: error}
common: {storage: {backend: filesystem, filesystem: {dir: %[1]s/common}}}
blocks_storage: {filesystem: {dir: %[1]s/blocks}, tsdb: {dir: %[1]s/tsdb}, bucket_store: {sync_dir: %[1]s/sync}}
alertmanager_storage: {filesystem: {dir: %[1]s/alerts}}
ruler_storage: {filesystem: {dir: %[1]s/rules}}
ruler: {rule_path: %[1]s/rule-path}
compactor: {data_dir: %[1]s/compactor, sharding_ring: {kvstore: {store: inmemory}, instance_addr: 127.0.0.1}}
distributor: {ring: {kvstore: {store: inmemory}, instance_addr: 127.0.0.1}}
ingester: {ring: {kvstore: {store: inmemory}, replication_factor: 1, instance_addr: 127.0.0.1, min_ready_duration: 0s}}
store_gateway: {sharding_ring: {kvstore: {store: inmemory}, replication_factor: 1, instance_addr: 127.0.0.1}}
querier: {ring: {kvstore: {store: inmemory}, instance_addr: 127.0.0.1}}
query_scheduler: {ring: {kvstore: {store: inmemory}, instance_addr: 127.0.0.1}}
frontend: {address: 127.0.0.1}
memberlist: {bind_addr: [127.0.0.1], bind_port: 0}
limits: {ingestion_rate: 100000000, ingestion_burst_size: 100000000, max_global_series_per_user: 0, max_label_names_per_series: 100}
`

// StartMimir runs a Mimir, $MIMIR or bin/mimir, until the test ends, with the samples of the blocks in tsdbDir, which must be of
// the last hours, and returns the URL of its Prometheus API. It skips the test if there is no binary.
func StartMimir(t testing.TB, tsdbDir string) (url string) {
	t.Helper()
	url = startMimir(t, t.TempDir(), nil)
	Push(t, url+"/api/v1/push", tsdbDir, true)
	return url + "/prometheus"
}

// MimirBucket runs a Mimir with the samples of the blocks in tsdbDir, as StartMimir does, has it upload blocks of its own, and returns the directory
// that is its bucket. Its only tenant is anonymous.
func MimirBucket(t testing.TB, tsdbDir string) (dir string) {
	t.Helper()
	data := t.TempDir()
	url := startMimir(t, data, nil)
	Push(t, url+"/api/v1/push", tsdbDir, true)
	if code, text, err := exchange(context.Background(), http.MethodPost, url+"/ingester/flush?wait=true", nil, nil); err != nil {
		t.Fatalf("have Mimir upload its blocks: %d %s %v", code, text, err)
	}
	dir = filepath.Join(data, "blocks")
	waitBlocks(t, filepath.Join(dir, "anonymous"), 1)
	return dir
}

// ThanosBucket runs a Prometheus with the blocks in tsdbDir, each of two hours, and a Thanos sidecar that uploads them, and returns the directory that is
// the bucket. Blocks have the external label replica. It skips the test if there is no binary.
func ThanosBucket(t testing.TB, tsdbDir string, blocks int) (dir string) {
	t.Helper()
	binary := optional(t, "THANOS", "thanos")
	dir = t.TempDir()
	prometheus, data := startPrometheus(t, Binary(t), tsdbDir, Config{External: map[string]string{"replica": "a"}, Flags: BlocksOf(2 * time.Hour)}, nil)
	run(t, process{name: "Thanos sidecar", binary: binary, ready: "/-/ready", ports: 2, args: func(addr []string) []string {
		return []string{
			"sidecar", "--prometheus.url=" + prometheus, "--tsdb.path=" + data, "--http-address=" + addr[0], "--grpc-address=" + addr[1],
			fmt.Sprintf("--objstore.config={type: FILESYSTEM, config: {directory: %q}}", dir),
		}
	}})
	waitBlocks(t, dir, blocks)
	return dir
}

// waitBlocks waits until at least so many blocks are uploaded to a directory.
func waitBlocks(t testing.TB, dir string, least int) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(100 * time.Millisecond) {
		metas, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
		if err == nil && len(metas) >= least {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("wait for uploads: %d of %d blocks are in %s, %v", len(metas), least, dir, err)
		}
	}
}

// startMimir runs a Mimir that stores in dir, and tells started its process unless nil.
func startMimir(t testing.TB, dir string, started func(pid int), flags ...string) (url string) {
	t.Helper()
	binary := optional(t, "MIMIR", "mimir")
	return run(t, process{name: "Mimir", binary: binary, ready: "/ready", ports: 2, started: started, args: func(addr []string) []string {
		_, port, _ := strings.Cut(addr[0], ":")
		_, grpc, _ := strings.Cut(addr[1], ":")
		file := filepath.Join(t.TempDir(), "mimir.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, mimirConfig, dir, port, grpc), 0o600); err != nil {
			t.Fatalf("write configuration of Mimir: %v", err)
		}
		return append([]string{"-target=all", "-config.file=" + file}, flags...)
	}})[0]
}
