package main_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// othersFlags are flags of other programs that texts name, with whose they are.
var othersFlags = map[string]string{
	"metric-allowlist":             "kube-state-metrics",
	"metric-labels-allowlist":      "kube-state-metrics",
	"ksm-metric-labels-allow-list": "az aks update", "ksm-metric-annotations-allow-list": "az aks update",
	"metric-annotations-allowlist": "kube-state-metrics",
	"resources":                    "kube-state-metrics",
	"namespaces":                   "kube-state-metrics",
	"storage.tsdb.path":            "Prometheus",
	"enable-feature":               "Prometheus",
	"completion-bash":              "kingpin",
	"all-namespaces":               "kubectl",
	"raw":                          "kubectl",
	"server-side":                  "kubectl",
	"force-conflicts":              "kubectl",
	"dry-run":                      "kubectl",
	"promcost.url":                 "promcost-apiserver",
	"promcost.http-config":         "promcost-apiserver",
	"tls.cert-file":                "promcost-apiserver",
	"tls.key-file":                 "promcost-apiserver",
	"cache.max-memory":             "promcost-apiserver",
}

// othersFiles are files of other projects that comments name, with whose they are.
var othersFiles = map[string]string{
	"tsdb/docs/format/index.md":  "Prometheus",
	"tsdb/docs/format/chunks.md": "Prometheus",
	"pkg/prometheus/promcfg.go":  "the Prometheus Operator",
}

var (
	flagName    = regexp.MustCompile(`--(?:no-)?([a-z][a-z0-9.-]*[a-z0-9])`)
	commandName = regexp.MustCompile("[\"`]promcost ([a-z]+(?: [a-z]+)?)")
	flagRow     = regexp.MustCompile("(?m)^\\| `--(?:\\[no-\\])?([a-z0-9.-]+)`")
	fileName    = regexp.MustCompile("[`( ]((?:allocation|cmd|collector|dashboards|promquery)(?:/[A-Za-z0-9_.-]*[A-Za-z0-9_])+)")
	sourceName  = regexp.MustCompile(`(?:^|[^A-Za-z0-9_./*-])((?:[A-Za-z0-9_-]+/)*[A-Za-z0-9][A-Za-z0-9_-]*\.(?:go|js|md))\b`)
	commandRow  = regexp.MustCompile("(?m)^### promcost ([a-z ]+)$")
)

// TestNamedCommandsAndFlags: every command and flag that a text of the program names is there. What there is stands in
// REFERENCE.md, which is made from the command line itself.
func TestNamedCommandsAndFlags(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "REFERENCE.md"))
	if err != nil {
		t.Fatal(err)
	}
	flags, commands := firsts(flagRow, string(text)), firsts(commandRow, string(text))
	if len(flags) < 30 || len(commands) < 10 {
		t.Fatalf("%d flags and %d commands in REFERENCE.md", len(flags), len(commands))
	}
	named := 0
	for _, f := range parseModule(t) {
		if f.test || strings.HasPrefix(f.dir, "promquery/promtest") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, flag := range firsts(flagName, value) {
				if named++; !slices.Contains(flags, flag) && othersFlags[flag] == "" {
					t.Errorf("%s: there is no flag --%s: %q", f.at(lit), flag, value)
				}
			}
			for _, command := range firsts(commandName, value) {
				if named++; !slices.ContainsFunc(commands, func(c string) bool { return command == c || strings.HasPrefix(command, c+" ") }) {
					t.Errorf("%s: there is no command promcost %s: %q", f.at(lit), command, value)
				}
			}
			return true
		})
	}
	if named < 50 {
		t.Errorf("only %d names were found", named)
	}
}

// firsts are the first groups of all matches.
func firsts(re *regexp.Regexp, text string) (out []string) {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestNamedFiles: every file and directory of the tree that a page names is there.
func TestNamedFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range firsts(fileName, string(text)) {
			named++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Errorf("%s names %s, which is not there", filepath.Base(page), name)
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d names were found", named)
	}
}

// TestFilesNamedInComments: every file that a comment names is there, beside the comment's file or by its path in the tree, and so is
// every package.
func TestFilesNamedInComments(t *testing.T) {
	root := filepath.Join("..", "..")
	there := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
			return err == nil
		})
	}
	named := 0
	for _, f := range parseModule(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.Contains(c.Text, "://") {
					continue
				}
				for _, name := range firsts(sourceName, c.Text) {
					if named++; !there(name, f.dir+"/"+name) && othersFiles[name] == "" {
						t.Errorf("%s: the comment names %s, which is not there", f.at(c), name)
					}
				}
				for _, name := range firsts(fileName, c.Text) {
					if named++; !there(name) {
						t.Errorf("%s: the comment names %s, which is not there", f.at(c), name)
					}
				}
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d names were found", named)
	}
}
