package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

// othersFlags are the flags of other programs that promcost names, and whose they are.
var othersFlags = map[string]string{
	"ksm-metric-labels-allow-list": "az aks update", "ksm-metric-annotations-allow-list": "az aks update", "metric-allowlist": "kube-state-metrics", "metric-labels-allowlist": "kube-state-metrics", "metric-annotations-allowlist": "kube-state-metrics", "resources": "kube-state-metrics", "namespaces": "kube-state-metrics", "storage.tsdb.path": "Prometheus", "enable-feature": "Prometheus",
	"all-namespaces": "kubectl", "raw": "kubectl", "server-side": "kubectl", "force-conflicts": "kubectl", "dry-run": "kubectl",
	"promcost.url": "promcost-apiserver", "promcost.http-config": "promcost-apiserver", "tls.cert-file": "promcost-apiserver", "tls.key-file": "promcost-apiserver",
	"cache.max-memory": "promcost-apiserver",
}

var namedFlag = regexp.MustCompile(`--([a-z][a-z0-9]*(?:[.-][a-z0-9]+)*)`)

// TestNamedFlagsExist looks for flags in every text of the program, of which errors, warnings and help are made: each is one that
// some command takes, or another program's.
func TestNamedFlagsExist(t *testing.T) {
	app, _ := newApp(streams{out: io.Discard, err: io.Discard})
	known := map[string]bool{}
	var add func(flags []*kingpin.FlagModel, commands []*kingpin.CmdModel)
	add = func(flags []*kingpin.FlagModel, commands []*kingpin.CmdModel) {
		for _, f := range flags {
			known[f.Name] = true
			if f.IsBoolFlag() {
				known["no-"+f.Name] = true
			}
		}
		for _, c := range commands {
			add(c.Flags, c.Commands)
		}
	}
	model := app.Model()
	add(model.Flags, model.Commands)

	named := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			if name := e.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "promtest") { // which starts other programs
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range namedFlag.FindAllStringSubmatch(text, -1) {
				name := m[1]
				named[name] = true
				if !known[name] && othersFlags[name] == "" {
					t.Errorf("%s: there is no flag --%s: %q", set.Position(lit.Pos()), name, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(named) < 50 {
		t.Errorf("only %d flags are named: this looks in the wrong place", len(named))
	}
	for name, whose := range othersFlags {
		if !named[name] {
			t.Errorf("--%s of %s is named nowhere: it need not stand in the table", name, whose)
		}
	}
}
