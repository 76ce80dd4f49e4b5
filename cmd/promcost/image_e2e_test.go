//go:build e2e

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promtest"
)

// maxBinary is how large a released binary may be.
const maxBinary = 80_000_000

// imageUser is the user and group of the image.
const imageUser = 65532

// descriptor names a blob of an OCI layout.
type descriptor struct {
	MediaType string
	Digest    string
	Size      int64
	Platform  struct{ OS, Architecture string }
}

// imageConfig is how an image runs.
type imageConfig struct {
	Created          time.Time
	OS, Architecture string
	Config           struct {
		User, WorkingDir string
		Entrypoint       []string
		ExposedPorts     map[string]struct{}
		Labels           map[string]string
	}
	RootFS struct {
		Type    string
		DiffIDs []string `json:"diff_ids"`
	}
}

// ociLayout is a directory with images.
type ociLayout string

// blob reads a blob, checks its digest and size, and decodes it where into is not nil.
func (l ociLayout) blob(t *testing.T, d descriptor, into any) []byte {
	t.Helper()
	kind, hex, _ := strings.Cut(d.Digest, ":")
	content := []byte(readText(t, filepath.Join(string(l), "blobs", kind, hex)))
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); got != d.Digest || int64(len(content)) != d.Size {
		t.Fatalf("a blob is %s of %d bytes, want %s of %d", got, len(content), d.Digest, d.Size)
	}
	if into == nil {
		return content
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", d.Digest, err)
	}
	return content
}

// images calls f with the configuration and the files of each image.
func (l ociLayout) images(t *testing.T, f func(t *testing.T, config imageConfig, layer []byte)) {
	t.Helper()
	var top, index struct{ Manifests []descriptor }
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(string(l), "index.json"))), &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json has %d entries, want one: %v", len(top.Manifests), err)
	}
	l.blob(t, top.Manifests[0], &index)
	var platforms []string
	for _, d := range index.Manifests {
		platforms = append(platforms, d.Platform.OS+"/"+d.Platform.Architecture)
		t.Run(d.Platform.Architecture, func(t *testing.T) {
			var manifest struct {
				Config descriptor
				Layers []descriptor
			}
			var config imageConfig
			l.blob(t, d, &manifest)
			l.blob(t, manifest.Config, &config)
			z, err := gzip.NewReader(bytes.NewReader(l.blob(t, manifest.Layers[0], nil)))
			if err != nil {
				t.Fatal(err)
			}
			layer, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprintf("sha256:%x", sha256.Sum256(layer))
			if config.OS != d.Platform.OS || config.Architecture != d.Platform.Architecture || config.RootFS.Type != "layers" ||
				len(manifest.Layers) != 1 || !cmp.Equal(config.RootFS.DiffIDs, []string{id}) {
				t.Errorf("the configuration is of another image: %+v, want the layer %s of %+v", config, id, d.Platform)
			}
			f(t, config, layer)
		})
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

// unpack writes the files of a layer below a directory, with their owners where this process may set them.
func unpack(t *testing.T, layer []byte, created time.Time, root string) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(created) {
			t.Errorf("%s is of %s, want %s", h.Name, h.ModTime, created)
		}
		path, mode := filepath.Join(root, h.Name), h.FileInfo().Mode()
		if mode.IsDir() {
			err = os.Mkdir(path, mode.Perm())
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, mode.Perm())
			}
		}
		if err == nil {
			err = os.Chmod(path, mode)
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(path, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// container runs a command as a container runtime does that is told to keep the root read-only, to put a volume on /data and to
// bring an empty directory to /tmp. Its arguments are ROOT USER COMMAND ARGUMENTS.
const container = `set -e
root=$1 user=$2 && shift 2
mount --bind "$root" "$root"
mount --bind "$root.data" "$root/data"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -o remount,ro,bind "$root"
exec env -i "$(command -v chroot)" --userspec="$user" "$root" "$@"`

// TestImageE2E writes the image, checks what it says of itself, and runs it on a read-only root as its user, beside a Prometheus.
func TestImageE2E(t *testing.T) {
	image := exec.CommandContext(t.Context(), "make", "image")
	image.Dir = "../.."
	if out, err := image.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v: %s", err, out)
	}
	for layout, try := range map[ociLayout]func(t *testing.T, root string, config imageConfig){"../../bin/oci": runImage, "../../bin/oci-apiserver": runAPIServer} {
		t.Run(filepath.Base(string(layout)), func(t *testing.T) { testImage(t, layout, try) })
	}
}

// testImage checks a layout, and tries the image for this machine.
func testImage(t *testing.T, layout ociLayout, try func(t *testing.T, root string, config imageConfig)) {
	layout.images(t, func(t *testing.T, config imageConfig, layer []byte) {
		checkDockerfile(t, config)
		root := filepath.Join(t.TempDir(), "root")
		for _, dir := range []string{root, root + ".data"} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		unpack(t, layer, config.Created, root)
		checkBinary(t, filepath.Join(root, config.Config.Entrypoint[0]), config.OS, config.Architecture)
		for _, file := range []string{"LICENSE", "NOTICE"} {
			if readText(t, filepath.Join(root, "licenses", file)) != readText(t, filepath.Join("../..", file)) {
				t.Errorf("the image has another %s", file)
			}
		}
		t.Logf("the layer has %.1f MB", float64(len(layer))/1e6)
		switch {
		case config.Architecture != runtime.GOARCH:
		case os.Geteuid() != 0:
			t.Skip("running the image as its user takes root")
		default:
			try(t, root, config)
		}
	})
}

// checkBinary checks that a released binary is small enough, static, of a platform, and has authorities for certificates in it.
func checkBinary(t *testing.T, file, system, arch string) {
	t.Helper()
	stat, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if stat.Size() > maxBinary {
		t.Errorf("%s has %d bytes, want at most %d", file, stat.Size(), maxBinary)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != system || settings["GOARCH"] != arch || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		t.Errorf("%s was built with %v", file, settings)
	}
	if !slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "golang.org/x/crypto/x509roots/fallback" }) {
		t.Errorf("%s has no authorities for certificates", file)
	}
}

