//go:build e2e

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// releaseDir is what make dist wrote.
const releaseDir = "../../bin/dist"

// releasePlatforms are those of archives.
var releasePlatforms = []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64", "windows-arm64"}

// TestReleaseE2E checks what make dist wrote last: archives, bills of materials, packages and checksums.
func TestReleaseE2E(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join(releaseDir, "sha256sums.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no release here: make dist writes one, make dist-check also tests it")
	}
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "sha256sums.txt")
	check.Dir = releaseDir
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("checksums: %v: %s", err, out)
	}
	entries, err := os.ReadDir(releaseDir)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*len(releasePlatforms) + 2*2 + 2*2; len(entries) != want+1 || bytes.Count(sums, []byte("\n")) != want {
		t.Errorf("the release has %d files and %d checksums, want %d of one less", len(entries), bytes.Count(sums, []byte("\n")), want+1)
	}
	for _, platform := range releasePlatforms {
		t.Run(platform, func(t *testing.T) {
			dir := t.TempDir()
			system, arch, _ := strings.Cut(platform, "-")
			binary, along := filepath.Join(dir, "promcost"), []string{"CHANGELOG.md", "LICENSE", "NOTICE", "README.md", "_promcost", "promcost.1", "promcost.bash", "promcost.fish"}
			plugin := filepath.Join(dir, "kubectl-promcost")
			if system == "windows" {
				binary, plugin = binary+".exe", plugin+".cmd"
				unzip(t, releaseFile(t, "promcost-[0-9]*."+platform+".zip"), dir)
			} else {
				untar(t, releaseFile(t, "promcost-[0-9]*."+platform+".tar.gz"), dir)
			}
			checkBinary(t, binary, system, arch)
			var names []string
			for _, file := range mustGlob(t, filepath.Join(dir, "*")) {
				names = append(names, filepath.Base(file))
			}
			if diff := cmp.Diff(append(along, filepath.Base(binary), filepath.Base(plugin)), names, sorted); diff != "" {
				t.Errorf("files of the archive (-want +got):\n%s", diff)
			}
			checkBill(t, releaseFile(t, "promcost-[0-9]*."+platform+".cdx.json"), binary)
			if system == runtime.GOOS && arch == runtime.GOARCH {
				checkInstalled(t, binary, plugin, filepath.Join(dir, "promcost.bash"))
			}
		})
	}
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run("promcost-apiserver "+arch, func(t *testing.T) {
			dir := t.TempDir()
			untar(t, releaseFile(t, "promcost-apiserver-*.linux-"+arch+".tar.gz"), dir)
			binary := filepath.Join(dir, "promcost-apiserver")
			checkBinary(t, binary, "linux", arch)
			checkBill(t, releaseFile(t, "promcost-apiserver-*.linux-"+arch+".cdx.json"), binary)
			if files := mustGlob(t, filepath.Join(dir, "*")); len(files) != 5 {
				t.Errorf("the archive has %q", files)
			}
		})
	}
	t.Run("README", func(t *testing.T) {
		for _, name := range downloads(t, "*") {
			releaseFile(t, name)
		}
	})
	extracted := func(t *testing.T) (root string) {
		root = t.TempDir()
		shell(t, os.Environ(), "", "dpkg-deb", "--extract", releaseFile(t, "promcost_*_"+runtime.GOARCH+".deb"), root)
		return root
	}
	t.Run("deb", func(t *testing.T) { checkPackage(t, extracted(t)) })
	t.Run("rpm", func(t *testing.T) { // of the same files
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		dump := shell(t, os.Environ(), "", "rpm", "--query", "--package", "--dump", releaseFile(t, "promcost-*."+arch+".rpm"))
		if diff := cmp.Diff(filesOfDirectory(t, extracted(t)), filesOfRPM(t, dump)); diff != "" {
			t.Errorf("the packages differ (-deb +rpm):\n%s", diff)
		}
	})
}

