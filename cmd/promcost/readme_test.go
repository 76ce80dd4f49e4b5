package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/notices"
)

// downloads are the files of a release that README's section Install downloads, of a version.
func downloads(t *testing.T, version string) (names []string) {
	t.Helper()
	_, section, _ := strings.Cut(readText(t, filepath.Join("..", "..", "README.md")), "\n## Install\n")
	section, _, _ = strings.Cut(section, "\n## ")
	of := strings.NewReplacer("${VERSION}", version, "$VERSION", version)
	for _, m := range regexp.MustCompile(`\$URL/(\S+)`).FindAllStringSubmatch(section, -1) {
		if name := of.Replace(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// TestInstall: README installs the last version that was released, or is about to be, by files as releases name them.
func TestInstall(t *testing.T) {
	readme, log := readText(t, filepath.Join("..", "..", "README.md")), readText(t, filepath.Join("..", "..", "CHANGELOG.md"))
	version := regexp.MustCompile(`\n## ([0-9]+\.[0-9]+\.[0-9]+)`).FindStringSubmatch(log)
	if version == nil || !strings.Contains(readme, "`VERSION="+version[1]+"`") {
		t.Errorf("README does not install version %q, the last of CHANGELOG.md", version)
	}
	want := []string{"promcost-1.2.3.linux-amd64.tar.gz", "promcost_1.2.3_amd64.deb", "promcost-1.2.3-1.x86_64.rpm"}
	if got := downloads(t, "1.2.3"); !slices.Equal(got, want) {
		t.Errorf("README downloads %q, want %q", got, want)
	}
}

// TestPagesAreShort: nobody reads long pages. README has 110 lines at most, and the pages that it leads newcomers to have less than 200.
func TestPagesAreShort(t *testing.T) {
	for page, most := range map[string]int{"README.md": 110, "TROUBLESHOOTING.md": 199, "MIGRATING.md": 199, "TUTORIAL.md": 199, "OPENTELEMETRY.md": 119} {
		if n := strings.Count(readText(t, filepath.Join("..", "..", page)), "\n"); n > most {
			t.Errorf("%s has %d lines, more than %d", page, n, most)
		}
	}
}

// TestWarningsAreExplained: each kind of warning has a section in TROUBLESHOOTING.md, and there is none of another.
func TestWarningsAreExplained(t *testing.T) {
	_, section, _ := strings.Cut(readText(t, filepath.Join("..", "..", "TROUBLESHOOTING.md")), "\n## Warnings\n")
	var explained, want []string
	for _, m := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(section, -1) {
		explained = append(explained, m[1])
	}
	for _, k := range notices.Kinds() {
		want = append(want, k.Name)
	}
	slices.Sort(explained)
	slices.Sort(want)
	if !slices.Equal(explained, want) {
		t.Errorf("TROUBLESHOOTING.md explains the warnings %q, want %q", explained, want)
	}
}
