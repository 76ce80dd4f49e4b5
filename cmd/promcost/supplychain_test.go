package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// treeFiles are the files of the repository, by their paths with slashes.
func treeFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || name == "bin" || entry.Name() == "node_modules":
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular():
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// programs are what files of programs begin with, which nobody can review.
var programs = map[string]string{
	"ELF": "\x7fELF", "Windows": "MZ", "Mach-O": "\xcf\xfa\xed\xfe", "Mach-O or Java": "\xca\xfe\xba\xbe", "WebAssembly": "\x00asm", "ar": "!<arch>\n", "LLVM": "BC\xc0\xde", "Zip": "PK\x03\x04",
}

// TestNoPrograms looks for programs among the files of the repository.
func TestNoPrograms(t *testing.T) {
	t.Parallel()
	for _, file := range treeFiles(t) {
		content := readText(t, filepath.Join("../..", file))
		for _, kind := range slices.Sorted(maps.Keys(programs)) {
			if strings.HasPrefix(content, programs[kind]) {
				t.Errorf("%s is a program (%s): let make build it", file, kind)
			}
		}
	}
}

// TestDependenciesAreKept checks that every directory with dependencies is one that Dependabot looks at, and that those of npm name one version.
func TestDependenciesAreKept(t *testing.T) {
	t.Parallel()
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	if err := yaml.Unmarshal([]byte(readText(t, "../../.github/dependabot.yml")), &config); err != nil {
		t.Fatal(err)
	}
	kept := func(ecosystem, dir string) bool {
		for _, u := range config.Updates {
			if u.Ecosystem == ecosystem && slices.ContainsFunc(append(u.Directories, u.Directory), func(pattern string) bool {
				ok, err := path.Match(pattern, dir)
				return ok && err == nil
			}) {
				return true
			}
		}
		return false
	}
	for _, file := range treeFiles(t) {
		ecosystem := map[string]string{"go.mod": "gomod", "package.json": "npm", "Dockerfile": "docker"}[path.Base(file)]
		if ecosystem != "" && !strings.Contains(file, "testdata/") && !kept(ecosystem, path.Join("/", path.Dir(file))) {
			t.Errorf(".github/dependabot.yml leaves out %s", file)
		}
		if ecosystem == "npm" && regexp.MustCompile(`"[\w@/.-]+": "[~^*><]`).MatchString(readText(t, filepath.Join("../..", file))) {
			t.Errorf("%s has a dependency of any version: name one", file)
		}
	}
}

// usedAction is an action that a workflow of GitHub runs.
var usedAction = regexp.MustCompile(`(?m)^\s*-?\s*uses:\s*(\S+)`)

// TestWorkflows checks that workflows of GitHub, if there are any, run actions by the hash of a commit, and say what their token may do.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	for _, file := range treeFiles(t) {
		if !strings.HasPrefix(file, ".github/workflows/") {
			continue
		}
		text := readText(t, filepath.Join("../..", file))
		for _, action := range usedAction.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(action[1], "./") && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(action[1]) {
				t.Errorf("%s runs %s: name the hash of a commit", file, action[1])
			}
		}
		var workflow struct{ Permissions any }
		if err := yaml.Unmarshal([]byte(text), &workflow); err != nil || workflow.Permissions == nil || workflow.Permissions == "write-all" {
			t.Errorf("%s: %v: its token may do %v, say what it needs", file, err, workflow.Permissions)
		}
		if strings.Contains(text, "pull_request_target") || strings.Contains(text, "workflow_run") {
			t.Errorf("%s runs what others wrote with the repository's token", file)
		}
	}
}