// filesOfDirectory are the files below a directory, each with its mode and digest, or with what it links to.
func filesOfDirectory(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if entry.Type() == fs.ModeSymlink {
			to, err := os.Readlink(filepath.Join(root, path))
			files["/"+path] = "to " + to
			return err
		}
		info, err := entry.Info()
		content := readText(t, filepath.Join(root, path))
		files["/"+path] = fmt.Sprintf("0100%03o %x", info.Mode().Perm(), sha256.Sum256([]byte(content)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// filesOfRPM are those that rpm --dump prints: path, size, time, digest, mode, six more and what it links to. Zsh looks elsewhere
// on Debian.
func filesOfRPM(t *testing.T, dump string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for line := range strings.Lines(dump) {
		fields := strings.Fields(line)
		if len(fields) < 11 {
			t.Fatalf("rpm prints %q", line)
		}
		file := fields[4] + " " + fields[3]
		if to := fields[10]; to != "X" {
			file = "to " + to
		}
		files[strings.Replace(fields[0], "zsh/site-functions", "zsh/vendor-completions", 1)] = file
	}
	return files
}

// sorted compares lists whatever their order.
var sorted = cmp.Transformer("sorted", func(list []string) [1]string { return [1]string{strings.Join(slices.Sorted(slices.Values(list)), " ")} })

// releaseFile is the one file of the release whose name matches.
func releaseFile(t *testing.T, pattern string) string {
	t.Helper()
	files := mustGlob(t, filepath.Join(releaseDir, pattern))
	if len(files) != 1 {
		t.Fatalf("%d files match %s, want one", len(files), pattern)
	}
	return files[0]
}

// mustGlob are the files that match.
func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// put writes a file of an archive, whose only directory it leaves out.
func put(t *testing.T, dir, name string, mode fs.FileMode, r io.Reader) {
	t.Helper()
	content, err := io.ReadAll(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, mode.Perm())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func untar(t *testing.T, archive, dir string) {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(readText(t, archive)))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			if err := os.Symlink(h.Linkname, filepath.Join(dir, filepath.Base(h.Name))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		put(t, dir, h.Name, h.FileInfo().Mode(), r)
	}
}

func unzip(t *testing.T, archive, dir string) {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, f.Name, f.Mode(), r)
	}
}

// checkBill checks that a bill of materials lists the modules that Go recorded in a binary, and no others.
func checkBill(t *testing.T, file, binary string) {
	t.Helper()
	var bill struct {
		BOMFormat, SpecVersion string
		Components             []struct {
			Name, Version string
			PURL          string
			Hashes        []struct{ Alg, Content string }
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal([]byte(readText(t, file)), &bill); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, dep := range info.Deps {
		want = append(want, "pkg:golang/"+dep.Path+"@"+strings.ReplaceAll(dep.Version, "+", "%2B"))
	}
	var got []string
	for _, c := range bill.Components {
		got = append(got, c.PURL)
		if c.Name != "std" && (len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64) {
			t.Errorf("%s has the hashes %v", c.Name, c.Hashes)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || bill.BOMFormat != "CycloneDX" || !cmp.Equal(bill.Dependencies[0].DependsOn, got) {
		t.Errorf("a bill of %s %s (-want +got):\n%s", bill.BOMFormat, bill.SpecVersion, diff)
	}
}

// checkInstalled checks that a program runs here, also as kubectl's plugin, and that bash takes its completions.
func checkInstalled(t *testing.T, binary, plugin, completions string) {
	t.Helper()
	if got := shell(t, os.Environ(), "", binary, "version"); !strings.HasPrefix(got, "promcost, version ") || !strings.Contains(got, "build date:") {
		t.Errorf("promcost version prints %s", got)
	}
	if got := shell(t, os.Environ(), "", plugin, "allocation", "--help"); !strings.Contains(got, "promcost kubectl allocation") {
		t.Errorf("the plugin prints %s", got)
	}
	shell(t, os.Environ(), "", "bash", "-n", completions)
}

// checkPackage checks the files of a package and what systemd says of its service.
func checkPackage(t *testing.T, root string) {
	t.Helper()
	checkBinary(t, filepath.Join(root, "usr/bin/promcost"), "linux", runtime.GOARCH)
	checkInstalled(t, filepath.Join(root, "usr/bin/promcost"), filepath.Join(root, "usr/bin/kubectl-promcost"), filepath.Join(root, "usr/share/bash-completion/completions/promcost"))
	defaults, err := os.Stat(filepath.Join(root, "etc/default/promcost"))
	if err != nil || defaults.Mode().Perm() != 0o640 {
		t.Errorf("what may hold a password is %v, %v", defaults, err)
	}
	man, err := os.Open(filepath.Join(root, "usr/share/man/man1/promcost.1.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer man.Close()
	z, err := gzip.NewReader(man)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(z)
	if err != nil || !bytes.Contains(page, []byte("promcost \\- ")) {
		t.Errorf("the man page is %.100q, %v", page, err)
	}
	unit := filepath.Join(root, "usr/lib/systemd/system/promcost.service")
	// Exposure is 0 to 10 in theory; --threshold has it tenfold.
	shell(t, os.Environ(), "", "systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=15", unit)
}
