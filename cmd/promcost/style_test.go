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
	maxPackageLines    = 7500
	maxStructFields    = 25
)

// longPackages are the packages that may have more lines than the limit, tests not counted, with the reason.
var longPackages = map[string]string{}

// wideStructs are the structs that may have more fields than the limit, with the reason. Flags and options, rows of
// tables and shapes on the wire are listed here too: they do no work.
var wideStructs = map[string]string{
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

func TestPackagesAreShort(t *testing.T) {
	lines := map[string]int{}
	for _, f := range parseModule(t) {
		if !f.test {
			lines[f.dir] += f.fset.Position(f.ast.FileEnd).Line
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(lines)) {
		switch {
		case lines[dir] > maxPackageLines && longPackages[dir] == "":
			t.Errorf("package %s has %d lines, at most %d are allowed", dir, lines[dir], maxPackageLines)
		case lines[dir] <= maxPackageLines && longPackages[dir] != "":
			t.Errorf("package %s is not long any more: take it off the list", dir)
		}
	}
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
