package main

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersionOfTree runs the script that finds the version of a release, in repositories with tags and changelogs.
func TestVersionOfTree(t *testing.T) {
	t.Parallel()
	const released, unreleased = "# Changelog\n\n## 0.2.1 / 2026-12-01\n\n* one\n\n## 0.2.0 / 2026-11-01\n", "# Changelog\n\n## Unreleased\n\n## 0.2.1 / 2026-12-01\n"
	script := readText(t, "../../.ci/version")
	for _, tc := range []struct {
		name, changelog string
		commit          bool
		tags            []string
		edit            bool
		want            string // COMMIT stands for the commit
	}{
		{"a tag", unreleased, true, []string{"v0.3.0"}, false, "0.3.0"},
		{"a tag of a pre-release", unreleased, true, []string{"v0.3.0-rc.1"}, false, "0.3.0-rc.1"},
		{"a tag that names no version", unreleased, true, []string{"nightly"}, false, "0.2.2-dev.gCOMMIT"},
		{"a tag and an edit", unreleased, true, []string{"v0.3.0"}, true, "0.3.0-dirty"},
		{"a changelog that begins with a release", released, true, nil, false, "0.2.1"},
		{"the same without a repository", released, false, nil, false, "0.2.1"},
		{"a changelog that begins with what is not released", unreleased, true, nil, false, "0.2.2-dev.gCOMMIT"},
		{"the same and an edit", unreleased, true, nil, true, "0.2.2-dev.gCOMMIT.dirty"},
		{"the same without a repository", unreleased, false, nil, false, "0.2.2-dev"},
		{"nothing was released yet", "# Changelog\n\n## Unreleased\n", true, nil, false, "0.0.1-dev.gCOMMIT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := writeFiles(t, map[string]string{".ci/version": script, "CHANGELOG.md": tc.changelog})
			want := tc.want
			if tc.commit {
				commitFiles(t, dir, tc.tags...)
				want = strings.Replace(want, "COMMIT", git(t, dir, "rev-parse", "--short=7", "HEAD"), 1)
			}
			if tc.edit {
				edit(t, dir)
			}
			if got := strings.TrimSpace(shell(t, gitEnv(dir), "", "bash", filepath.Join(dir, ".ci/version"))); got != want {
				t.Errorf("the version is %s, want %s", got, want)
			}
		})
	}
}

// gitEnv is the environment of programs in a directory that find no repository above it, and no settings of this machine's user.
func gitEnv(dir string) []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
}

// git runs git in a directory.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(shell(t, gitEnv(dir), "", append([]string{"git", "-C", dir}, args...)...))
}

// commitFiles makes a directory a repository of one commit, which has the tags.
func commitFiles(t *testing.T, dir string, tags ...string) {
	t.Helper()
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message", "one")
	for _, tag := range tags {
		git(t, dir, "tag", tag)
	}
}