// checkDockerfile checks that the stage of the Dockerfile says what the image does.
func checkDockerfile(t *testing.T, config imageConfig) {
	t.Helper()
	c, base := config.Config, "FROM scratch\n"
	if stage, ok := strings.CutPrefix(filepath.Base(c.Entrypoint[0]), "promcost-"); ok {
		base = "FROM scratch AS " + stage + "\n"
	}
	_, stage, _ := strings.Cut(readText(t, "../../Dockerfile"), base)
	stage, _, _ = strings.Cut(stage, "\nFROM ")
	entrypoint, err := json.Marshal(c.Entrypoint)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"USER " + c.User + "\n", "WORKDIR " + c.WorkingDir + "\n", "ENTRYPOINT " + string(entrypoint) + "\n"}
	for port := range c.ExposedPorts {
		want = append(want, "EXPOSE "+port+"\n")
	}
	const prefix = "org.opencontainers.image."
	for label, value := range c.Labels {
		switch label {
		case prefix + "created": // the time of a commit, which Docker is not told
			continue
		case prefix + "version", prefix + "revision":
			value = "$" + strings.ToUpper(strings.TrimPrefix(label, prefix))
		}
		want = append(want, fmt.Sprintf("%s=%q", label, value))
	}
	if len(want) != 4+6 || c.User != fmt.Sprintf("%d:%[1]d", imageUser) {
		t.Errorf("the image has %q", want)
	}
	for _, line := range want {
		if !strings.Contains(stage, line) {
			t.Errorf("the Dockerfile lacks %q", line)
		}
	}
}

// runAPIServer runs an unpacked image as far as it gets without a Kubernetes.
func runAPIServer(t *testing.T, root string, config imageConfig) {
	t.Helper()
	command := append([]string{"--mount", "sh", "-c", container, "sh", root, config.Config.User}, config.Config.Entrypoint...)
	for args, want := range map[string]string{"--version": "promcost-apiserver, version ", "--promcost.url=http://promcost:9003": "KUBERNETES_SERVICE_HOST"} {
		out, err := exec.CommandContext(t.Context(), "unshare", append(slices.Clone(command), args)...).CombinedOutput()
		if (err == nil) != (args == "--version") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %q: %s", args, err, want, out)
		}
	}
}

// runImage runs an unpacked image: it serves costs, keeps its history on the volume and writes nowhere else.
func runImage(t *testing.T, root string, config imageConfig) {
	t.Helper()
	prometheus := promtest.Start(t, writeSmallDemo(t), promtest.Config{})
	if err := os.Chown(root+".data", imageUser, imageUser); err != nil {
		t.Fatal(err)
	}
	command := append([]string{"--mount", "sh", "-c", container, "sh", root, config.Config.User}, config.Config.Entrypoint...)
	inside := func(args ...string) []string { return slices.Concat(command, args) }
	begun := time.Now()
	p := startDaemon(t, "unshare", inside("serve", "--prometheus.url="+prometheus, "--timezone=Asia/Kolkata")...)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, p.url+"/-/ready"); return code == 200 })
	code, body := get(t, p.url+"/model/allocation/compute?window=2h&aggregate=namespace&idle=false")
	t.Logf("the first answer came %s after the start", time.Since(begun).Round(10*time.Millisecond))
	if code != 200 || !strings.Contains(body, `"kube-system"`) {
		t.Errorf("compute: %d %.300s", code, body)
	}
	status := readText(t, fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	for _, line := range []string{fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", imageUser), fmt.Sprintf("Gid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", imageUser), "CapEff:\t0000000000000000\n"} {
		if !strings.Contains(status, line) {
			t.Errorf("its process lacks %q:\n%s", line, status)
		}
	}
	eventually(t, "it keeps no history on the volume", func() bool {
		hours, err := filepath.Glob(filepath.Join(root+".data", "allocations_hourly", "*", "*", "*", "*.parquet"))
		return err == nil && len(hours) > 0
	})
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("it does not end well: %v", err)
	}
	refused := exec.CommandContext(t.Context(), "unshare", inside("serve", "--prometheus.url="+prometheus, "--storage.path=/bin/data", "--web.listen-address=127.0.0.1:0")...)
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("it writes to its root: %v: %s", err, out)
	}
}
