package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/dashboards"
	"github.com/promcost/promcost/promquery/promtest"
)

// manifestCases are deployments of every kind.
var manifestCases = []struct {
	name  string
	flags []string
}{
	{"volume", []string{"--prometheus.url=http://prometheus-operated.monitoring:9090", "--namespace=costs"}},
	{"everything", []string{"--values=testdata/manifests/everything.values.yaml"}},
	{"object-store", []string{"--prometheus.url=http://prometheus:9090", "--storage.secret=bucket", "--replicas=2", "--promql.passthrough", "--pods=100"}},
	{"shards", []string{"--prometheus.url=http://thanos:9090", "--source=query", "--prometheus.dedup=true", "--storage.secret=bucket", "--shards=3", "--pods=90000"}},
	{"https", []string{"--prometheus.url=http://prometheus:9090", "--namespace=costs-https", "--web.secret=promcost-tls", "--storage.secret=bucket", "--shards=2", "--service-monitor", "--apiserver", "--apiserver.view"}},
	{"apiserver", []string{"--prometheus.url=http://prometheus:9090", "--namespace=costs-api", "--apiserver", "--apiserver.secret=api-tls", "--apiserver.replicas=2", "--apiserver.ca-bundle=QUJD", "--apiserver.cluster-id=eu-$1", "--service.port=80"}},
	{"claim", []string{"--prometheus.url=http://prometheus:9090", "--storage.existing-claim=history", "--storage.retention=400d", "--bills.secret=bills", "--bills.existing-claim=bills", "--no-service-account.create"}},
	{"no-history", []string{"--prometheus.url=http://prometheus:9090", "--no-storage", "--no-network-policy"}},
	{"openshift", []string{"--values=testdata/manifests/openshift.values.yaml"}},
	{"sidecar", []string{"--sidecar=k8s", "--namespace=monitoring", "--service-monitor", "--name=costs", "--query.max-memory=512MB"}},
}

// manifestsOf runs promcost manifests.
func manifestsOf(t *testing.T, flags ...string) []byte {
	t.Helper()
	var out, stderr bytes.Buffer
	if code := run(t.Context(), append([]string{"manifests"}, flags...), &out, &stderr); code != exitOK {
		t.Fatalf("manifests %s: exit %d: %s", flags, code, stderr.String())
	}
	return out.Bytes()
}

func TestManifests(t *testing.T) {
	for _, tt := range manifestCases {
		t.Run(tt.name, func(t *testing.T) {
			got := manifestsOf(t, tt.flags...)
			if again := manifestsOf(t, tt.flags...); !bytes.Equal(got, again) {
				t.Error("the same flags give other bytes")
			}
			file := filepath.Join("testdata", "manifests", tt.name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", file, diff)
			}
		})
	}
}

func TestManifestsRefuse(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"unknown.yaml":          "replica: 2",
		"owned.yaml":            "{prometheus: {url: http://p:9090}, flags: {storage.path: /data}}",
		"number.yaml":           "{prometheus: {url: http://p:9090}, flags: {compute.max-concurrency: 2}}",
		"switch.yaml":           "{prometheus: {url: http://p:9090}, flags: {web.enable-lifecycle: 'true'}}",
		"list.yaml":             "{prometheus: {url: http://p:9090}, flags: {prometheus.exclude: [1]}}",
		"flag.yaml":             "{prometheus: {url: http://p:9090}, flags: {query.max-mem: 1GB}}",
		"taken.yaml":            "podLabels: {app.kubernetes.io/name: costs}",
		"bills.yaml":            "bills: [{name: aws, path: bills}]",
		"bills-of-a-store.yaml": "bills: [{name: aws, config: store.yaml}]",
		"store.yaml":            "{type: S3, config: {bucket: bills, access_key: who, secret_key: sesame}}",
		"two-places.yaml":       "storage: {emptyDir: true, secret: bucket}",
		"no-source.yaml":        "flags: {source: none}",
		"paths.yaml":            "ingress: {enabled: true, hosts: [{host: b.example.com, paths: [{path: costs, pathType: Prefix}]}]}",
		"report.yaml":           "reports: [{name: weekly, schedule: '0 7 * * 1'}]", "reports.yaml": "reports: [{name: a, schedule: x, secret: s}, {name: a, schedule: x, secret: s}]",
		"reportflags.yaml":      "reports: [{name: a, schedule: x, secret: s, flags: {server: 'http://p'}}]",
		"hosts.yaml":            "ingress: {enabled: true, host: a.example.com, hosts: [{host: b.example.com}]}",
		"files.yaml":            "files: {config.yaml: 'currency: EUR'}",
		"config.yaml":           "{prometheus: {url: http://p:9090}, config: 'currency: dollars'}",
		"prices-elsewhere.yaml": "prices: {file: prices.yaml}",
		"prices.yaml":           "defaults: {cpuPerCoreHour: 0.03}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkTranscript(t, "manifests", place{"DIR", dir})
}

