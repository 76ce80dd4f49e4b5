package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the import path that the package table's names are relative to.
const module = "github.com/promcost/promcost"

// everything lets a package import any other of the module but those that follow it.
const everything = "*"

// packages is the package table of the design: what each package may import from this module. A package that is not
// listed must not exist; a listed one may come later. A name with a leading "!" is forbidden after everything.
var packages = map[string][]string{
	"cmd/promcost":                     {everything, "!allocation/kubeapi", "!dashboards/grafana"},
	"cmd/promcost/internal/billwatch":  {"allocation", "allocation/billcheck", "allocation/billing", "allocation/cloudcost", "collector"},
	"cmd/promcost/internal/bucket":     {},
	"cmd/promcost/internal/config":     {"allocation", "allocation/billing", "allocation/caret", "allocation/filter", "allocation/jmespath", "allocation/labelnames", "allocation/listprices", "allocation/metering", "allocation/passes", "allocation/pricing", "allocation/pricing/imported", "allocation/rates"},
	"cmd/promcost/internal/document":   {},
	"cmd/promcost/internal/httpclient": {"promquery/remote"},
	"cmd/promcost/internal/export":     {"allocation", "allocation/billing", "allocation/history", "allocation/passes", "allocation/reconcile", "cmd/promcost/internal/config"},
	"cmd/promcost/internal/kubectl":    {},
	"cmd/promcost/internal/webhook":    {},
	"cmd/promcost/internal/pricewatch": {"allocation/history", "allocation/listprices", "allocation/listprices/fetch", "collector"},
	"cmd/promcost/internal/manifests":  {"allocation"},
	"cmd/promcost/internal/webserver":  {"allocation/memory"},
	"cmd/promcost-apiserver":           {"allocation/kubeapi", "allocation/visible"},
	"collector":                        {"allocation", "allocation/memory", "allocation/metering"},
	"promquery":                        {"allocation", "allocation/build", "allocation/diagnosis", "allocation/memory", "allocation/metering", "allocation/notices", "allocation/prices", "allocation/rates", "allocation/signals", "allocation/timeline"},
	"promquery/chunks":                 {"promquery", "allocation/timeline"},
	"promquery/remote":                 {"promquery", "promquery/chunks", "allocation/places", "allocation/timeline", "allocation/singleflight"},
	"promquery/thanos":                 {"promquery", "promquery/chunks"},
	"promquery/bucket":                 {"promquery", "promquery/blocks", "promquery/chunks", "allocation/attempts", "allocation/memory", "allocation/timeline"},
	"promquery/victoria":               {"promquery", "promquery/chunks", "promquery/remote", "allocation/memory", "allocation/timeline"},
	"promquery/blocks":                 {"promquery", "promquery/chunks", "allocation/memory", "allocation/timeline"},
	"promquery/costseries":             {"allocation", "allocation/memory", "allocation/metering", "promquery/internal/anyselect"},
	"promquery/internal/anyselect":     {},
	"promquery/promapi":                {"allocation", "allocation/caret", "allocation/memory", "allocation/places", "promquery/costseries", "promquery/internal/anyselect", "promquery/upstream"},
	"promquery/promapi/apitest":        {"promquery/promapi", "promquery/promtest"}, // serves the API over blocks for tests
	"promquery/upstream":               {"allocation", "allocation/memory", "allocation/places", "promquery", "promquery/chunks", "promquery/internal/anyselect"},
	"promquery/selfseries":             {},
	"promquery/democluster":            {"promquery", "promquery/chunks", "allocation", "allocation/build", "allocation/signals", "allocation/timeline"},
	"promquery/promtest":               {"promquery"}, // starts a real Prometheus for tests
	"promquery/promtest/soak":          {},            // the flag -soak of tests
	"allocation":                       {"allocation/caret", "allocation/grouping", "allocation/intern", "allocation/labelnames", "allocation/timeline"},
	"allocation/coverage":              {"allocation"},
	"allocation/passes":                {"allocation", "allocation/coverage", "allocation/grouping"},
	"allocation/build":                 {"allocation", "allocation/build/charge", "allocation/build/observe", "allocation/build/resolve", "allocation/rates", "allocation/signals", "allocation/timeline"},
	"allocation/build/observe":         {"allocation", "allocation/labelnames", "allocation/notices", "allocation/prices", "allocation/rates", "allocation/services", "allocation/signals", "allocation/timeline"},
	"allocation/build/resolve":         {"allocation", "allocation/build/observe", "allocation/labelnames", "allocation/metadata", "allocation/notices", "allocation/prices", "allocation/rates", "allocation/services", "allocation/signals", "allocation/timeline"},
	"allocation/build/charge":          {"allocation", "allocation/build/observe", "allocation/build/resolve", "allocation/coverage", "allocation/metadata", "allocation/notices", "allocation/prices", "allocation/rates", "allocation/signals", "allocation/timeline"},
	"allocation/metadata":              {"allocation"},
	"allocation/prices":                {"allocation", "allocation/labelnames", "allocation/notices", "allocation/rates", "allocation/signals", "allocation/timeline"},
	"allocation/services":              {"allocation", "allocation/labelnames", "allocation/signals", "allocation/timeline"},
	"allocation/signals":               {"allocation", "allocation/intern"},
	"allocation/notices":               {"allocation", "allocation/timeline"},
	"allocation/metering":              {"allocation", "allocation/coverage", "allocation/expected", "allocation/fields", "allocation/labelnames", "allocation/passes"},
	"allocation/change":                {"allocation", "allocation/coverage", "allocation/fields", "allocation/passes"},
	"allocation/expected":              {"allocation", "allocation/coverage"},
	"allocation/assets":                {"allocation", "allocation/caret", "allocation/labelnames"},
	"allocation/diagnosis":             {"allocation", "allocation/rates"},
	"allocation/fields":                {"allocation"},
	"allocation/rates":                 {"allocation"},
	"allocation/windows":               {"allocation"},
	"allocation/labelnames":            {},
	"allocation/grouping":              {},
	"allocation/intern":                {},
	"allocation/memory":                {"allocation"},
	"allocation/places":                {},
	"allocation/timeline":              {},
	"allocation/caret":                 {},
	"allocation/visible":               {},
	"allocation/texttable":             {"allocation/visible"},
	"allocation/report":                {"allocation/visible"},
	"allocation/filter":                {"allocation", "allocation/caret", "allocation/fields", "allocation/labelnames"},
	"allocation/jmespath":              {"allocation/caret"},
	"allocation/pricing":               {"allocation", "allocation/caret", "allocation/labelnames", "allocation/listprices", "allocation/rates"},
	"allocation/pricing/imported":      {"allocation", "allocation/coverage", "allocation/listprices", "allocation/pricing", "allocation/rates", "allocation/visible"},
	"allocation/listprices":            {"allocation/rates"},
	"allocation/listprices/fetch":      {"allocation/listprices"},
	"allocation/billing":               {"allocation", "allocation/parquet"},
	"allocation/reconcile":             {"allocation", "allocation/billing", "allocation/memory", "allocation/passes", "allocation/rates", "allocation/singleflight"},
	"allocation/billcheck":             {"allocation", "allocation/billing", "allocation/reconcile", "allocation/texttable", "allocation/visible"},
	"allocation/cloudcost":             {"allocation", "allocation/billing", "allocation/caret", "allocation/labelnames", "allocation/reconcile"},
	"allocation/encode":                {"allocation", "allocation/assets", "allocation/change", "allocation/coverage", "allocation/diagnosis", "allocation/expected", "allocation/fields", "allocation/notices", "allocation/passes", "allocation/rates", "allocation/texttable", "allocation/visible"},
	"allocation/parquet":               {"allocation", "allocation/assets"},
	"allocation/attempts":              {},
	"allocation/history":               {"allocation", "allocation/attempts", "allocation/billing", "allocation/coverage", "allocation/notices", "allocation/parquet", "allocation/passes"},
	"allocation/ledger":                {"allocation", "allocation/memory", "allocation/notices", "allocation/passes", "allocation/places", "allocation/singleflight"},
	"allocation/recorder":              {"allocation", "allocation/ledger", "allocation/memory", "allocation/metering", "allocation/passes", "allocation/places"},
	"allocation/ledger/ledgertest":     {"allocation", "allocation/history", "allocation/ledger", "allocation/metering", "allocation/passes", "allocation/recorder"},
	"allocation/costapi":               {"allocation", "allocation/assets", "allocation/billcheck", "allocation/billing", "allocation/caret", "allocation/change", "allocation/cloudcost", "allocation/coverage", "allocation/diagnosis", "allocation/encode", "allocation/expected", "allocation/fields", "allocation/filter", "allocation/jmespath", "allocation/labelnames", "allocation/manifest", "allocation/memory", "allocation/metering", "allocation/nodeuse", "allocation/notices", "allocation/parquet", "allocation/passes", "allocation/places", "allocation/rates", "allocation/reconcile", "allocation/savings", "allocation/windows"},
	"allocation/kubeapi":               {"allocation/coverage", "allocation/labelnames", "allocation/visible", "allocation/windows"}, // it asks a promcost over HTTP
	"allocation/mcp":                   {"allocation", "allocation/coverage", "allocation/memory"},
	"allocation/manifest":              {"allocation"},
	"allocation/savings":               {"allocation", "allocation/coverage", "allocation/labelnames", "allocation/manifest", "allocation/memory"},
	"allocation/nodeuse":               {"allocation", "allocation/coverage"},
	"allocation/savings/picture":       {"allocation/savings"},
	"allocation/singleflight":          {},
	"dashboards":                       {},
	"dashboards/explorer":              {},
	"dashboards/grafana":               {}, // makes what dashboards embeds, and is imported by tests only
}