// edit changes a file of a repository.
func edit(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, "CHANGELOG.md")
	if err := os.WriteFile(name, []byte(readText(t, name)+"\n* an edit\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReleaseScript runs the script that makes the release of a tag, with a make and a crane that only say what they are told.
func TestReleaseScript(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## %s / 2026-12-01\n\n* one\n\n## 0.2.0 / 2026-11-01\n\n* before\n"
	const pushed = "make dist image\nmake bin/crane bin/helm\n"
	push := func(image, version string) string {
		return "crane push bin/" + image + " example.com/promcost" + strings.TrimPrefix(image, "oci") + ":" + version + "\n"
	}
	chart := func(version string) string {
		return "helm push bin/dist/promcost-" + version + ".tgz oci://example.com/charts\n"
	}
	const tagged, latest = "crane tag example.com/promcost:0.3.0 latest\n", "crane tag example.com/promcost-apiserver:0.3.0 latest\n"
	for _, tc := range []struct {
		name, heading, tag string
		edit, signed       bool
		args               []string
		told, refused      string
	}{
		{name: "a release", heading: "0.3.0", tag: "v0.3.0", told: "make dist image\n"},
		{name: "a signed release", heading: "0.3.0", tag: "v0.3.0", signed: true, told: "make dist image\n"},
		{name: "a pushed release", heading: "0.3.0", tag: "v0.3.0", args: []string{"example.com/promcost"}, told: pushed + push("oci", "0.3.0") + tagged + push("oci-apiserver", "0.3.0") + latest + chart("0.3.0")},
		{name: "a pre-release is not the latest", heading: "0.3.0-rc.1", tag: "v0.3.0-rc.1", args: []string{"example.com/promcost"}, told: pushed + push("oci", "0.3.0-rc.1") + push("oci-apiserver", "0.3.0-rc.1") + chart("0.3.0-rc.1")},
		{name: "no tag", heading: "0.3.0", tag: "nightly", refused: "release: HEAD has no tag: git tag -a v0.3.0\n"},
		{name: "an edit", heading: "0.3.0", tag: "v0.3.0", edit: true, refused: "release: the tree differs from its commit: commit, and tag that\n"},
		{name: "a tag that the changelog lacks", heading: "0.3.0", tag: "v0.4.0", refused: `release: CHANGELOG.md begins with "0.3.0 / 2026-12-01": write "## 0.4.0 / `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			const says = "#!/bin/sh\necho \"${0##*/} $*\" >>bin/told\nmkdir -p bin/dist\necho sums >bin/dist/sha256sums.txt\n"
			dir := writeFiles(t, map[string]string{
				".ci/version": readText(t, "../../.ci/version"), ".ci/release": readText(t, "../../.ci/release"),
				"CHANGELOG.md": fmt.Sprintf(changelog, tc.heading), "bin/make": says, "bin/crane": says, "bin/helm": says,
			})
			for _, name := range []string{".ci/version", "bin/make", "bin/crane", "bin/helm"} {
				if err := os.Chmod(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			commitFiles(t, dir, tc.tag)
			if tc.edit {
				edit(t, dir)
			}
			cmd := exec.CommandContext(t.Context(), "bash", append([]string{filepath.Join(dir, ".ci/release")}, tc.args...)...)
			cmd.Env = append(gitEnv(dir), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			if tc.signed {
				cmd.Env = append(cmd.Env, "SIGNING_KEY="+signingKey(t))
			}
			out, err := cmd.CombinedOutput()
			if tc.refused != "" {
				if err == nil || !strings.HasPrefix(string(out), tc.refused) {
					t.Errorf("%v: %s, want %s", err, out, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if tc.signed {
				checkSignature(t, filepath.Join(dir, "bin/dist"))
			}
			if diff := cmp.Diff(tc.told, readText(t, filepath.Join(dir, "bin/told"))); diff != "" {
				t.Errorf("what it ran (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff("\n* one\n\n", readText(t, filepath.Join(dir, "bin/notes.md"))); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// signingKey is the file of a new private key.
func signingKey(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen here, by which releases are signed")
	}
	key := filepath.Join(t.TempDir(), "key")
	shell(t, os.Environ(), "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a comment", "-f", key)
	return key
}

// checkSignature checks the checksums of a release by the command of SECURITY.md, also that it refuses others.
func checkSignature(t *testing.T, dist string) {
	t.Helper()
	command := regexp.MustCompile("(?m)^    (ssh-keygen -Y verify .+)$").FindStringSubmatch(readText(t, "../../SECURITY.md"))
	if command == nil {
		t.Fatal("SECURITY.md does not say how to check a signature")
	}
	verify := func() error {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", command[1])
		cmd.Dir = dist
		return cmd.Run()
	}
	if err := verify(); err != nil {
		t.Errorf("%s: %v", command[1], err)
	}
	if err := os.WriteFile(filepath.Join(dist, "sha256sums.txt"), []byte("others\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verify(); err == nil {
		t.Errorf("%s takes checksums that were not signed", command[1])
	}
}

// readText is the content of a file.
func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCertificateAuthorities checks that authorities are known where the machine has no list of them, as in the image: a process
// that finds none has those that are linked in.
func TestCertificateAuthorities(t *testing.T) {
	const bare = "PROMCOST_TEST_BARE"
	if os.Getenv(bare) != "" {
		pool, err := x509.SystemCertPool()
		if err != nil || pool.Equal(x509.NewCertPool()) {
			t.Errorf("no authorities: %v", err)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("the system verifies certificates here")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCertificateAuthorities$")
	cmd.Env = append(os.Environ(), bare+"=1", "SSL_CERT_FILE=/dev/null", "SSL_CERT_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestServiceOfPackages checks that the command of the packages' systemd service is one that promcost understands, and that the
// variables which its environment file sets are ones that flags or the unit read.
func TestServiceOfPackages(t *testing.T) {
	t.Parallel()
	unit, defaults := readText(t, "../../.ci/packages/promcost.service"), readText(t, "../../.ci/packages/promcost.default")
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/promcost (.+) \$PROMCOST_FLAGS$`).FindStringSubmatch(unit)
	flags := regexp.MustCompile(`(?m)^# PROMCOST_FLAGS=(.+)$`).FindStringSubmatch(defaults)
	if command == nil || flags == nil {
		t.Fatal("the unit has no command, or its environment file no example of flags")
	}
	app, _ := newApp(streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	if _, err := app.ParseContext(strings.Fields(command[1] + " " + flags[1])); err != nil {
		t.Errorf("promcost %s %s: %v", command[1], flags[1], err)
	}
	known := map[string]bool{"PROMCOST_FLAGS": strings.Contains(unit, "$PROMCOST_FLAGS")}
	for _, f := range app.GetCommand("serve").Model().Flags {
		known[f.Envar] = true
	}
	for _, set := range regexp.MustCompile(`(?m)^(?:# )?([A-Z_]+)=`).FindAllStringSubmatch(defaults, -1) {
		if !known[set[1]] {
			t.Errorf("nothing reads %s", set[1])
		}
	}
}

// TestNotice checks that NOTICE lists the modules that the programs are linked from here, and none of a version that go.mod does not have, and
// that whatever is released has it.
func TestNotice(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+ v\S+): [A-Z]`).FindAllStringSubmatch(readText(t, "../../NOTICE"), -1) {
		listed[m[1]] = true
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "disable_grpc_modules", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", ".", "../promcost-apiserver")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	linked, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for m := range strings.Lines(string(linked)) {
		if m = strings.TrimSpace(m); m != "" && !listed[m] {
			listed[m] = true
			t.Errorf("NOTICE lacks %s: make generate writes it", m)
		}
	}
	mod := readText(t, "../../go.mod")
	for m := range listed {
		if !strings.Contains(mod, m) {
			t.Errorf("NOTICE lists %s, which go.mod lacks: make generate writes it", m)
		}
	}
	for file, want := range map[string]int{"../../.ci/dist": 2, "../../.ci/packages/nfpm.yaml": 2, "../../Dockerfile": 1, "../../Makefile": 3} {
		if n := strings.Count(readText(t, file), "NOTICE"); n < want {
			t.Errorf("%s names NOTICE %d times, want %d", file, n, want)
		}
	}
}
