package main_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The limits of the style: what is longer is split, or stands below with its reason.
const (
	maxFunctionLines   = 60
	maxFileLines       = 500
	maxInterfaceMethod = 3
	maxStructFields    = 25
	maxPackageNames    = 40 // exported at the top level; the constants of a group count as one
	maxPackageImports  = 12 // from this module
)

// wideAPIs are the packages that may export more names than the limit, with the reason.
var wideAPIs = map[string]string{
	"allocation":               "the vocabulary of everything",
	"allocation/billing":       "the vocabulary of bills",
	"allocation/build/observe": "the vocabulary of what is observed: pods, containers, nodes, volumes and their keys",
	"allocation/encode":        "doors: a function for each format and answer",
	"allocation/filter":        "four languages, and the parts of expressions that they have in common",
	"allocation/timeline":      "a library: step functions and intervals, and what is done with them",
	"promquery":                "the table of inputs, and the border to all sources",
	"promquery/promtest":       "tests' own: servers, blocks and exporters that they start",
}

// wideImports are the packages that may import more packages of this module than the limit, with the reason.
var wideImports = map[string]string{
	"cmd/promcost":       "wiring",
	"allocation/costapi": "a door: it serves what the others compute",
}

// wideStructs are the structs that may have more fields than the limit, with the reason. Flags and options, rows of
// tables and shapes on the wire are listed here too: they do no work.
var wideStructs = map[string]string{
	"allocation.Node":                        "rows of a table: what is known of a node, a column of the history each",
	"cmd/promcost/internal/manifests.Values": "options: what a deployment can be set to",
	"allocation/parquet.assetRow":            "a shape on the wire: the columns of a Parquet file",
	"promquery/democluster.ContainerTruth":   "rows of a table: what the demo knows of a container",
}

// longFunctions are the functions that may be longer than the limit, with the reason.
var longFunctions = map[string]string{}

// wideInterfaces are the interfaces that may have more methods than the limit, with the reason.
var wideInterfaces = map[string]string{}

// environment are the packages and files that may read an environment variable, with the reason.
var environment = map[string]string{
	"promquery/promtest":     "PROMETHEUS names the binary that tests start",
	"cmd/promcost/screen.go": "TERM and NO_COLOR say what a terminal shows, to all programs",
}

func TestPackageDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range parseModule(t) {
		if f.test {
			continue
		}
		documented[f.dir] = documented[f.dir] || f.ast.Doc != nil
	}
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if !documented[dir] {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range parseModule(t) {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no doc comment", f.at(d), funcName(f, d))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					checkSpecDoc(t, f, d, spec)
				}
			}
		}
	}
}

// checkSpecDoc reports exported types, constants and variables without a comment. A comment on a group of constants or
// variables stands for all of them; a group of types has none.
func checkSpecDoc(t *testing.T, f *goFile, d *ast.GenDecl, spec ast.Spec) {
	t.Helper()
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
			t.Errorf("%s: type %s has no doc comment", f.at(s), s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				t.Errorf("%s: %s has no doc comment", f.at(s), name.Name)
			}
		}
	}
}

// exportedReceiver reports whether a function is one, or a method of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	return d.Recv == nil || ast.IsExported(receiver(d))
}

// receiver is the name of a method's type, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// funcName is dir.Func or dir.Type.Method.
func funcName(f *goFile, d *ast.FuncDecl) string {
	if r := receiver(d); r != "" {
		return f.dir + "." + r + "." + d.Name.Name
	}
	return f.dir + "." + d.Name.Name
}