// testOnly are the packages that only tests may import, those of any package, and one another.
var testOnly = []string{"promquery/promtest", "promquery/promtest/soak", "promquery/promapi/apitest", "allocation/ledger/ledgertest"}

// quiet are the packages that return errors and warnings and leave logging to their callers.
var quiet = []string{
	"allocation", "allocation/timeline", "allocation/caret", "allocation/filter", "allocation/jmespath", "allocation/encode", "promquery",
	"allocation/assets", "allocation/build", "allocation/build/observe", "allocation/build/resolve", "allocation/build/charge", "allocation/change", "allocation/coverage", "allocation/diagnosis", "allocation/expected", "allocation/fields", "allocation/grouping", "allocation/intern", "allocation/labelnames", "allocation/metadata", "allocation/metering", "allocation/notices", "allocation/parquet", "allocation/passes",
	"allocation/prices", "allocation/rates", "allocation/reconcile", "allocation/services", "allocation/signals", "allocation/windows",
}

// otherModules are the laws for modules of others: which packages may import them, and why. An only that ends in "/" stands for all
// packages below it. Test files are free unless the law says otherwise.
var otherModules = []struct {
	prefix string
	only   []string
	tests  bool // the law holds for test files too
	why    string
}{
	{prefix: "github.com/prometheus/prometheus", only: []string{"promquery", "promquery/"}, why: "its changes end there"},
	{prefix: "k8s.io/apimachinery", only: []string{"allocation/kubeapi", "cmd/promcost-apiserver", "allocation/filter", "allocation/jmespath", "allocation/manifest"}, tests: true, why: "they are large"},
	{prefix: "k8s.io/", only: []string{"allocation/kubeapi", "cmd/promcost-apiserver", "allocation/filter", "allocation/jmespath", "allocation/manifest"}, tests: true, why: "they are large"},
	{prefix: "github.com/parquet-go/", only: []string{"allocation/parquet"}, why: "file formats are their business"},
	{prefix: "github.com/apache/arrow-go", only: []string{"allocation/encode"}, why: "file formats are their business"},
	{prefix: "github.com/grafana/grafana-foundation-sdk", only: []string{"dashboards/grafana"}, why: "promcost has the JSON in it, not what makes it"},
	{prefix: "github.com/alecthomas/kingpin", only: []string{"cmd/"}, tests: true, why: "flags end in cmd and go on as values"},
	{prefix: "github.com/modelcontextprotocol/", only: []string{"allocation/mcp"}, why: "what assistants speak is its business"},
	{prefix: "log/slog", only: []string{"cmd/promcost", "promquery/blocks", "promquery/democluster", "promquery/promtest"}, why: "the logger is go-kit's; the TSDB and exporter-toolkit alone want slog"},
	{prefix: "github.com/stretchr/testify", tests: true, why: "tests use testing and go-cmp"},
}