// TestManifestsHaveFiles looks for the config, the prices, the dashboards and the rules in what the cluster gets.
func TestManifestsHaveFiles(t *testing.T) {
	const cfg = "# ours\ncurrency: EUR\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	csv, err := os.ReadFile(filepath.Join("..", "..", "allocation", "pricing", "testdata", "full.csv"))
	if err != nil {
		t.Fatal(err)
	}
	objects := manifestsOf(t, "--prometheus.url=http://p:9090", "--config.file="+filepath.Join(dir, "config"),
		"--pricing.file="+filepath.Join("..", "..", "allocation", "pricing", "testdata", "full.csv"),
		"--dashboards", "--dashboards.unit=currencyEUR", "--prometheus-rule")
	data, rules := map[string]string{}, 0
	for d := yaml.NewDecoder(bytes.NewReader(objects)); ; {
		var o struct {
			Kind string
			Data map[string]string
			Spec struct{ Groups []any }
		}
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		maps.Copy(data, o.Data)
		rules += len(o.Spec.Groups)
	}
	want := map[string]string{"config.yaml": cfg, "prices.csv": string(csv)}
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "EUR"}) {
		want[f.Name] = string(f.Text)
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("data of ConfigMaps (-want +got):\n%s", diff)
	}
	if rules == 0 {
		t.Error("no group of rules")
	}
	if args := manifests.Args(objects); len(args) != 1 || !slices.Contains(args[0], "--pricing.file=/etc/promcost/config/prices.csv") {
		t.Errorf("the container's arguments are %q", args)
	}
}

// places are where the flags of a container say that things are.
var places = regexp.MustCompile(`=(/etc/promcost/[a-z]+|/data|/prometheus$|https?://[^ ]*)`)

// atHome are the flags of a container with files in a directory, with these blocks and with this Prometheus.
func atHome(args []string, dir, blocks, server string) (moved []string) {
	for _, arg := range args {
		moved = append(moved, places.ReplaceAllStringFunc(arg, func(place string) string {
			switch {
			case place == "=/prometheus":
				return "=" + blocks
			case place == "=/data":
				return "=" + filepath.Join(dir, "data")
			case strings.HasPrefix(place, "=http"):
				return "=" + server
			}
			return "=" + dir
		}))
	}
	return moved
}

// TestManifestsRun starts promcosts with exactly the flags of the containers, but for where files and the Prometheus are, and
// asks them.
func TestManifestsRun(t *testing.T) {
	t.Parallel()
	blocks, truth := writeTruth(t, "--demo.end=2026-03-03T12:00:00Z", "--demo.duration=3h")
	server := promtest.Start(t, blocks, promtest.Config{})
	for _, tt := range manifestCases {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"config.yaml": "currency: EUR", "prices.yaml": "defaults: {cpuPerCoreHour: 0.03}", "http-config.yaml": "http_headers: {X-Test: {values: [test]}}", "web-config.yaml": "",
				"objstore.yaml": fmt.Sprintf("{type: FILESYSTEM, config: {directory: %q}}", filepath.Join(dir, "bucket")),
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			all := manifests.Args(manifestsOf(t, tt.flags...))
			if tt.name == "sidecar" { // also of a Prometheus without a block
				all = append(all, atHome(all[0], dir, t.TempDir(), server))
			}
			for _, args := range all {
				args = atHome(args, dir, blocks, server)
				base := spawn(t, args...)
				if code, body := get(t, base+"/-/healthy"); code != http.StatusOK {
					t.Errorf("%s: health is %d %s", args, code, body)
				}
				if slices.ContainsFunc(args, func(arg string) bool { return arg == "--source=none" || strings.HasPrefix(arg, "--shard=") }) {
					continue // it has no history, or answers nothing itself
				}
				var reply struct{ Data []map[string]any }
				askFor(t, base+"/model/allocation/compute", truth.Start, truth.End, "aggregate=namespace&accumulate=true", &reply)
				if len(reply.Data) != 1 || len(reply.Data[0]) < 3 {
					t.Errorf("%s: it answers %v", args, reply.Data)
				}
			}
		})
	}
}