func TestFunctionsAreShort(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range parseModule(t) {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || f.lines(d) <= maxFunctionLines {
				continue
			}
			if name := funcName(f, d); longFunctions[name] == "" {
				t.Errorf("%s: %s has %d lines, at most %d are allowed", f.at(d), name, f.lines(d), maxFunctionLines)
			} else {
				seen[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(longFunctions)) {
		if !seen[name] {
			t.Errorf("%s is not long any more: take it off the list", name)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range parseModule(t) {
		if n := f.fset.Position(f.ast.FileEnd).Line; n > maxFileLines {
			t.Errorf("%s has %d lines, at most %d are allowed", f.name, n, maxFileLines)
		}
	}
}

func TestPackagesAreNarrow(t *testing.T) {
	names, imports := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, f := range parseModule(t) {
		if f.test {
			continue
		}
		if names[f.dir] == nil {
			names[f.dir], imports[f.dir] = map[string]bool{}, map[string]bool{}
		}
		for _, decl := range f.ast.Decls {
			for _, name := range exportedNames(decl) {
				names[f.dir][name] = true
			}
		}
		for _, p := range f.imports() {
			if strings.HasPrefix(p, module+"/") {
				imports[f.dir][p] = true
			}
		}
	}
	for _, law := range []struct {
		of      map[string]map[string]bool
		most    int
		what    string
		allowed map[string]string
	}{{names, maxPackageNames, "exports %d names", wideAPIs}, {imports, maxPackageImports, "imports %d packages of this module", wideImports}} {
		for _, dir := range slices.Sorted(maps.Keys(law.of)) {
			n := len(law.of[dir])
			switch {
			case n > law.most && law.allowed[dir] == "":
				t.Errorf("package %s "+law.what+", at most %d are allowed", dir, n, law.most)
			case n <= law.most && law.allowed[dir] != "":
				t.Errorf("package %s "+law.what+", which is within the limit: take it off the list", dir, n)
			}
		}
		for dir := range law.allowed {
			if law.of[dir] == nil {
				t.Errorf("there is no package %s: take it off the list", dir)
			}
		}
	}
}

// exportedNames returns what a declaration exports at the top level, for a group of constants its first exported name.
func exportedNames(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						names = append(names, name.Name)
					}
				}
			}
		}
		if d.Tok == token.CONST && len(names) > 1 {
			names = names[:1]
		}
	}
	return names
}

// eachType calls f with every type that the module declares outside of tests, and its name after the package's.
func eachType(t *testing.T, f func(file *goFile, spec *ast.TypeSpec, name string)) {
	t.Helper()
	for _, file := range parseModule(t) {
		if file.test {
			continue
		}
		for _, decl := range file.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			for _, spec := range d.Specs {
				s := spec.(*ast.TypeSpec)
				f(file, s, file.dir+"."+s.Name.Name)
			}
		}
	}
}

func TestStructsAreNarrow(t *testing.T) {
	seen := map[string]bool{}
	eachType(t, func(f *goFile, s *ast.TypeSpec, name string) {
		typ, ok := s.Type.(*ast.StructType)
		switch {
		case !ok || fields(typ) <= maxStructFields:
		case wideStructs[name] == "":
			t.Errorf("%s: %s has %d fields, at most %d are allowed", f.at(s), name, fields(typ), maxStructFields)
		default:
			seen[name] = true
		}
	})
	for _, name := range slices.Sorted(maps.Keys(wideStructs)) {
		if !seen[name] {
			t.Errorf("%s is not wide any more: take it off the list", name)
		}
	}
}

// fields is how many fields a struct has, an embedded one counted once.
func fields(s *ast.StructType) int {
	n := 0
	for _, field := range s.Fields.List {
		n += max(1, len(field.Names))
	}
	return n
}

func TestNoInitFunctions(t *testing.T) {
	for _, f := range parseModule(t) {
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				t.Errorf("%s: init functions run unasked: construct in cmd instead", f.at(d))
			}
		}
	}
}

func TestInterfacesAreSmall(t *testing.T) {
	eachType(t, func(f *goFile, s *ast.TypeSpec, name string) {
		i, ok := s.Type.(*ast.InterfaceType)
		if ok && i.Methods.NumFields() > maxInterfaceMethod && wideInterfaces[name] == "" {
			t.Errorf("%s: %s has %d methods, at most %d are allowed", f.at(s), name, i.Methods.NumFields(), maxInterfaceMethod)
		}
	})
}

func TestEnvironmentIsReadByFlagsOnly(t *testing.T) {
	readers := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}
	for _, f := range parseModule(t) {
		if f.test || environment[f.dir] != "" || environment[f.name] != "" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(readers, sel.Sel.Name) {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "os" || strings.HasPrefix(x.Name, "syscall")) {
				t.Errorf("%s: os.%s: settings are flags, with kingpin's Envar where an environment variable is wanted", f.at(sel), sel.Sel.Name)
			}
			return true
		})
	}
}