// goFile is one parsed file of the module.
type goFile struct {
	name string // slash-separated, relative to the module
	dir  string
	test bool // a _test.go file
	up   bool // of an external test package, which may import upwards
	ast  *ast.File
	fset *token.FileSet
}

// lines is how many lines n spans.
func (f *goFile) lines(n ast.Node) int {
	return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
}

func (f *goFile) at(n ast.Node) string {
	return f.name + ":" + strconv.Itoa(f.fset.Position(n.Pos()).Line)
}

// parseModule parses every Go file of the module, whatever its build tags.
func parseModule(t *testing.T) []*goFile {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []*goFile
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != root && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f := &goFile{name: filepath.ToSlash(rel), fset: token.NewFileSet(), test: strings.HasSuffix(p, "_test.go")}
		f.dir = path.Dir(f.name)
		if f.ast, err = parser.ParseFile(f.fset, p, nil, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		f.up = f.test && strings.HasSuffix(f.ast.Name.Name, "_test")
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d Go files below %s", len(files), root)
	}
	return files
}

// imports yields the import paths of a file.
func (f *goFile) imports() []string {
	paths := make([]string, 0, len(f.ast.Imports))
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// mayImport reports whether the table lets a package import another of the module.
func mayImport(allowed []string, dep string) bool {
	if slices.Contains(allowed, "!"+dep) {
		return false
	}
	return slices.Contains(allowed, everything) || slices.Contains(allowed, dep)
}

func TestPackageTable(t *testing.T) {
	top := []string{"allocation", "cmd", "collector", "dashboards", "promquery"}
	for _, f := range parseModule(t) {
		if folder, _, _ := strings.Cut(f.dir, "/"); !slices.Contains(top, folder) {
			t.Errorf("%s: the folders at the top are %q, and no others", f.name, top)
		}
		if _, ok := packages[f.dir]; !ok {
			t.Errorf("%s: package %s is not in the package table", f.name, f.dir)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		for _, dep := range packages[pkg] {
			if name := strings.TrimPrefix(dep, "!"); name != everything && packages[name] == nil {
				t.Errorf("the table lets %s import %s, which is not in it", pkg, name)
			}
		}
	}
}

func TestImportsInsideTheModule(t *testing.T) {
	for _, f := range parseModule(t) {
		for _, p := range f.imports() {
			dep, ours := strings.CutPrefix(p, module+"/")
			switch {
			case !ours || f.up:
			case slices.Contains(testOnly, dep):
				if !f.test && !slices.Contains(testOnly, f.dir) {
					t.Errorf("%s imports %s, which is for tests only", f.name, dep)
				}
			case dep != f.dir && !mayImport(packages[f.dir], dep):
				t.Errorf("%s imports %s: %s may import only %q of this module", f.name, dep, f.dir, packages[f.dir])
			}
		}
	}
}

func TestImportsOfOthers(t *testing.T) {
	for _, f := range parseModule(t) {
		for _, p := range f.imports() {
			for _, law := range otherModules {
				if !strings.HasPrefix(p, law.prefix) || (f.test && !law.tests) {
					continue
				}
				if !slices.ContainsFunc(law.only, func(only string) bool { return within(f.dir, only) }) {
					t.Errorf("%s imports %s: only %q may, for %s", f.name, p, law.only, law.why)
				}
			}
		}
	}
}

// within reports whether dir is the package only, or lies below it where only ends in a slash.
func within(dir, only string) bool {
	return dir == only || strings.HasSuffix(only, "/") && strings.HasPrefix(dir, only)
}

func TestQuietPackagesDoNotLog(t *testing.T) {
	loggers := []string{"log", "log/slog", "github.com/go-kit/log", "go.uber.org/zap", "k8s.io/klog", "github.com/sirupsen/logrus"}
	for _, f := range parseModule(t) {
		if f.test || !slices.Contains(quiet, f.dir) {
			continue
		}
		for _, p := range f.imports() {
			if slices.ContainsFunc(loggers, func(l string) bool { return p == l || strings.HasPrefix(p, l+"/") && l != "log" }) {
				t.Errorf("%s imports %s: %s returns errors and warnings instead of logging", f.name, p, f.dir)
			}
		}
	}
}
